"""NVIDIA DALI draws its own numbers."""
