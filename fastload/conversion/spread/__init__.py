"""Verbs beside convert whose units other processes make: verify, index, repair and filter."""
