"""What the conversion benchmark runs in a process of its own:

`ffcv SRC DST WORKERS`, or `index FOLDER ROWS`. Answers with JSON.
"""

import json
import os
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # loaded where it is measured
    from fastload.conversion.parts import Written

MIB = 2**20


def ffcv(source: str, target: str, workers: int) -> dict[str, float]:
    """FFCV's own writer on torchvision's ImageFolder, as its examples do it."""
    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter
    from torchvision.datasets import ImageFolder

    data = ImageFolder(source)
    begin = time.perf_counter()
    writer = DatasetWriter(
        target, {"image": RGBImageField(write_mode="jpg"), "label": IntField()}, num_workers=workers
    )
    writer.from_indexed_dataset(data)
    with open(target, "rb") as file:
        os.fsync(file.fileno())
    return {"seconds": time.perf_counter() - begin}


def made_parts(rows: int) -> "list[Written]":
    """What shards of 2000 samples each would have said when they were written."""
    from fastload.conversion.parts import Written
    from fastload.conversion.seek_writer import Sidecar
    from fastload.conversion.transcoding import Tally

    each = 2000
    empty = Sidecar("", 0, 0, np.zeros(each, np.int64), np.zeros(each, np.int64), Counter())
    numbers = np.arange(each, dtype=np.int64)
    return [
        Written(
            "", 1 << 28, 0, numbers + shard * each, numbers * 100_000, numbers * 0 + 99_000,
            numbers * 0 + 375, numbers * 0 + 500,
            numbers.astype(np.uint64), ("jpeg 4:2:0",) * each, (), empty, Tally(on=False),
        )
        for shard in range(rows // each)
    ]  # fmt: skip


def index(folder: str, rows: int) -> dict[str, float]:
    """An index of so many samples: what writing and opening it takes."""
    from fastload import _native
    from fastload.conversion import index_writer
    from fastload.conversion.writers import Catalog
    from fastload.sources.shard_index import INDEX, SUM, read_index
    from fastload.sources.sums import line as sum_line

    parts = made_parts(rows)
    keys = [f"n{row % 1000:08d}/n{row % 1000:08d}_{row}" for row in range(rows)]
    before, begin = peak(), time.perf_counter()
    content = index_writer.index_bytes(
        folder, Catalog(keys, np.arange(rows, dtype=np.int64) % 1000,
        tuple(f"n{n:08d}" for n in range(1000))), parts,
        [f"shard-{number:06d}.tar" for number in range(len(parts))], index_writer.PLAIN,
    )  # fmt: skip
    written, made = time.perf_counter() - begin, peak()
    Path(folder).mkdir()
    (Path(folder) / INDEX).write_bytes(content)
    (Path(folder) / SUM).write_bytes(sum_line(_native.xxh3(content)))
    held, begin = anonymous(), time.perf_counter()
    opened = read_index(folder)
    if opened.row_problems():
        raise SystemExit("the index does not open")
    return {
        "memory of opening, MiB": anonymous() - held,
        "seconds of opening": time.perf_counter() - begin,
        "memory of writing, MiB": made - before, "seconds of writing": written,
        "file, MiB": len(content) / MIB,
    }  # fmt: skip


def peak() -> float:
    """MiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def anonymous() -> float:
    """MiB that are this process's own, without mapped files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    print(
        json.dumps(
            ffcv(rest[0], rest[1], int(rest[2])) if verb == "ffcv" else index(rest[0], int(rest[1]))
        )
    )
