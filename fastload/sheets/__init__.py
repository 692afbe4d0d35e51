"""What the model will see: the loader's own batches as pictures, with every draw in words."""
