"""fastload: on the local disk, and over the link with caches of several sizes; and the link alone,
by obstore's plain reads.
"""

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

import fastload
from fastload import transforms as T
from fastload.remote.stores import Store
from fastload.remote.urls import parse

ALL = 1 << 40  # bytes of a cache that holds everything
AT_ONCE, PIECE = 16, 1 << 20  # plain reads: at once, bytes


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    if spec["peer"] == "link":
        return lambda: _link(spec)
    epochs = itertools.count()
    # A data set that is opened once keeps its cache; "first" begins each epoch with an empty one
    kept = None if spec["peer"] == "first" else _opened(spec, f"{spec['scratch']}/kept")

    def epoch() -> Iterator[Any]:
        number = next(epochs)
        loader = fastload.DataLoader(
            kept or _opened(spec, f"{spec['scratch']}/{number}"), spec["batch_size"], shuffle=True,
            seed=0, num_workers=spec["workers"], backend="native",
        )  # fmt: skip
        loader.set_epoch(number)
        return (images for images, _ in loader)

    return epoch


def _opened(spec: dict[str, Any], cache: str) -> Any:
    size = spec["size"]
    ops: list[Any] = [T.RandomResizedCrop((size, size)), T.RandomHorizontalFlip()]
    ops += [T.RandAugment()] * spec["augment"] + [T.ToImage()]
    if spec["peer"] == "local":
        return fastload.open(spec["local"], ops)
    limit = spec["bytes"] // 10 if spec["peer"] in ("tenth", "tars") else ALL
    tars = f"/{{{','.join(spec['shards'])}}}" if spec["peer"] == "tars" else ""
    return fastload.open(f"{spec['url']}/shards{tars}", ops, cache=cache, cache_bytes=limit)


def _link(spec: dict[str, Any]) -> Iterator[Any]:
    """All shards' bytes; as batches of as many images as they hold, so that rates compare."""
    store = Store(parse(f"{spec['url']}/shards"))
    files = [(file.name, file.stat().st_size) for file in Path(spec["local"]).glob("*.tar")]
    spans = [
        (name, (at, min(at + PIECE, size))) for name, size in files for at in range(0, size, PIECE)
    ]
    given, came, total = 0, 0, sum(size for _, size in files)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        asked = [threads.submit(store.get, *span) for span in spans]
        for done in as_completed(asked):
            size = len(done.result().data)
            came += size
            upto = spec["images"] * came // total
            # Shaped as a batch, without its memory
            yield np.broadcast_to(np.uint8(0), (upto - given, spec["size"], spec["size"], 3))
            given = upto
