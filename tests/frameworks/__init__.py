"""Training programs of other people's, with only the loader swapped.

What they need is installed by .ci/run, which allows no skip.
"""
