"""Images of their own sizes whose boxes, masks and keypoints move with them."""
