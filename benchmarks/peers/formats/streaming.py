"""MosaicML Streaming on local shards, the default shuffle (py1e).

`python -m benchmarks.peers.formats.streaming FOLDER OUT` writes them.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import DataLoader

from benchmarks.peers.remote.streaming import images, write


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    loader = DataLoader(
        images(spec, local=spec["data"]), spec["batch_size"], num_workers=spec["workers"],
        persistent_workers=True,
    )  # fmt: skip
    return lambda: iter(loader)


if __name__ == "__main__":
    write(*sys.argv[1:])
