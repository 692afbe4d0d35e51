"""Benchmarks: one entry (`python -m benchmarks`), one timer (fastload.measure), one row type.

Results are kept in results/.
"""
