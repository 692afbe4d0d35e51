"""What `explain()` says of a loader that PyTorch's own engine runs."""

from fastload.loader import explaining
from fastload.sources import seek_contents

FIRST = "PyTorch's own engine, with fastload's decoding of the JPEGs that it opens:"


def own(*reasons: str, native: str = "") -> str:
    """All of its lines, with these reasons, and the steps that are native all the same."""
    first = f"{FIRST[:-1]}, and native {native}:" if native else FIRST
    tier = explaining.TIERS[2 if native else 3]
    seek = seek_contents.describe("auto")
    return "\n".join(f"  {line}" for line in (first, tier, *reasons, seek))[2:]
