"""Parquet files of images in all the ways in which they are written, and Snappy data of our own."""

import json
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from tests.sources.format_helpers import COUNT, image, label

NUMBERS = range(COUNT)


def struct(values, nullable=True):
    """As Hugging Face's `datasets` has images."""
    kind = pa.struct([pa.field("bytes", pa.binary(), nullable), pa.field("path", pa.string())])
    rows = [None if one is None else {"bytes": one, "path": "x.jpg"} for one in values]
    return pa.array(rows, kind)


def features(names):
    """What `datasets` says of them."""
    said = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": names}}
    return {b"huggingface": json.dumps({"info": {"features": said}}).encode()}


def table(images=None, labels=None, nested=True, nullable=True, names=None, **more):
    images = [image(number) for number in NUMBERS] if images is None else images
    labels = [label(number) for number in NUMBERS] if labels is None else labels
    column = struct(images, nullable) if nested else pa.array(images, pa.binary())
    columns = {"image": column, "label": pa.array(labels), **more}
    fields = [
        pa.field(name, pa.array(one).type if isinstance(one, list) else one.type, nullable)
        for name, one in columns.items()
    ]
    schema = pa.schema(fields, features(names) if names else None)
    return pa.table(list(columns.values()), schema=schema)


def write(path, of=None, **how):
    """pyarrow packs with Snappy and makes dictionaries, where `how` says nothing else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table() if of is None else of, path, **{"row_group_size": 10, **how})
    return path


def packed(data, random, farthest=1 << 16, copies=0.7):
    """Snappy's raw format with elements of all kinds, drawn: its own compressor has few."""
    out, at = bytearray(_varint(len(data))), 0
    while at < len(data):
        back = random.randint(1, min(at, farthest)) if at else 0
        length = _match(data, at, back) if back and random.random() < copies else 0
        if length == 0:
            length = min(len(data) - at, random.choice((1, 7, 60, 61, 300, 70_000)))
            out += _literal(length, random) + data[at : at + length]
        else:
            out += _copy(length, back, random)
        at += length
    return bytes(out)


def _match(data, at, back):
    length = 0
    while length < 64 and at + length < len(data) and data[at + length] == data[at + length - back]:
        length += 1
    return length


def _literal(length, random):
    if length <= 60 and random.random() < 0.5:
        return bytes([length - 1 << 2])
    least = next(size for size in range(1, 5) if length - 1 < 1 << 8 * size)
    size = random.randint(least, 4)
    return bytes([59 + size << 2]) + (length - 1).to_bytes(size, "little")


def _copy(length, back, random):
    if 4 <= length < 12 and back < 2048 and random.random() < 0.7:
        return bytes([1 | length - 4 << 2 | back >> 8 << 5, back & 0xFF])
    if back < 1 << 16 and random.random() < 0.8:
        return bytes([2 | length - 1 << 2]) + back.to_bytes(2, "little")
    return bytes([3 | length - 1 << 2]) + back.to_bytes(4, "little")


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def plain(values):
    """A page's values."""
    return b"".join(len(one).to_bytes(4, "little") + one for one in values)


def random_values(seed):
    """Values with much in common, near and far from each other."""
    random = Random(seed)
    parts = [random.randbytes(random.choice((1, 3, 40, 700))) for _ in range(6)]
    return [
        b"".join(random.choices(parts, k=random.randint(0, 200)))
        for _ in range(random.randint(1, 9))
    ]
