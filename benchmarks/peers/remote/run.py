"""The loaders take turns over the same link, an epoch each: what they reach once an epoch is under
way, what they ask the store for, and what the store's process itself costs.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.catalogue import Peer
from benchmarks.peers.process import ROOT, PeerError, Process
from benchmarks.peers.remote.catalogue import PART, WARM
from benchmarks.peers.remote.link import Store
from fastload.conversion import job

LATENCY, RATE = 0.05, 125e6  # s before each answer; bytes per second: 1 Gbit/s
SHARD = 64 << 20  # bytes
WRITE_LIMIT = 600  # s
WRITERS = {"mds": "streaming", "mds4": "streaming", "lit": "litdatas", "energon": "energons"}


@dataclass(frozen=True)
class Case:
    """One pipeline. size in px; `served` is the folder that the store has."""

    pipeline: str
    served: Path
    workers: int
    size: int
    reference: str  # the loader that ratios compare with
    batch_size: int = 64

    @property
    def augment(self) -> bool:
        return "RandAugment" in self.pipeline


@dataclass
class Outcome:
    """What came of a loader's epochs, and why it went no further."""

    first: dict[str, Any] = field(default_factory=dict)
    epochs: list[dict[str, Any]] = field(default_factory=list)
    why: str = ""


def prepare(folder: str, served: Path, peers: Sequence[Peer], pythons: dict[str, str]) -> None:
    """What each loader reads, below `served`, where it is not there yet.

    Raises PeerError where a loader's own writer fails.
    """
    served.mkdir(parents=True, exist_ok=True)
    if not (served / "shards").exists():
        job.run(job.prepare(folder, str(served / "shards"), job.Options(shard_bytes=SHARD)))
    if not (served / "images").exists():
        shutil.copytree(folder, served / "images")
    for peer in peers:
        module = WRITERS.get(peer.reads)
        target = served / peer.reads
        if module is None or target.exists():
            continue
        command = [pythons[peer.name], "-m", f"benchmarks.peers.remote.{module}", folder]
        done = subprocess.run(
            [*command, str(target), *["4"] * (peer.reads == "mds4")],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
            check=False, timeout=WRITE_LIMIT,
        )  # fmt: skip
        if done.returncode:
            shutil.rmtree(target, ignore_errors=True)
            raise PeerError(f"{peer.title}: {done.stderr.strip().splitlines()[-1]}")


def measure(
    case: Case, peers: Sequence[Peer], pythons: dict[str, str], store: Store, scratch: Path,
    repetitions: int, on_done: Callable[[], None],
) -> dict[str, Outcome]:  # fmt: skip
    """Run the loaders in turns. on_done is called after each turn of each."""
    outcomes = {peer.name: Outcome() for peer in peers}
    with ExitStack() as stack:
        processes = {}
        for peer in peers:
            told = spec(case, peer, store.url, str(scratch / peer.name))
            cache = str(scratch / f"cache of {peer.name}")
            process = Process(told, pythons[peer.name], cache, variables=variables(store.url))
            stack.callback(process.close)
            processes[peer.name] = process
        for _ in range(repetitions):
            for peer in peers:
                if not outcomes[peer.name].why:
                    _turn(peer, processes[peer.name], store, outcomes[peer.name])
                    _cleared(scratch / peer.name)
                on_done()
    return outcomes


def _turn(peer: Peer, process: Process, store: Store, outcome: Outcome) -> None:
    """One epoch, and before it one that is dropped where caches have to be warm."""
    try:
        if peer.name in WARM and not outcome.first:
            outcome.first = process.epoch()
        before = store.facts()
        answer = process.epoch()
        after = store.facts()
    except PeerError as error:
        outcome.why = str(error)
        process.close()  # one that hangs would go on reading beside the others
        return
    outcome.first = outcome.first or answer
    outcome.epochs.append(answer | {f"store_{name}": after[name] - before[name] for name in after})


def _cleared(scratch: Path) -> None:
    """Caches of epochs that have ended; "kept" is of a data set that is still open."""
    for each in scratch.glob("*"):
        if each.name != "kept":
            shutil.rmtree(each, ignore_errors=True)


def spec(case: Case, peer: Peer, url: str, scratch: str) -> dict[str, Any]:
    """What benchmarks.peers.child is told."""
    shards = sorted((case.served / "shards").glob("*.tar"))
    keys = sorted(
        str(file.relative_to(case.served / "images"))
        for file in (case.served / "images").rglob("*.*")
    )
    if peer.reads == "keys":
        keys = keys[:: len(keys) // PART][:PART]
    return {
        "peer": peer.name, "module": peer.module, "url": url, "scratch": scratch,
        "local": str(case.served / "shards"), "shards": [file.name for file in shards],
        "keys": keys if peer.reads == "keys" else [], "images": len(keys),
        "bytes": sum(file.stat().st_size for file in shards), "bucket": peer.reads,
        "cores": sorted(os.sched_getaffinity(0)), "workers": case.workers,
        "batch_size": case.batch_size, "size": case.size, "augment": case.augment, "cold": False,
        "once": False, "packages": [re.split(r"[=[]", name)[0] for name in peer.packages],
    }  # fmt: skip


def variables(url: str) -> dict[str, str]:
    """How S3's clients find the store; each of them reads some of these."""
    return {
        "AWS_ENDPOINT_URL": url, "S3_ENDPOINT_URL": url, "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "any", "AWS_ALLOW_HTTP": "true",
        "AWS_DEFAULT_REGION": "us-east-1", "HF_HUB_DISABLE_TELEMETRY": "1",
    }  # fmt: skip
