"""What `explain()` says of a loader that PyTorch's own engine runs."""

FIRST = "PyTorch's own engine, with native decoding where Pillow opens JPEGs:"


def own(*reasons: str) -> str:
    """All of its lines, with these reasons."""
    return "\n".join([FIRST, *(f"  {reason}" for reason in reasons)])
