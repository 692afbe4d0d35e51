"""From a pipeline to a checked plan: placements, what may be needed, what stands in for a bad
sample.
"""
