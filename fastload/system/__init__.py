"""What lies under everything: the machine, its memory, GPUs, threads and processes, and the limits
that hold for them.
"""
