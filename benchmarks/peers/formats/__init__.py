"""Formats that fastload opens in place, against their own loaders, on local disks."""
