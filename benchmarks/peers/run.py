"""All peers take turns, whole epochs for TURN s each, in processes of their own on the same cores;
those that fail get a row that says why.

One case at a time: a pipeline on so many cores, over one set of images. A peer's first epoch is
dropped: it starts workers, compiles and fills the page cache; its memory and the time to its first
    batch are taken in it.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.loaders.storage import drop
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.process import PeerError, Process

# S, at least; so a fast peer's epochs, of less than half a second, are measured no more roughly
# than a slow one's
TURN = 1.5


@dataclass(frozen=True)
class Case:
    """One comparison. Sizes in px; `data` and `images` are the folder that it is made from."""

    table: str  # "" is the main one; cold, first, png, png_full, webp, large, growth
    pipeline: str  # "crop, flip", or that and "RandAugment"
    cores: int
    data: dict[str, str]  # by peer
    images: int
    facts: dict[str, Any]  # facts.data_set
    batch_size: int = 64
    size: int = 224
    cold: bool = False
    new: bool = False  # each epoch is a new loader's, and nothing is kept from the last one's
    once: bool = False  # no more than the first batch

    @property
    def augment(self) -> bool:
        return self.pipeline.endswith("RandAugment")


@dataclass
class Outcome:
    """What a peer has answered, the first epoch apart, and why it went no further."""

    first: dict[str, Any] = field(default_factory=dict)
    epochs: list[dict[str, Any]] = field(default_factory=list)  # of a turn, added up
    why: str = ""


def measure(
    case: Case, peers: Sequence[Peer], pythons: dict[str, str], failed: dict[str, str],
    scratch: Path, repetitions: int,
    on_done: Callable[[], None],
) -> dict[str, Outcome]:  # fmt: skip
    """Run the peers in turns; failed: why a peer cannot begin, by name. on_done is called after
    each epoch, also one that is left out.
    """
    cores = sorted(os.sched_getaffinity(0))[: case.cores]
    results = {
        peer.name: Outcome(why=failed.get(peer.name, ""))
        for peer in peers
        if case.data.get(peer.name) or peer.name in failed
    }
    with ExitStack() as stack:
        processes = {}
        for peer in peers:
            if peer.name in results and not results[peer.name].why:
                cache = str(scratch / f"cache of {peer.name}")
                process = Process(spec(case, peer, cores), pythons[peer.name], cache)
                stack.callback(process.close)
                processes[peer.name] = process
        for turn in range(repetitions + 1):
            for peer in peers:
                if peer.name in results and not results[peer.name].why:
                    _turn(case, peer, processes[peer.name], results[peer.name], first=turn == 0)
                on_done()
    return results


def _turn(case: Case, peer: Peer, process: Process, outcome: Outcome, *, first: bool) -> None:
    try:
        answers = [_epoch(case, peer, process)]
        while (
            not (first or case.cold or case.once)
            and sum(answer["seconds"] for answer in answers) < TURN
        ):
            answers.append(_epoch(case, peer, process))
    except PeerError as error:
        # A row names no folder of the machine
        outcome.why = str(error).replace(str(case.data[peer.name]), "the data")
        return
    if first:
        outcome.first = answers[0]
    else:
        outcome.epochs.append(_together(answers))


def _epoch(case: Case, peer: Peer, process: Process) -> dict[str, Any]:
    """What the peer says of one. Raises PeerError."""
    if case.cold:
        _cool(case.data[peer.name])
    answer = process.epoch()
    least = case.images // case.batch_size * case.batch_size  # some drop the last batch
    if not case.once and not least <= answer["images"] <= case.images:
        raise PeerError(f"{answer['images']} images in an epoch (want {case.images})")
    return answer


def _together(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Epochs as one; the time to the first batch is their mean."""
    added = {
        name: sum(answer[name] for answer in answers)
        for name in ("images", "seconds", "cpu_seconds", "first_seconds")
    }
    return added | {"first_seconds": added["first_seconds"] / len(answers)}


def spec(case: Case, peer: Peer, cores: Sequence[int]) -> dict[str, Any]:
    """What benchmarks.peers.child is told."""
    return {
        "peer": peer.name, "module": peer.module, "data": case.data[peer.name],
        "images": case.images, "cores": list(cores),
        "workers": len(cores), "batch_size": case.batch_size, "size": case.size,
        "augment": case.augment, "cold": case.cold, "new": case.new,
        "once": case.once, "packages": [name.partition("==")[0] for name in peer.packages],
    }  # fmt: skip


def _cool(where: str) -> None:
    """Drop a file, or all files of a folder, from the page cache."""
    if os.path.isfile(where):
        drop(where)
    for folder, _, names in os.walk(where):
        for name in names:
            drop(os.path.join(folder, name))
