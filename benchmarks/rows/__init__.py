"""What an index of so many images costs: `python -m benchmarks rows`."""
