"""One JPEG to a cropped, resized image on one core, by decoder."""
