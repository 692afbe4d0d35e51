"""The release's check of the cache: processes that use it are killed (SIGKILL) at random moments,
while the server goes wrong. Afterwards every batch is what the local data give, and nothing is
left.

    python -m tests.remote.kill_release [RUNS]

A run kills 10 processes. It says how many faults the server injected.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fastload
from fastload.remote.cache import Cache
from fastload.remote.spare import Spare
from tests.conftest import TREE, encoded, textured
from tests.remote.web import Web, serving

KINDS = ("503", "429", "reset", "short", "wrong", "flip", "500")
KILLS = 10


def program(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def wrong(
    web: Web, scratch: Path, limit: int, kills: int, seed: int, run: Callable[..., object]
) -> str:
    """What is not as it should be after so many kills; nothing if all is."""
    disk, outs = scratch / "disk", [scratch / "out", scratch / "want"]
    for out in outs:
        out.mkdir()
    common = ("-m", "tests.remote.epochs")
    here = {"PYTHONPATH": str(TREE)}
    calm = (str(web.folder / "shards"), str(scratch / "calm"), str(1 << 40), str(outs[1]), "1")
    done = [
        run(*common, *calm, **here),
        run(
            *common, f"{web.url}/shards", str(disk), str(limit), str(outs[0]), "1", str(kills),
            str(seed), **here,
        ),
    ]  # fmt: skip
    for each in done:
        if each.returncode or each.stderr:
            return f"ended with {each.returncode}: {each.stderr[-500:]}"
    got, want = ((out / "0").read_text().splitlines() for out in outs)
    samples = [json.loads(line.split("]")[0] + "]") for line in want[:-1]]
    flat = sorted(sample for batch in samples for sample in batch)
    if flat != list(range(len(flat))) or want[-1] != "end":
        return f"the local epoch is {want}"
    # A small cache has an order of its own: the same samples, and the same pixels of each batch
    if limit >= 1 << 30 and got != want:
        pairs = zip(got, want, strict=False)
        return f"batches differ: {[pair for pair in pairs if len(set(pair)) > 1]}"
    mine = sorted(sample for line in got[:-1] for sample in json.loads(line.split("]")[0] + "]"))
    if mine != flat or got[-1] != "end":
        return f"samples differ: {mine}"
    return left_over(disk, web.folder / "shards")


def left_over(disk: Path, shards: Path) -> str:
    """What the cache holds that it should not: unfinished folders, cells that are not what they
    say, locks.
    """
    root = Path(Cache(str(disk)).root)
    entries = [each for each in root.iterdir() if each.is_dir()]
    if len(entries) != 1:
        return f"{len(entries)} entries: {sorted(each.name for each in entries)}"
    spare = Spare(str(entries[0]))
    try:
        if not spare.idle():
            return "somebody still has it open"
        marks = np.frombuffer((entries[0] / "cells").read_bytes(), np.uint8, offset=64)
        source = fastload.open(shards).pipeline.source
        rows = np.arange(len(source))
        at = source.locate(rows)
        for row in rows[marks[rows] == 1].tolist():  # samples lie in the order of the index
            name = Path(source.files.path(int(at.file[row]))).name
            begin, size = int(at.offset[row]), int(at.size[row])
            here, there = (
                folder.joinpath(name).read_bytes()[begin : begin + size]
                for folder in (entries[0], shards)
            )
            if here != there:
                return f"{name}: bytes {begin} to {begin + size} are not the store's"
    finally:
        spare.close()
    return ""


def converted(root: Path, images: int = 60, seek_step: int = 8) -> None:
    """Shards with so many images below ROOT/shards."""
    from fastload.conversion import job

    for number in range(images):
        folder = root / "images" / f"class-{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        pixels = textured(96 + number % 7 * 8, 120 + number % 5 * 16, number)
        (folder / f"{number:03}.jpg").write_bytes(encoded(pixels, quality=92))
    options = job.Options(shard_bytes=128 << 10, shuffle=5, seek_step=seek_step)
    job.run(job.prepare(str(root / "images"), str(root / "shards"), options))


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    injected, bad = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        converted(Path(scratch))
        for number in range(runs):
            chance = random.Random(number)
            faults = [chance.choice((*KINDS, "", "", "")) for _ in range(4096)]
            with serving(Path(scratch), latency=0.002) as web:

                def fault(path: str, count: int) -> str:
                    return faults[(len(web.asked) * 31 + count) % len(faults)]  # noqa: B023

                web.faults = fault
                place = Path(scratch, str(number))
                place.mkdir()
                limit = (1 << 30) if number % 2 else (256 << 10)
                said = wrong(web, place, limit, KILLS, number, program)
                injected += web.injected
            bad += bool(said)
            print(f"run {number}: {said or 'ok'}", flush=True)
    print(f"{runs * KILLS} kills, {injected} faults injected, {bad} runs went wrong")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
