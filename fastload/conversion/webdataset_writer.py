"""Plain WebDataset tars for other programs, in a folder that appears at once."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager

from fastload.conversion import staging, target
from fastload.conversion.options import Options
from fastload.conversion.parts import Written
from fastload.conversion.readers.base import Reader
from fastload.conversion.shards_writer import (
    Announce,
    commit_staged,
    is_intact,
    temporary,
    write_shard,
)  # fmt: skip
from fastload.conversion.writers import Catalog, Committed, Samples, Wanted
from fastload.errors import ConversionError
from fastload.files.names import readable
from fastload.sources.shard_index import BAD, SHARD_NAME

CLASSES = "classes.json"  # beside the shards, whose labels are numbers


def open_writer(where: str, reader: Reader, options: Options) -> "WebDatasetWriter":
    """Raises ConversionError for classes of one name, which the list of classes cannot have."""
    for name, count in Counter(reader.classes).most_common(1):
        if count > 1:
            raise ConversionError(
                f"{where}: {count} classes are called {name!r}; give other names with --labels"
            )
    return WebDatasetWriter(where)


class WebDatasetWriter:
    """Plain tars for other programs: no index, no seek indexes; the classes' names in a list beside
    them.
    """

    seek_step = None
    copies = 0

    def __init__(self, where: str) -> None:
        self.where = where
        self.hold = self.stage = staging.Stage(where)

    def holding(
        self, needed: int, *, overwrite: bool, resume: bool
    ) -> AbstractContextManager[target.Hold]:
        check = staging.replaceable(
            lambda name: name in (CLASSES, BAD) or bool(SHARD_NAME.fullmatch(name)),
            overwrite=overwrite,
        )
        return staging.being_staged(self.stage, needed, check, resume=resume)

    def write(self, number: int, samples: Samples, wanted: Wanted) -> Written:
        return write_shard(temporary(self.stage.into, number), samples, wanted, None)

    def intact(self, part: Written) -> bool:
        return is_intact(part)

    def commit(self, parts: Sequence[Written], catalog: Catalog, announce: Announce) -> Committed:
        full = [part for part in parts if len(part.samples)]
        names = (
            json.dumps(
                [readable(name) for name in catalog.classes], indent=0, ensure_ascii=False
            ).encode()
            + b"\n"
        )
        return commit_staged(
            self.stage,
            parts,
            [f"shard-{number:06d}.tar" for number in range(len(full))],
            {CLASSES: names},
            announce,
        )
