"""What a GPU does: single steps, whole loaders and training."""
