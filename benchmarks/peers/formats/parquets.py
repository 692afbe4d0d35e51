"""Hugging Face `datasets` on local Parquet: its Arrow cache, a transform, and PyTorch's DataLoader.

`python -m benchmarks.peers.formats.parquets FOLDER OUT` writes the files.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers import torches

FILES = 4


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    import datasets

    ops = torches.pil(spec)
    data = datasets.load_dataset(
        "parquet", data_files={"train": os.path.join(spec["data"], "data", "*.parquet")},
        split="train", cache_dir=os.path.join(spec["data"], ".cache"),
    )  # fmt: skip

    def taken(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {"pixels": [ops(image.convert("RGB")) for image in rows["image"]]}

    def collate(samples: list[dict[str, Any]]) -> torch.Tensor:
        return torch.stack([sample["pixels"] for sample in samples])

    loader = torch.utils.data.DataLoader(
        data.with_transform(taken), spec["batch_size"], shuffle=True, collate_fn=collate,
        num_workers=spec["workers"], persistent_workers=True,
    )  # fmt: skip
    return lambda: iter(loader)


def write(folder: str, out: str) -> None:
    """By `datasets`, as the Hub has it: classes by the names of their folders."""
    import datasets

    classes = sorted(os.listdir(folder))
    paths = [
        (path, label)
        for label, name in enumerate(classes)
        for path in sorted(Path(folder, name).iterdir())
    ]
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=classes)}
    )
    os.makedirs(os.path.join(out, "data"))
    for number in range(FILES):
        part = paths[number::FILES]
        images = [{"bytes": path.read_bytes(), "path": path.name} for path, _ in part]
        columns = {"image": images, "label": [label for _, label in part]}
        whole = datasets.Dataset.from_dict(columns, features=features)
        packed = io.BytesIO()
        whole.to_parquet(packed)
        name = f"train-{number:05}-of-{FILES:05}.parquet"
        Path(out, "data", name).write_bytes(packed.getvalue())


if __name__ == "__main__":
    write(*sys.argv[1:])
