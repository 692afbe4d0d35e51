"""PyTorch's DataLoader over single JPEGs in S3, each read by s3fs; a part of them."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import torch
from PIL import Image

from benchmarks.peers import torches


class Images(torch.utils.data.Dataset[torch.Tensor]):
    """Objects of a bucket."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.keys, self.ops, self.files = spec["keys"], torches.pil(spec), None

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int) -> torch.Tensor:
        import s3fs

        self.files = self.files or s3fs.S3FileSystem()  # each worker its own
        raw = self.files.cat_file(f"images/{self.keys[index]}")
        pixels: torch.Tensor = self.ops(Image.open(io.BytesIO(raw)).convert("RGB"))
        return pixels


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    import s3fs  # noqa: F401  missing: its row says so

    return lambda: iter(
        torch.utils.data.DataLoader(
            Images(spec), spec["batch_size"], shuffle=True, num_workers=spec["workers"],
        )
    )  # fmt: skip
