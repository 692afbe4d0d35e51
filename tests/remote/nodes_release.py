"""The release's check of training on several machines: 8 processes on 2 "nodes", each with a cache
of its own, are killed together at a random step, and go on under another world size.

    python -m tests.remote.nodes_release [RUNS]

Every image must be, pixel for pixel, the one that an epoch without a break has at its place; every
rank must make as many steps; each node must ask for each byte of the shards once.
"""

import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import fastload
from fastload.remote import layout
from fastload.transforms import RandomResizedCrop, ToImage
from tests.remote.epochs import GROUP, ended
from tests.remote.kill_release import converted
from tests.remote.web import Web, serving

WORLD, NODES, GLOBAL = 8, 2, 24  # ranks, nodes, and samples of a step over all ranks
IMAGES = 230  # no whole number of steps
OTHERS = (8, 4, 2, 1, 3, 12)  # world sizes that go on
LONGEST = 1.2  # s until all are killed, at most
OPS = (RandomResizedCrop((24, 31)), ToImage())


class Epoch(NamedTuple):
    """What one rank does."""

    url: str
    cache: str
    limit: int
    out: Path
    rank: int
    world: int
    state: Path | None = None


def epoch(of: Epoch) -> None:
    """A line for each step: the hash of each image. The state after each step is a file."""
    layout.GROUP = GROUP
    data = fastload.open(of.url, list(OPS), cache=of.cache, cache_bytes=of.limit)
    sampler = fastload.DistributedSampler(data, of.world, of.rank, seed=2)
    batch = GLOBAL // of.world
    loader = fastload.DataLoader(data, batch, sampler=sampler, num_workers=1, seed=7)
    step = 0
    if of.state is not None:
        loader.load_state_dict(json.loads(of.state.read_text()))
        step = int(of.state.name.rpartition("-")[2])
    with open(of.out / str(of.rank), "w") as file:
        for batch_of, _ in loader:
            step += 1
            hashes = [hashlib.sha256(one.numpy().tobytes()).hexdigest()[:16] for one in batch_of]
            place = of.out / f"state-{of.rank}-{step}"
            place.with_suffix(".part").write_text(json.dumps(loader.state_dict()))
            place.with_suffix(".part").rename(place)
            print(*hashes, file=file, flush=True)
        print("end", file=file)


def started(
    url: str, disk: Path, limit: int, out: Path, world: int, state: Path | None
) -> list[int]:
    """The processes of all ranks."""
    out.mkdir()
    children = []
    for rank in range(world):
        cache = str(disk / f"node-{rank * NODES // world}")
        if (child := os.fork()) == 0:
            try:
                epoch(Epoch(url, cache, limit, out, rank, world, state))
            except BaseException as error:
                print(f"rank {rank}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)
    return children


def images(out: Path, world: int, first: int = 0) -> list[str]:
    """The hashes of the images of all ranks, in the order of the samples, from step `first` on;
    without the last step's, that only make all ranks have as many. Raises AssertionError.
    """
    lines = [(out / str(rank)).read_text().splitlines() for rank in range(world)]
    if {len(line) for line in lines} != {len(lines[0])} or {line[-1] for line in lines} != {"end"}:
        raise AssertionError(f"steps differ: {[len(line) for line in lines]}")
    found: list[str] = []
    for of_ranks in zip(*(line[:-1] for line in lines), strict=True):
        shares = [share.split() for share in of_ranks]
        found += [share[place] for place in range(len(shares[0])) for share in shares]
    return found[: IMAGES - first * GLOBAL]


def wrong(web: Web, scratch: Path, number: int, want: list[str], limit: int) -> str:
    """What is not as it should be after one kill of all ranks; nothing if all is."""
    chance, url = random.Random(number), f"{web.url}/shards"
    children = started(url, scratch / "disk", limit, scratch / "killed", WORLD, None)
    time.sleep(chance.uniform(0.2, LONGEST))
    for child in children:
        os.kill(child, signal.SIGKILL)
    codes = [ended(child) for child in children]
    if bad := [code for code in codes if code not in (0, -signal.SIGKILL)]:
        return f"ended with {bad} before the kill"
    done = [
        max((int(p.name.rpartition("-")[2]) for p in (scratch / "killed").glob(f"state-{rank}-*")
             if not p.suffix), default=0)
        for rank in range(WORLD)
    ]  # fmt: skip
    step = min(done)  # ranks of a training are in step
    state = scratch / "killed" / f"state-{chance.randrange(WORLD)}-{step}" if step else None
    world = chance.choice(OTHERS)
    children = started(url, scratch / "disk", limit, scratch / "resumed", world, state)
    if any(ended(child) for child in children):
        return f"world {world} did not go on from step {step}"
    try:
        got = images(scratch / "resumed", world, step)
    except AssertionError as error:
        return f"world {world} from step {step}: {error}"
    if got != want[step * GLOBAL :]:
        return f"world {world} from step {step}: other images"
    return ""


def once_per_node(web: Web, scratch: Path, want: list[str]) -> str:
    """All ranks without a break, with empty caches: each byte comes once for each node."""
    before = len(web.asked)
    url = f"{web.url}/shards"
    children = started(url, scratch / "disk", 1 << 40, scratch / "whole", WORLD, None)
    if any(ended(child) for child in children):
        return "an epoch without a break failed"
    if images(scratch / "whole", WORLD) != want:
        return "an epoch without a break has other images than one process"
    asked = [each for each in web.asked[before:] if each[0].endswith(".tar")]
    size = sum(file.stat().st_size for file in (web.folder / "shards").glob("*.tar"))
    came = sum(end - first for _, first, end in asked)
    return "" if came == NODES * size else f"{came} bytes of shards came, want {NODES} times {size}"


def reference(web: Web, scratch: Path, limit: int) -> list[str]:
    """One process over the same store, alone."""
    children = started(f"{web.url}/shards", scratch / "calm", limit, scratch / "want", 1, None)
    if any(ended(child) for child in children):
        sys.exit("the reference failed")
    return images(scratch / "want", 1)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    _ = fastload.DataLoader, fastload.open  # imported once, not in each process
    bad = 0
    with tempfile.TemporaryDirectory() as root:
        converted(Path(root), IMAGES)
        limits = (1 << 40, 256 << 10)  # a permutation of all; blocks
        with serving(Path(root), latency=0.002) as web:
            for name in ("0", "1", "first"):
                Path(root, name + "-scratch").mkdir()
            wants = [
                reference(web, Path(root, f"{number}-scratch"), limit)
                for number, limit in enumerate(limits)
            ]
            said = once_per_node(web, Path(root, "first-scratch"), wants[0])
            bad += bool(said)
            print(f"once per node: {said or 'ok'}", flush=True)
            for number in range(runs):
                scratch = Path(root, f"run-{number}")
                scratch.mkdir()
                said = wrong(web, scratch, number, wants[number % 2], limits[number % 2])
                bad += bool(said)
                print(f"run {number}: {said or 'ok'}", flush=True)
    print(f"{runs} kills of {WORLD} processes on {NODES} nodes, {bad} went wrong")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
