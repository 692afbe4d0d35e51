"""Policies and their ops against torchvision, on one core."""
