"""The release's check of sameness: one hash for 0, 1, 4 and 16 workers in 20 runs each, and for
every instruction set. Takes a minute.

python -m tests.life.one_hash [--runs N]
"""

import argparse
import hashlib
import itertools
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

import fastload
from fastload import _native
from fastload import transforms as T
from tests.life.death import images
from tests.loader.resume_helpers import digest

WORKERS = (0, 1, 4, 16)
OPS = [
    T.RandomResizedCrop((24, 32)), T.RandomHorizontalFlip(), T.RandAugment(), T.ColorJitter(0.4,
    0.4, 0.4, 0.1), T.GaussianBlur(5),
    T.ToTensor(), T.Normalize((0.48, 0.45, 0.4), (0.23, 0.22, 0.22)), T.RandomErasing(p=0.5),
]  # fmt: skip


def hashed(folder: str, workers: int, **options: Any) -> str:
    """Of two epochs' batches."""
    data = fastload.open(folder, OPS)
    loader = fastload.DataLoader(
        data, 5, shuffle=True, seed=9, num_workers=workers, **{"mix": T.MixUp(alpha=0.4)} | options
    )
    found = hashlib.blake2b(digest_size=16)
    for batch in itertools.chain(loader, loader):
        found.update(digest(batch))
    return found.hexdigest()


def check(runs: int, workers: tuple[int, ...] = WORKERS, say: Any = print) -> set[str]:
    """All hashes that were seen."""
    with tempfile.TemporaryDirectory(prefix="fastload-life-") as scratch:
        os.environ["XDG_CACHE_HOME"] = f"{scratch}/cache"
        folder, seen = images(Path(scratch) / "images"), set()
        for count in workers:
            found = {hashed(folder, count) for _ in range(runs)}
            say(f"{count:2} workers, {runs} runs: {len(found)} hash", flush=True)
            seen |= found
        for target in _native.targets():
            _native.limit_targets(target)
            seen |= {found := hashed(folder, 2)}
            say(f"{target:9} {found}", flush=True)
        _native.limit_targets("")
        seen |= {found := hashed(folder, 0, backend="torch")}
        say(f"reference {found}", flush=True)
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    seen = check(parser.parse_args().runs)
    print(f"{len(seen)} hash in all")
    return len(seen) != 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
