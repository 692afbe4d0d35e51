"""What `explain()` says of a loader that PyTorch's own engine runs."""

from fastload.loader import tiers
from fastload.sources import seek_contents

FIRST = "PyTorch's own engine, with fastload's decoding of the JPEGs that it opens:"
COMPOSE = "give it a torchvision Compose that ends in ToTensor"  # what tier 2 lacks
END = "end its Compose in ToTensor, or in ToImage and ToDtype"
MEMORY = "batches lie in shared memory that is used again: of each worker, 5 batches at most"
APART = "let ToImage and ToDtype follow each other in its Compose, behind what resizes"
FLOATS = "let its Compose make float32 tensors of three channels"


def own(*reasons: str, native: str = "", lacks: str = COMPOSE, workers: bool = False) -> str:
    """All of its lines, with these reasons, and the steps that are native all the same, or what
    these lack; workers: whether there are any.
    """
    first = f"{FIRST[:-1]}, and native {native}:" if native else FIRST
    to_first = f"for tier 1 ({tiers.GAINS[1].range}) mend: {tiers.short(reasons[0])}"
    if native:
        tier = f"{now(2)}; {to_first}"
    else:
        would = f" ({tiers.GAINS[2].range})" if 2 in tiers.GAINS else ""
        tier = f"{now(3)}; for tier 2{would} {lacks}; {to_first}"
    reasons = (*reasons, *[MEMORY] * workers)
    seek = seek_contents.describe("auto")
    return "\n".join(f"  {line}" for line in (first, tier, *reasons, seek))[2:]


def now(tier: int) -> str:
    gain = tiers.GAINS[tier].text if tier in tiers.GAINS else "a gain that was not measured"
    return f"tier {tier} of 3: {tiers.NATIVE[tier]}, {gain}"
