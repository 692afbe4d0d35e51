"""The three tiers that a data set is run in: what is native in each, what that gains, and what
would lift a data set into the next one.

1: the native engine. 2: PyTorch's workers, with native decoding and last steps. 3: PyTorch's
workers, with native decoding.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch.utils.data import ConcatDataset, Subset

from fastload.loader import composing, ending
from fastload.lowering import arrays
from fastload.plan.plan import Plan
from fastload.sources import views
from fastload.sources.arrays import ArraySource

PAGE = "docs/pipelines.md"


class Gain(NamedTuple):
    """Times the rate of PyTorch's loader with as many workers: of public pipelines, the medians."""

    low: float
    middle: float
    high: float
    pipelines: int

    @property
    def range(self) -> str:
        return f"{self.low} times" if self.pipelines == 1 else f"{self.low} to {self.high} times"

    @property
    def text(self) -> str:
        behind = (
            f"1 pipeline of {PAGE}"
            if self.pipelines == 1
            else f"{self.middle} in the middle of {self.pipelines} pipelines of {PAGE}"
        )
        return f"{self.range} PyTorch's rate ({behind})"


# By tier, of the pipelines that PAGE has a rate of; a test holds them against its rows. Images of
# CIFAR's size are apart: there is little or nothing to decode in them.
GAINS = {
    1: Gain(3.6, 7.7, 12.0, 47),
    2: Gain(1.3, 3.4, 4.8, 6),
    3: Gain(0.9, 1.9, 3.9, 6),
}
GAINS_IN_MEMORY = {1: Gain(5.6, 10.7, 18.2, 5), 2: Gain(1.3, 1.3, 1.3, 1)}
NATIVE = {
    1: "all of it is native",
    2: "the decoding of JPEG files and last steps are native",
    3: "the decoding of JPEG files is native",
}
JOINT = "tier 1 of 3: pixels are native; targets move in the same threads, by torchvision's code"
# Pieces of a reason that say nothing which its subject and its end do not say
_WANTED = re.compile(r" \(want .*| \(no .*|; .*")
_SUBJECT = re.compile(r"^(data set|transform) (?:[^ ]*\.)?([^ .]+)(?= |$)")
_VERDICT = re.compile(
    r" (?:is not one that fastload (?:knows|can follow)"
    r"|calls [^ ]+, which fastload cannot see into): "
)
LONGEST = 90  # characters of a clause


def native(plan: Plan) -> str:
    """What `explain()` says of a data set in tier 1."""
    if plan.joint:
        return JOINT
    source = plan.source
    while isinstance(source, views.Subset):
        source = source.base
    return _tier(1, GAINS_IN_MEMORY if isinstance(source, ArraySource) else GAINS)


def workers(dataset: object, reasons: Sequence[str], *, last_steps: bool) -> str:
    """The same in tier 2 or 3; reasons: why it is not in tier 1."""
    tier = 2 if last_steps else 3
    measured = GAINS_IN_MEMORY if _in_memory(dataset) else GAINS
    clauses = [_tier(tier, measured)]
    if tier > 2:
        clauses.append(f"for tier 2{_would(measured, 2)} {_to_last_steps(dataset)}")
    if reasons:
        clauses.append(f"for tier 1{_would(measured, 1)} mend: {short(reasons[0])}")
    return "; ".join(clauses)


def _tier(tier: int, measured: dict[int, Gain]) -> str:
    gain = measured[tier].text if tier in measured else "a gain that was not measured"
    return f"tier {tier} of 3: {NATIVE[tier]}, {gain}"


def _would(measured: dict[int, Gain], tier: int) -> str:
    return f" ({measured[tier].range})" if tier in measured else ""


def short(reason: str) -> str:
    """A reason in one clause: what it is about, and what of it is in the way."""
    subject = _SUBJECT.sub(r"\1 \2", reason)
    clause = _VERDICT.sub(": ", _WANTED.sub("", subject), count=1)
    return clause if len(clause) <= LONGEST else f"{clause[: LONGEST - 1]}…"


def _to_last_steps(dataset: object) -> str:
    """What a data set lacks for native last steps."""
    found = composing.chains(dataset)
    if not found:
        return "give it a torchvision Compose that ends in ToTensor"
    if not any(map(ending.makes_tensor, found)):
        return "end its Compose in ToTensor, or in ToImage and ToDtype"
    if any(map(ending.is_apart, found)):
        return "let ToImage and ToDtype follow each other in its Compose, behind what resizes"
    return "let its Compose make float32 tensors of three channels"


def _in_memory(dataset: Any) -> bool:
    """Whether its images are arrays of pixels, so that nothing is decoded."""
    try:
        if type(dataset) is Subset:
            return _in_memory(dataset.dataset)
        if type(dataset) is ConcatDataset:
            return all(map(_in_memory, dataset.datasets))
    except Exception:  # noqa: BLE001  a program may have put anything into its objects
        return False
    return arrays.knows(dataset)
