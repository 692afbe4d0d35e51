"""Loaders over one emulated link to a store: fastload and its peers, in processes of their own."""
