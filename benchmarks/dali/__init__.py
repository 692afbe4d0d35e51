"""The DALI backends against a pipeline written by hand."""
