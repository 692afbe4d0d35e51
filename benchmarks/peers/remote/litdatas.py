"""LitData: chunks of 64 MiB, shuffled, an empty cache."""

import io
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.peers import torches

CHUNK = 64 << 20  # bytes


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    import litdata
    from litdata.streaming import downloader

    # Else its obstore refuses a store without TLS, whatever the environment says
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = "true"

    class Images(litdata.StreamingDataset):  # type: ignore[misc]
        """Decoded and augmented as torchvision does."""

        ops = torches.pil(spec)

        def __getitem__(self, index: Any) -> Any:
            raw, _ = super().__getitem__(index)
            return self.ops(Image.open(io.BytesIO(raw)).convert("RGB"))

    epochs = itertools.count()

    def epoch() -> Iterator[Any]:
        data = Images(
            "s3://lit", shuffle=True, cache_dir=f"{spec['scratch']}/{next(epochs)}",
            storage_options={"endpoint_url": os.environ["AWS_ENDPOINT_URL"]},
        )  # fmt: skip
        return iter(
            litdata.StreamingDataLoader(
                data, batch_size=spec["batch_size"], num_workers=spec["workers"]
            )
        )

    return epoch


def sample(given: tuple[str, int]) -> tuple[bytes, int]:
    return Path(given[0]).read_bytes(), given[1]


def write(folder: str, out: str) -> None:
    import litdata

    found = [
        (str(file), label)
        for label, of_class in enumerate(sorted(Path(folder).iterdir()))
        for file in sorted(of_class.iterdir())
    ]
    litdata.optimize(sample, found, out, chunk_bytes=CHUNK, num_workers=1, start_method="fork")


if __name__ == "__main__":
    write(*sys.argv[1:])
