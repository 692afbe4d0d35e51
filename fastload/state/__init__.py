"""Exact resume: the state of epochs, samplers and data sets, and how an epoch goes on from it."""
