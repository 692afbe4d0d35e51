"""TFRecords through the package tfrecord, which needs no TensorFlow.

`python -m benchmarks.peers.formats.tfrecords FOLDER OUT` writes them.
"""

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from tfrecord import TFRecordWriter
from tfrecord.tools.tfrecord2idx import create_index
from tfrecord.torch.dataset import MultiTFRecordDataset
from torch.utils.data import DataLoader

from benchmarks.peers import torches

FILES, BUFFER = 8, 1000  # samples


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    ops, root = torches.pil(spec), spec["data"]
    names = sorted(path.name.removesuffix(".tfrecord") for path in Path(root).glob("*.tfrecord"))

    def decoded(features: dict[str, Any]) -> Any:
        return ops(Image.open(io.BytesIO(features["image/encoded"])).convert("RGB"))

    data = MultiTFRecordDataset(
        f"{root}/{{}}.tfrecord", f"{root}/{{}}.index", dict.fromkeys(names, 1 / len(names)),
        {"image/encoded": "byte", "image/class/label": "int"}, shuffle_queue_size=BUFFER,
        transform=decoded, infinite=False,
    )  # fmt: skip
    loader = DataLoader(
        data, spec["batch_size"], num_workers=spec["workers"], persistent_workers=True
    )
    return lambda: iter(loader)


def write(folder: str, out: str) -> None:
    Path(out).mkdir()
    found = [
        (file, label)
        for label, of_class in enumerate(sorted(Path(folder).iterdir()))
        for file in sorted(of_class.iterdir())
    ]
    for number in range(FILES):
        path = f"{out}/train-{number:05}-of-{FILES:05}.tfrecord"
        writer = TFRecordWriter(path)
        for file, label in found[number::FILES]:
            writer.write(
                {
                    "image/encoded": (file.read_bytes(), "byte"),
                    "image/class/label": (label, "int"),
                }
            )
        writer.close()
        create_index(path, f"{path.removesuffix('.tfrecord')}.index")


if __name__ == "__main__":
    write(*sys.argv[1:])
