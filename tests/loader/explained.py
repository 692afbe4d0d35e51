"""What `explain()` says of a loader that PyTorch's own engine runs."""

FIRST = "PyTorch's own engine, with native decoding where Pillow opens JPEGs:"


def own(*reasons: str, native: str = "") -> str:
    """All of its lines, with these reasons, and the steps that are native all the same."""
    first = f"{FIRST[:-1]}, and native {native}:" if native else FIRST
    return "\n".join([first, *(f"  {reason}" for reason in reasons)])
