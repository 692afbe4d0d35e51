"""Writes the toy format: a file with the images of each part, then the index."""

import json
from collections.abc import Iterator, Sequence

from fastload.extending import Catalog, Item, NewFiles, Options, Reader, StagedWriter, Written
from toy.layout import INDEX


class ToyWriter(StagedWriter):
    """`write_part` runs in several threads; each part has its own name and its own list."""

    def __init__(self, where: str) -> None:
        super().__init__(where)

    def write_part(self, files: NewFiles, number: int, samples: Iterator[Item]) -> None:
        data = b"".join(item.data for item in samples)
        if data:
            files.write(f"images-{number}.bin", data)

    def finish(self, files: NewFiles, catalog: Catalog, parts: Sequence[Written]) -> None:
        names, rows = list[str](), list[tuple[str, int, int, int, int]]()
        for number, part in enumerate(parts):
            offset = 0
            for sample, size in zip(part.samples.tolist(), part.size.tolist(), strict=True):
                label = int(catalog.labels[sample])
                rows.append((catalog.keys[sample], label, len(names), offset, size))
                offset += size
            if offset:
                names.append(f"images-{number}.bin")
        index = {"classes": list(catalog.classes), "files": names, "samples": rows}
        files.write(INDEX, json.dumps(index).encode())

    def belongs(self, name: str) -> bool:
        return name == INDEX or (name.startswith("images-") and name.endswith(".bin"))


def open_writer(where: str, reader: Reader, options: Options) -> ToyWriter:
    """The writer of the folder `where`."""
    return ToyWriter(where)
