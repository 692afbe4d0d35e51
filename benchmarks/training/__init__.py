"""A network's accuracy by loader."""
