"""Units of a conversion made by other processes, on this machine or on many."""
