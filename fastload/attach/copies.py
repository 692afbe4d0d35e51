"""What the copy of a batch to the GPU takes, from ordinary memory and from page-locked memory:
measured in the program, when it stops, with as many bytes as its batches have.
"""

import sys
import time
from typing import Any

from fastload.attach.looking import Facts, tensors_in

TURNS = 7  # of both kinds of memory, after one that counts for nothing


def bytes_on_host(batch: object) -> int:
    """Of a batch's tensors in ordinary memory: what a loop has to copy to the GPU."""
    return sum(
        tensor.numel() * tensor.element_size()
        for tensor in tensors_in(batch)
        if tensor.device.type == "cpu" and not tensor.is_pinned()
    )


def wanted(loader: Facts) -> bool:
    """Whether the program uses a GPU, and its loader gives batches in ordinary memory."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_initialized() and loader.get("pin_memory") is False


def measure(nbytes: int) -> Facts:
    """Seconds of each copy, by turns; the reason where the GPU has no room for one."""
    try:
        hosts = {"plain": allocated(nbytes), "pinned": allocated(nbytes, pinned=True)}
        there = allocated(nbytes, device="cuda")
        took: dict[str, list[float]] = {name: [] for name in hosts}
        for turn in range(TURNS + 1):
            for name, host in hosts.items():
                start = settled()
                there.copy_(host)
                seconds = settled() - start
                if turn:
                    took[name].append(seconds)
    except RuntimeError as error:  # torch's of a GPU: no memory, or a kernel of the program's
        return {"bytes": nbytes, "problem": str(error).partition("\n")[0]}
    return {"bytes": nbytes, **{f"{name}_s": values for name, values in took.items()}}


def allocated(nbytes: int, *, pinned: bool = False, device: str = "cpu") -> Any:
    """Bytes of torch's, whose pages are there."""
    torch = sys.modules["torch"]
    return torch.zeros(nbytes, dtype=torch.uint8, device=device, pin_memory=pinned)


def settled() -> float:
    """When the GPU has done everything that was asked of it, s."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter()
