"""MosaicML Streaming on local shards, the default shuffle (py1e).

`python -m benchmarks.peers.formats.streaming FOLDER OUT` writes them.
"""

import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

from PIL import Image
from torch.utils.data import DataLoader

from benchmarks.peers import torches
from benchmarks.peers.remote.streaming import write


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    from streaming import StreamingDataset

    class Images(StreamingDataset):  # type: ignore[misc]
        """Decoded and augmented as torchvision does."""

        ops = torches.pil(spec)

        def __getitem__(self, index: int) -> Any:
            sample = super().__getitem__(index)
            return self.ops(Image.open(io.BytesIO(sample["image"])).convert("RGB"))

    data = Images(local=spec["data"], shuffle=True, batch_size=spec["batch_size"])
    loader = DataLoader(
        data, spec["batch_size"], num_workers=spec["workers"], persistent_workers=True
    )
    return lambda: iter(loader)


if __name__ == "__main__":
    write(*sys.argv[1:])
