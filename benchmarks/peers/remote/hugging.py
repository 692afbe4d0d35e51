"""Hugging Face `datasets`, streaming: the same tars by its "webdataset" builder, a buffer of 1,000
samples.
"""

import io
from collections.abc import Callable, Iterator
from typing import Any

import datasets
import torch
from PIL import Image

from benchmarks.peers import torches

BUFFER = 1000  # samples


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    urls = [f"{spec['url']}/shards/{name}" for name in spec["shards"]]
    ops = torches.pil(spec)

    def taken(sample: dict[str, Any]) -> torch.Tensor:
        raw = next(sample[name] for name in ("jpg", "jpeg", "png") if sample.get(name))
        image = raw if isinstance(raw, Image.Image) else Image.open(io.BytesIO(raw["bytes"]))
        pixels: torch.Tensor = ops(image.convert("RGB"))
        return pixels

    def collate(samples: list[dict[str, Any]]) -> torch.Tensor:
        return torch.stack([taken(sample) for sample in samples])

    def epoch() -> Iterator[Any]:
        data = datasets.load_dataset(
            "webdataset", data_files={"train": urls}, split="train", streaming=True
        ).shuffle(seed=0, buffer_size=BUFFER)
        return iter(
            torch.utils.data.DataLoader(
                data, spec["batch_size"], num_workers=spec["workers"], collate_fn=collate
            )
        )

    return epoch
