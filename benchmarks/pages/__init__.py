"""Pages of docs/: generated ones (ops, pipelines, backends, parity), and results put into
others.
"""
