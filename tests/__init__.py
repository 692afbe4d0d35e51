"""The tests, a folder for each part of fastload.

They are a package so that `tests.kernels` is never taken for another `kernels`: the folder of the
sources beside it, or a library's.
"""
