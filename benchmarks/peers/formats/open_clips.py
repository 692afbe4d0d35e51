"""open_clip's data module on tars of captions: its function for WebDataset, as its training calls
it, with torchvision's crop and flip in place of its transform.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import open_clip
from open_clip_train.data import get_wds_dataset

from benchmarks.peers import torches


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    tars = sorted(map(str, Path(spec["data"]).glob("*.tar")))
    arguments = SimpleNamespace(
        train_data="::".join(tars), train_num_samples=spec["images"], dataset_resampled=False,
        train_data_upsampling_factors=None, seed=0, batch_size=spec["batch_size"], world_size=1,
        workers=spec["workers"],
    )  # fmt: skip
    tokenizer = open_clip.get_tokenizer("ViT-B-32")
    info = get_wds_dataset(
        arguments, torches.pil(spec), is_train=True, floor=True, tokenizer=tokenizer
    )
    return lambda: (images for images, _ in info.dataloader)
