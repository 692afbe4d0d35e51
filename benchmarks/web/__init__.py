"""Tables of URLs: fastload against img2dataset."""
