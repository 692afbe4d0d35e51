"""FFCV as a backend: its loader (1.0.2) over .beton files, with fastload's code in its loop.

`ops` has ops for pipelines of FFCV's own.
"""
