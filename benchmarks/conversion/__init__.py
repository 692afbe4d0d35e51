"""fastload convert against FFCV's writer and a copy of the files."""
