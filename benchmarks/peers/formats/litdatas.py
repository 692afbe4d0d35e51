"""LitData on local chunks, shuffled.

`python -m benchmarks.peers.formats.litdatas FOLDER OUT` writes them.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.peers.remote.litdatas import images, write


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    from litdata import StreamingDataLoader

    loader = StreamingDataLoader(
        images(spec, spec["data"]), batch_size=spec["batch_size"], num_workers=spec["workers"],
        persistent_workers=True,
    )  # fmt: skip
    return lambda: iter(loader)


if __name__ == "__main__":
    write(*sys.argv[1:])
