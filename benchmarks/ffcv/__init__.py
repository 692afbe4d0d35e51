"""fastload against FFCV's own loader, on the same .beton files."""
