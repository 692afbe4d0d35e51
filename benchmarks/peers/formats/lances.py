"""Lance as its own torch module reads it: SafeLanceDataset in spawned workers, a batch at once.

`python -m benchmarks.peers.formats.lances FOLDER OUT` writes the data set, its images as blobs.
"""

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import torch
from lance.torch.data import SafeLanceDataset, get_safe_loader
from PIL import Image

from benchmarks.peers import torches

VERSION = "2.1"  # of the files: all blobs lie in the data file
ROWS = 1 << 14  # of a fragment
STEP = 1000  # images that are written at once


class Images(SafeLanceDataset):  # type: ignore[misc]
    """It gives rows as they are; of a column of blobs these are places, so they are read here."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec["data"])
        self.ops = torches.pil(spec)

    def __getitems__(self, indices: list[int]) -> list[tuple[Any, int]]:
        if self._ds is None:
            self._ds = lance.dataset(self.uri)
        labels = self._ds.take(indices, columns=["label"])["label"].to_pylist()
        blobs = self._ds.read_blobs("image", indices=indices, preserve_order=True)
        return [
            (self.ops(Image.open(io.BytesIO(blob)).convert("RGB")), label)
            for (_, blob), label in zip(blobs, labels, strict=True)
        ]


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    torch.manual_seed(0)
    loader = get_safe_loader(Images(spec), spec["batch_size"], spec["workers"], shuffle=True)
    return lambda: (images for images, _ in loader)


def write(folder: str, out: str) -> None:
    blob = {"lance-encoding:blob": "true"}
    schema = pa.schema(
        [pa.field("image", pa.large_binary(), metadata=blob), pa.field("label", pa.int64())]
    )
    paths = [
        (path, label)
        for label, of_class in enumerate(sorted(Path(folder).iterdir()))
        for path in sorted(of_class.iterdir())
    ]

    def batches() -> Iterator[pa.RecordBatch]:
        for at in range(0, len(paths), STEP):
            some = paths[at : at + STEP]
            columns = [[path.read_bytes() for path, _ in some], [label for _, label in some]]
            arrays = [pa.array(one, kind.type) for one, kind in zip(columns, schema, strict=True)]
            yield pa.record_batch(arrays, schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    lance.write_dataset(reader, out, data_storage_version=VERSION, max_rows_per_file=ROWS)


if __name__ == "__main__":
    write(*sys.argv[1:])
