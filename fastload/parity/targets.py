"""Whether what comes with the images is the same: labels, masks, or values that lie beside them."""

from collections.abc import Mapping
from typing import Any

import torch

LONGEST = 60  # characters of a value that is told


def on_cpu(target: Any) -> Any:
    return target.cpu() if isinstance(target, torch.Tensor) else target


def problem(got: Any, want: Any) -> str:
    """What differs; "": nothing."""
    if isinstance(want, Mapping):
        if list(got) != list(want):
            return f"targets are {', '.join(got)}, want {', '.join(want)}"
        each = ((name, problem(got[name], want[name])) for name in want)
        return next((f"{name}: {why}" for name, why in each if why), "")
    if isinstance(got, torch.Tensor) != isinstance(want, torch.Tensor):
        return f"targets are a {type(got).__name__}, want a {type(want).__name__}"
    return _of_tensors(got, want) if isinstance(want, torch.Tensor) else _of_lists(got, want)


def _of_tensors(got: torch.Tensor, want: torch.Tensor) -> str:
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"targets are {got.dtype} {list(got.shape)}, want {want.dtype} {list(want.shape)}"
    # What is no number is the same where it is none in both
    alike = (got == want) | (got.isnan() & want.isnan())
    other = int((~alike.reshape(len(want), -1)).any(dim=1).sum())
    return f"{other} of {len(want)} targets of a batch are others" if other else ""


def _of_lists(got: list[Any], want: list[Any]) -> str:
    if len(got) != len(want):
        return f"{len(got)} targets of a batch, want {len(want)}"
    other = [pair for pair in zip(got, want, strict=True) if not _same(*pair)]
    if not other:
        return ""
    mine, theirs = (repr(one)[:LONGEST] for one in other[0])
    return (
        f"{len(other)} of {len(want)} targets of a batch are others (first {mine}, want {theirs})"
    )


def _same(got: Any, want: Any) -> bool:
    if isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor):
        return not _of_tensors(got[None], want[None])
    return bool(got == want)
