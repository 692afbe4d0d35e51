"""`python -m benchmarks shuffle`: how well orders mix that read neighbours together, at the same
memory.

The spread of a batch is the mean distance of two of its samples in the store's order, as a share of
what a uniform permutation gives: 1 is as good, 0 is no mixing. Nothing is read: orders are computed
by each library's own code, for shards that follow each other as they were written.
"""

import argparse
import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.peers import setup
from benchmarks.peers.process import ROOT
from benchmarks.peers.remote.catalogue import LOADERS
from benchmarks.report import facts, row, table
from benchmarks.report.row import Row, measured
from fastload.measure import Sample
from fastload.order.blocks import Blocks
from fastload.spec import Longs

SAMPLES, SIZE = 1 << 17, 110_000  # samples; bytes of one
SHARD, GROUP = 512, 76  # samples of a shard, and of a group of fastload's: 56 MB and 8 MiB
WINDOWS = (64, 16, 4)  # the memory: one of so many parts of the data
BATCH, SEEDS = 256, 5
STREAMING = """
import json, sys
import numpy as np
from streaming.base.partition import get_partitions
from streaming.base.shuffle import get_shuffle
for algo, nodes, block, seed, samples, shard, batch in json.load(sys.stdin):
    ids = get_shuffle(algo, np.full(samples // shard, shard), nodes, seed, 0, block)
    parts = get_partitions("relaxed", samples, nodes, 1, 1, 1, batch).ravel()
    sys.stdout.buffer.write(ids[parts[parts >= 0]].astype(np.int64).tobytes())
"""


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--setup", action="store_true", help="first make a missing environment")
    verb.add_argument("--environments", type=Path, default=ROOT / "build" / "peers")
    verb.add_argument("--json", action="store_true", help="print the rows as JSON lines")
    verb.add_argument("--no-save", action="store_true", help="do not add the rows to the results")
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    streaming = next(each for each in LOADERS if each.name == "streaming")
    if given.setup:
        setup.set_up([streaming], given.environments, print)
    python, common = setup.python_of(streaming, given.environments), facts.common()
    orders: dict[str, Callable[[int, int], Longs]] = {
        "uniform permutation": lambda _, seed: np.random.default_rng(seed).permutation(SAMPLES),
        "fastload, blocks": blocks,
        "WebDataset, buffer": webdataset_buffer,
        **by_streaming(python),
    }
    results = []
    for part in WINDOWS:
        for name, order in orders.items():
            sample = Sample(tuple(spread(order(SAMPLES // part, seed)) for seed in range(SEEDS)))
            shown = {"window": f"1/{part} of the data", "samples": SAMPLES, "batch_size": BATCH}
            results.append(Row(
                benchmark="shuffle", variant=name, settings=shown, reference=None,
                page_cache="not used", data={}, unit="spread of a batch",
                **measured(sample, None), **common,
            ))  # fmt: skip
    if not given.no_save:
        row.save(given.results / "shuffle.jsonl", results)
    print("\n".join(map(row.line, results)) if given.json else table.every(results))


def spread(order: Longs) -> float:
    """Of an order's batches. order: int64 [SAMPLES], a permutation."""
    if not np.array_equal(np.sort(order), np.arange(SAMPLES)):
        raise ValueError("an order that is no permutation")
    batches = np.sort(order.reshape(-1, BATCH), axis=1)
    weights = 2 * np.arange(BATCH) - BATCH + 1  # so often a value is the larger of two, or not
    pairs = BATCH * (BATCH - 1) / 2
    mean = float((batches @ weights).mean()) / pairs
    return mean / ((SAMPLES + 1) / 3)


def blocks(window: int, seed: int) -> Longs:
    first = np.append(np.arange(0, SAMPLES, GROUP), SAMPLES)
    weights = np.diff(first) * SIZE
    order = Blocks(first, weights, window * SIZE, lambda samples: samples)
    return order.at(np.arange(SAMPLES), seed, 0)


def webdataset_buffer(window: int, seed: int) -> Longs:
    """Its own shuffle buffer behind shards in a random order."""
    from webdataset.filters import _shuffle

    rng = random.Random(seed)
    shards = list(range(0, SAMPLES, SHARD))
    rng.shuffle(shards)
    samples = (sample for shard in shards for sample in range(shard, shard + SHARD))
    return np.fromiter(_shuffle(samples, window, window, rng=rng), np.int64)


def by_streaming(python: str) -> dict[str, Callable[[int, int], Longs]]:
    """By the algorithm; all orders are computed at once. py2s reads as many shards side by side
    (canonical nodes) as the window holds; py1e spreads each over the window.
    """
    windows = [SAMPLES // part for part in WINDOWS]
    asked = [
        (algo, window // SHARD if algo == "py2s" else 1, window, seed, SAMPLES, SHARD, BATCH)
        for algo in ("py1e", "py2s")
        for window in windows
        for seed in range(SEEDS)
    ]
    done = subprocess.run(
        [python, "-W", "ignore", "-c", STREAMING], input=json.dumps(asked).encode(),
        capture_output=True, check=True,
    )  # fmt: skip
    orders = np.frombuffer(done.stdout, np.int64).reshape(2, len(windows), SEEDS, SAMPLES)
    return {
        "MosaicML Streaming, py1e": lambda window, seed: orders[0, windows.index(window), seed],
        "MosaicML Streaming, py2s": lambda window, seed: orders[1, windows.index(window), seed],
    }
