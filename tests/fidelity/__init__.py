"""Equality with torchvision's own results on PIL images, given the same parameters."""
