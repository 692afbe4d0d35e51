"""Which of how many ranks this process is."""

import operator
import os
from typing import Any

import torch.distributed

from fastload.errors import UsageError


def joined() -> bool:
    """Whether this process is one of several in a process group."""
    return _grouped() and torch.distributed.get_world_size() > 1


def place(where: str, world: int | None, rank: int | None) -> tuple[int, int]:
    """How many ranks there are, and which one this is; None asks torch.distributed.

    Raises UsageError where it is asked before a launcher's ranks have their process group: each
    would take the whole epoch.
    """
    if world is None:
        if not _grouped() and _launched() > 1:
            raise UsageError(
                f"{where}: torch.distributed has no process group yet, and WORLD_SIZE is "
                f"{_launched()}; call init_process_group before, or give num_replicas and rank"
            )
        world = torch.distributed.get_world_size() if joined() else 1
    if rank is None:
        rank = torch.distributed.get_rank() if joined() and world > 1 else 0
    return plain(world), plain(rank)


def _grouped() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _launched() -> int:
    """Ranks that a launcher such as torchrun has begun."""
    told = os.environ.get("WORLD_SIZE", "")
    return int(told) if told.isdigit() and "RANK" in os.environ else 1


def plain(value: Any) -> Any:
    """A whole number of any kind, such as NumPy's, as Python's own; what is none as it is, for
    who checks it to say so.
    """
    try:
        return operator.index(value)
    except TypeError:
        return value


def place_problems(seed: object, num_replicas: object, rank: object) -> list[str]:
    """What is wrong with these arguments of a sampler, which `plain` has seen."""
    ranks = num_replicas if isinstance(num_replicas, int) and num_replicas >= 1 else None
    problems = [
        (isinstance(seed, int) and 0 <= seed < 1 << 64, f"seed is {seed!r}, want 0 to 2**64 - 1"),
        (ranks is not None, f"num_replicas is {num_replicas!r}, want 1 or more"),
        (
            isinstance(rank, int) and 0 <= rank < (ranks or 1),
            f"rank is {rank!r}, want 0 to {(ranks or 1) - 1}",
        ),
    ]
    return [text for good, text in problems if not good]
