"""Every loader on the same images in one run: `python -m benchmarks peers`."""
