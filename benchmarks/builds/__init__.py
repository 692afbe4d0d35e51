"""The same code as other builds: a wheel beside what was built from source, Python with its GIL and
without it.
"""
