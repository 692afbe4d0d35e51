"""The release's check of exact resume: a state before each of at least 1,000 steps of 12
configurations. Takes minutes.

    python -m tests.loader.resume_release [STEPS [NAME …]]

Every state goes through JSON into a new loader, whose next batches are compared; the whole rest of
the epoch for one state in fifty. NAMEs choose configurations, so that it can be run in parts.
"""

import functools
import itertools
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import fastload
from fastload import DistributedSampler, ShuffleSampler
from fastload import transforms as T
from tests.conftest import encoded, textured
from tests.loader.resume_helpers import check_some

SAMPLES, BATCH = 120, 2
OPS = [T.RandomResizedCrop(12), T.RandomHorizontalFlip()]
SHARED = {"seed": 5, "num_workers": 1}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "shuffle": {"shuffle": True},
    "in order": {},
    "caller's thread": {"shuffle": True, "num_workers": 0},
    "two threads": {"shuffle": True, "num_workers": 2},
    "reference": {"shuffle": True, "num_workers": 0, "backend": "torch"},
    "mix": {"shuffle": True, "mix": T.CutMix(alpha=1.0)},
    "sizes": {
        "shuffle": True,
        "size_schedule": fastload.ProgressiveResize(total_epochs=20, increment=2),
    },
    "views": {"shuffle": True, "views": True},
    "rank 1 of 2": {"sampler": lambda: ShuffleSampler(SAMPLES, 1, num_replicas=2, rank=1)},
    "repeats": {"sampler": lambda: DistributedSampler(SAMPLES, seed=1, repeats=3)},
    "weights": {"sampler": lambda: DistributedSampler(SAMPLES, seed=1, weights=np.arange(SAMPLES))},
    "bad images": {"shuffle": True, "bad": True, "on_error": "substitute", "max_bad": 1.0},
}


def make(root: str, configuration: dict[str, Any]) -> Any:
    """A new loader."""
    options = {**SHARED, **configuration}
    if "sampler" in options:
        options["sampler"] = options["sampler"]()
    return fastload.DataLoader(
        opened(root, options.pop("bad", False), options.pop("views", False)), BATCH, **options
    )


@functools.cache
def opened(root: str, bad: bool, views: bool) -> Any:
    """The data set, which holds no position: looking for its files takes longer than a batch."""
    return fastload.open(
        f"{root}/{'bad' if bad else 'good'}", T.Views([(OPS, 2)]) if views else OPS
    )


def images(root: str) -> None:
    """`SAMPLES` JPEGs in two classes; in root/bad every twentieth is broken."""
    for kind, number in itertools.product(("good", "bad"), range(SAMPLES)):
        path = Path(root) / kind / f"class{number % 2}" / f"{number:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        broken = kind == "bad" and number % 20 == 7
        path.write_bytes(
            b"no image" if broken else encoded(textured(30 + number % 7, 24 + number % 5, number))
        )


def main(steps: int, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root:
        os.environ["XDG_CACHE_HOME"] = f"{root}/cache"
        images(root)
        for name in names:
            begin = time.monotonic(), time.process_time()
            count = check_some(functools.partial(make, root, CONFIGURATIONS[name]), steps)
            took = (
                f"{time.monotonic() - begin[0]:.0f} s, {time.process_time() - begin[1]:.0f} s "
                "of CPU"
            )
            print(
                f"{name:16} {count} states: every one gives the batches that were left ({took})",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2:] or list(CONFIGURATIONS))
