"""A whole training, forecast before it begins: its time, what it waits for, and its cost."""
