"""One suite for PyTorch's loader and fastload's, native and not; what differs on purpose is in
differences.py.
"""
