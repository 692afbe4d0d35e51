"""Engines make a plan's batches, in order, ahead of the consumer: one for each way of reading."""
