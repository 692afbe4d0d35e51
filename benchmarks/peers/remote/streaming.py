"""MosaicML Streaming: MDS shards in S3, the default shuffle (py1e).

`python -m benchmarks.peers.remote.streaming FOLDER OUT [MIB]` writes them.
"""

import io
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from torch.utils.data import DataLoader

from benchmarks.peers import torches

SHARD = "64"  # MiB


def images(spec: dict[str, Any], **options: Any) -> Any:
    """A data set of MosaicML's, decoded and augmented as torchvision does, with its own options."""
    from streaming import StreamingDataset

    class Images(StreamingDataset):  # type: ignore[misc]
        """Of MDS shards."""

        ops = torches.pil(spec)

        def __getitem__(self, index: int) -> Any:
            sample = super().__getitem__(index)
            return self.ops(Image.open(io.BytesIO(sample["image"])).convert("RGB"))

    return Images(shuffle=True, batch_size=spec["batch_size"], **options)


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    epochs, small = itertools.count(), spec["peer"] == "streaming_tenth"

    def opened(local: str) -> Any:
        limit = spec["bytes"] // 10 if small else None
        remote, local = f"s3://{spec['bucket']}", f"{spec['scratch']}/{local}"
        return images(spec, remote=remote, local=local, cache_limit=limit)

    kept = opened("kept") if small else None

    def epoch() -> Iterator[Any]:
        data = kept or opened(str(next(epochs)))
        return iter(DataLoader(data, spec["batch_size"], num_workers=spec["workers"]))

    return epoch


def write(folder: str, out: str, mib: str = SHARD) -> None:
    from streaming import MDSWriter

    columns = {"image": "bytes", "label": "int"}
    with MDSWriter(out=out, columns=columns, size_limit=int(mib) << 20) as writer:
        for label, of_class in enumerate(sorted(Path(folder).iterdir())):
            for file in sorted(of_class.iterdir()):
                writer.write({"image": file.read_bytes(), "label": label})


if __name__ == "__main__":
    write(*sys.argv[1:])
