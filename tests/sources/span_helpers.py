"""One data set of JPEGs in each format whose samples are spans of files."""

import struct
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import encoded, textured
from tests.sources import parquet_files
from tests.sources.tar_helpers import put
from tests.unit.mds_files import described, shard, write

COUNT, EACH = 20, 5
FORMS = ("tars", "pattern", "tar", "mds", "parquet")
FOLDERS = ("tars", "mds")


def images(first: int = 0) -> list[bytes]:
    """COUNT JPEGs of as many sizes, none square."""
    return [
        encoded(textured(40 + n, 61 - n % 7, first + n), quality=90, subsampling=n % 3)
        for n in range(COUNT)
    ]


def lay(root: Path, form: str, data: Sequence[bytes]) -> str:
    """The images in files of this form below `root`, where others may lie; what opens them."""
    root.mkdir(exist_ok=True)
    step = len(data) if form == "tar" else EACH
    parts = [range(first, min(first + step, len(data))) for first in range(0, len(data), step)]
    if form == "mds":
        shards = {
            f"{number}.mds": shard([(b"", data[n], struct.pack("<q", n % 3)) for n in part])
            for number, part in enumerate(parts)
        }
        listed = [described(f"{number}.mds", len(part)) for number, part in enumerate(parts)]
        return str(write(root, shards, listed))
    if form == "parquet":
        for number, part in enumerate(parts):
            some = parquet_files.table([data[n] for n in part], [n % 3 for n in part])
            parquet_files.write(root / f"{number}.parquet", some, row_group_size=3)
        return str(root)
    for number, part in enumerate(parts):
        members = [
            member
            for n in part
            for member in ((f"{n:05d}.jpg", data[n]), (f"{n:05d}.cls", str(n % 3).encode()))
        ]
        put(root / f"{number}.tar", members, tarfile.GNU_FORMAT)
    ends = {"pattern": f"/{{0..{len(parts) - 1}}}.tar", "tar": "/0.tar"}
    return str(root) + ends.get(form, "")
