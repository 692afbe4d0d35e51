"""fastload on a data set of another library's, where it lies."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

import fastload
from benchmarks.peers import torches


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    captions = spec["peer"] == "fastload_captions"
    data = fastload.open(spec["data"], torches.pil(spec), target="txt" if captions else None)
    loader = fastload.DataLoader(
        data, spec["batch_size"], shuffle=True, seed=0, num_workers=spec["workers"],
        backend="native",
    )  # fmt: skip
    if not captions:
        return lambda: (images for images, _ in loader)
    import open_clip  # in the environment of the loader that is compared

    tokenizer = open_clip.get_tokenizer("ViT-B-32")

    def epoch() -> Iterator[torch.Tensor]:
        for images, texts in loader:
            assert len(tokenizer(texts)) == len(images)
            yield images

    return epoch
