"""LitData on local chunks, shuffled.

`python -m benchmarks.peers.formats.litdatas FOLDER OUT` writes them.
"""

import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

from PIL import Image

from benchmarks.peers import torches
from benchmarks.peers.remote.litdatas import write


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    import litdata

    class Images(litdata.StreamingDataset):  # type: ignore[misc]
        """Decoded and augmented as torchvision does."""

        ops = torches.pil(spec)

        def __getitem__(self, index: Any) -> Any:
            raw, _ = super().__getitem__(index)
            return self.ops(Image.open(io.BytesIO(raw)).convert("RGB"))

    data = Images(spec["data"], shuffle=True)
    loader = litdata.StreamingDataLoader(
        data, batch_size=spec["batch_size"], num_workers=spec["workers"], persistent_workers=True
    )
    return lambda: iter(loader)


if __name__ == "__main__":
    write(*sys.argv[1:])
