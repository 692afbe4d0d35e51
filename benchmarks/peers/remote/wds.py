"""WebDataset over the link: the same tars, read by curl, a buffer of 1,000 samples."""

from collections.abc import Callable, Iterator
from typing import Any

import webdataset

from benchmarks.peers import torches

BUFFER = 1000  # samples, not decoded yet


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    urls = [f"pipe:curl -s {spec['url']}/shards/{name}" for name in spec["shards"]]

    def epoch() -> Iterator[Any]:
        data = webdataset.WebDataset(urls, shardshuffle=len(urls), empty_check=False)
        data = data.shuffle(BUFFER).decode("pil").to_tuple("jpg;jpeg;png", "cls")
        data = data.map_tuple(torches.pil(spec), int).batched(spec["batch_size"])
        loader = webdataset.WebLoader(data, batch_size=None, num_workers=spec["workers"])
        return (images for images, _ in loader)

    return epoch
