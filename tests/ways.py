"""What `loader.decodes()` gives: every way of decoding, and how many images took it."""

WAYS = ("indexed", "whole", "library", "refused", "scaled", "png", "webp")


def ways_taken(**images: int) -> dict[str, int]:
    """No image took the others."""
    return {**dict.fromkeys(WAYS, 0), **images}
