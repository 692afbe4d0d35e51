"""Data sets that grow: samples are added and deleted, and nothing that was written is rewritten."""
