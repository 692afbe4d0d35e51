"""What conversions left out of a data set, in the list that lies beside its index."""

import json
import os
from collections.abc import Sequence

from fastload.conversion.parts import Bad, bad_lines
from fastload.files.names import readable
from fastload.sources.shard_index import BAD
from fastload.system import limits


def read(where: str) -> list[Bad]:
    """What the data set in a folder says; nothing where that cannot be read."""
    try:
        with open(os.path.join(where, BAD), "rb") as file:
            return parse(limits.small(file, limits.BAD_LIST))
    except (OSError, ValueError):
        return []


def parse(text: bytes) -> list[Bad]:
    """What such a file says; nothing where it is damaged."""
    try:
        rows = [json.loads(line) for line in text.splitlines()]
        return [Bad(int(row["sample"]), str(row["name"]), str(row["reason"])) for row in rows]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []


def joined(before: Sequence[Bad], bad: Sequence[Bad]) -> bytes:
    """The file that lists both, the new ones in the place of what was said of the same names."""
    names = {readable(row.name) for row in bad}
    return bad_lines([*(row for row in before if row.name not in names), *bad])
