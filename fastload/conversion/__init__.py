"""Conversion of data sets: readers and writers apart from the job that drives them, and the tools
that look at the result.
"""
