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


def images(spec: dict[str, Any], where: str, **options: Any) -> Any:
    """A data set of LitData's, decoded and augmented as torchvision does, with its own options."""
    import litdata

    class Images(litdata.StreamingDataset):  # type: ignore[misc]
        """Of chunks."""

        ops = torches.pil(spec)

        def __getitem__(self, index: Any) -> Any:
            raw, _ = super().__getitem__(index)
            return self.ops(Image.open(io.BytesIO(raw)).convert("RGB"))

    return Images(where, shuffle=True, **options)


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    from litdata import StreamingDataLoader
    from litdata.streaming import downloader

    # Else its obstore refuses a store without TLS, whatever the environment says
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = "true"
    epochs = itertools.count()

    def epoch() -> Iterator[Any]:
        data = images(
            spec, "s3://lit", cache_dir=f"{spec['scratch']}/{next(epochs)}",
            storage_options={"endpoint_url": os.environ["AWS_ENDPOINT_URL"]},
        )  # fmt: skip
        size, workers = spec["batch_size"], spec["workers"]
        return iter(StreamingDataLoader(data, batch_size=size, num_workers=workers))

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
