"""What the fuzz targets of formats that are opened in place begin with: small data sets, with
values beside the images, in every way in which a format stores them.
"""

import io
import json
import os
import struct
import tarfile
from pathlib import Path

import numpy as np

from fastload.files import cache
from fastload.sources import parquet_scan, span_index
from tests.conftest import encoded, textured
from tests.sources import litdata_files, lmdb_files, parquet_files, tfrecord_files
from tests.sources.litdata_files import LEAF, of_dict
from tests.unit import mds_files

COUNT = 2
CODECS = tuple(parquet_scan.CODECS)


def image(number: int) -> bytes:
    """As small as a real one can be: nothing is decoded."""
    return encoded(np.full((2, 3 + number, 3), 80 * number % 256, np.uint8), "PNG")


def caption(number: int) -> bytes:
    return f"Zürich {number}".encode()


def tars(_: Path) -> list[bytes]:
    """One sample each, since headers take most of the time: in the three forms of tars, with a long
    name, with one that is not ASCII, with labels in files and in JSON; and folders of classes.
    """
    jpg, txt = ("jpg", image(0)), ("txt", caption(0))
    return [
        _tar(tarfile.USTAR_FORMAT, "a/0", [jpg, txt, ("cls", b"7")]),
        _tar(tarfile.GNU_FORMAT, "x" * 101, [jpg, txt]),
        _tar(tarfile.PAX_FORMAT, "ü", [jpg, ("json", b'{"label": 7}'), txt]),
        _tar(tarfile.USTAR_FORMAT, "a/0", [jpg, ("png", image(1))]),
    ]


def _tar(form: int, key: str, files: list[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as tar:
        for end, data in files:
            info = tarfile.TarInfo(f"{key}.{end}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        end = tar.offset
    return packed.getvalue()[: end + 2 * tarfile.BLOCKSIZE]


def mds(_: Path) -> list[bytes]:
    columns = (
        ("caption", "str", None), ("image", "jpeg", None), ("label", "int", 8),
        ("score", "float32", 4), ("facts", "json", None),
    )  # fmt: skip
    samples = [
        (caption(n), image(n), struct.pack("<q", n), struct.pack("<f", n), b"[1]")
        for n in range(COUNT)
    ]
    index = {"version": 2, "shards": [mds_files.described("x.mds", COUNT, columns)]}
    return [json.dumps(index).encode() + b"\0" + mds_files.shard(samples, columns)]


def litdata(_: Path) -> list[bytes]:
    from tests.sources.test_litdata_table import table

    spec = of_dict(image=LEAF, label=LEAF, text=LEAF, score=LEAF)
    settings = litdata_files.config(("bytes", "int", "str", "float"), spec)
    listed = [litdata_files.described("chunk-0-0.bin", COUNT)]
    index = json.dumps({"chunks": listed, "config": settings}).encode()
    items = [
        litdata_files.item((image(n), struct.pack("<q", n), caption(n), struct.pack("<d", n)))
        for n in range(COUNT)
    ]
    rows = [
        {"image": image(n), "label": n, "text": caption(n).decode(), "score": n / 2}
        for n in range(COUNT)
    ]
    return [index + b"\0" + chunk for chunk in (litdata_files.chunk(items), table(rows, 1))]


def tfrecord(_: Path) -> list[bytes]:
    """With labels that are known by their name, or only where they are named; with the image at
    the beginning, and at the end.
    """
    every = [{"caption": caption(n), "score": n / 2, "facts.json": b"[1]"} for n in range(COUNT)]
    samples = (
        [{"image": image(n), "label": n - 1, **every[n]} for n in range(COUNT)],
        [{**every[n], "width": n - 1, "image": image(n)} for n in range(COUNT)],
    )
    return [
        b"".join(tfrecord_files.record(tfrecord_files.example(one)) for one in some)
        for some in samples
    ]


def lmdb(_: Path) -> list[bytes]:
    """With a large value, which has pages of its own, and with pages of the tree below others."""
    large = encoded(textured(5, 9, 1), quality=60)
    pairs = {b"image-%d" % n: image(n) if n else large for n in range(COUNT)}
    pairs |= {b"label-%d" % n: b"%d" % n for n in range(COUNT)}
    files = {b"%d.jpg" % n: image(n) for n in range(COUNT)}
    files |= {b"%d.txt" % n: caption(n) for n in range(COUNT)}
    folders = {b"%d/%d" % (n % 2, n): image(n) for n in range(6)}
    return [lmdb_files.database(items, 512) for items in (pairs, files, folders)]


WAYS = (
    {}, {"compression": "none"}, {"data_page_version": "2.0", "use_dictionary": False},
)  # fmt: skip


def parquet(folder: Path) -> list[bytes]:
    """Packed and not, with dictionaries and without, of both versions."""
    captions = [caption(n).decode() for n in range(COUNT)]
    images = [image(n) for n in range(COUNT)]
    of = parquet_files.table(images, list(range(COUNT)), caption=captions, boxes=[[1]] * COUNT)
    path = folder / "seed.parquet"
    return [parquet_files.write(path, of, row_group_size=2, **how).read_bytes() for how in WAYS]


def chunk(folder: Path) -> list[bytes]:
    """The pages of a column of images, behind bytes for the codec, levels and number of rows."""
    import pyarrow.parquet as pq

    out = []
    for nullable in (True, False):
        of = parquet_files.table(
            [image(n % 2) for n in range(5)], list(range(5)), nullable=nullable
        )
        for how in WAYS:
            path = parquet_files.write(folder / "seed.parquet", of, row_group_size=5, **how)
            said = pq.read_metadata(path)
            leaf = parquet_scan.leaf_of(said, "image.bytes")
            column = said.row_group(0).column(leaf.number)
            start = column.dictionary_page_offset or column.data_page_offset
            data = path.read_bytes()[start : start + column.total_compressed_size]
            out.append(bytes([CODECS.index(column.compression), leaf.depth, 5]) + data)
    return out


def kept(_: Path) -> list[bytes]:
    columns = (np.array([5, 9]), np.array([4, 3]), np.array([0, 1]))
    stamp, packed = span_index.Stamp(20, 1, 1), (np.array([0, 2]), np.array([0, 70]))
    part = span_index.Part(*columns, b"a\nb", ("x", "y"), "said", "asked", stamp, *packed)
    with cache.nowhere():
        keeping = span_index.Keeping("x.index")
    keeping.add(0, "/a", part)
    keeping.add(1, "/b", part._replace(names=b"", texts=()))
    keeping.keep()
    content = os.pread(keeping.file, 1 << 16, 0)
    keeping.close()
    return [content]
