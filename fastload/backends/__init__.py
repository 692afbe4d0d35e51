"""Backends: what makes a plan's pixels.

`table` has the facts of each, and imports none of them; `choosing` says which one runs a plan.
"""
