"""Whole loaders: against PyTorch and DALI, on cold storage, as a drop-in, beside a training
step.
"""
