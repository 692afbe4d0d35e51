"""Data sets with values beside their images and without labels, in the formats that are opened in
place.
"""

import json

import numpy as np
import pytest

from tests.conftest import encoded, textured
from tests.sources import litdata_files, lmdb_files, tfrecord_files
from tests.sources.litdata_files import LEAF, of_dict

COUNT = 9
NUMBERS = [0, 1, -1, 127, 128, 300, -(1 << 63), (1 << 63) - 1, -5]


def image(number):
    return encoded(textured(40 + number, 60, number))


def caption(number):
    """One is empty, some are not ASCII."""
    return f"{ {0: 'Zürich', 1: '猫'}.get(number % 3, '') } no. {number}" if number != 4 else ""


def facts(number):
    return {"tags": ["x"] * (number % 3)}


def litdata(root, numbers=range(COUNT)):
    rows = [
        (
            image(n), caption(n).encode(), np.int64(NUMBERS[n]).tobytes(),
            np.float64(n / 4).tobytes(), bytes([n]) * n, b"x",
        )
        for n in numbers
    ]  # fmt: skip
    spec = of_dict(image=LEAF, text=LEAF, number=LEAF, score=LEAF, raw=LEAF, other=LEAF)
    types = ("jpeg", "str", "int", "float", "bytes", "pickle")
    return str(lit_written(root, [litdata_files.item(row) for row in rows], types, spec))


def lit_written(root, items, types, spec):
    chunks = {f"chunk-0-{n}.bin": items[4 * n : 4 * n + 4] for n in range(-(-len(items) // 4))}
    return litdata_files.write(
        root,
        {name: litdata_files.chunk(part) for name, part in chunks.items()},
        [litdata_files.described(name, len(part)) for name, part in chunks.items()],
        litdata_files.config(types, spec),
    )


def lit_table(root):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from tests.sources.test_litdata_table import table

    rows = [
        {
            "text": caption(n), "image": image(n), "number": NUMBERS[n], "score": n / 4,
            "raw": bytes([n]) * n, "other": [n],
        }
        for n in range(COUNT)
    ]  # fmt: skip
    spec = of_dict(text=LEAF, image=LEAF, number=LEAF, score=LEAF, raw=LEAF, other=LEAF)
    types = ("str", "bytes", "int", "float", "bytes", "json")
    chunks = {"chunk-0-0.bin": table(rows, 4)}
    listed = [litdata_files.described("chunk-0-0.bin", COUNT)]
    return str(litdata_files.write(root, chunks, listed, litdata_files.config(types, spec)))


def features(n, **changed):
    return {
        "image/encoded": image(n), "image/caption": caption(n).encode(), "number": NUMBERS[n],
        "meta.json": json.dumps(facts(n)).encode(), "score": n / 4, "raw": bytes([n]) * n,
        "many": [1, 2],
    } | changed  # fmt: skip


def tfrecord(root, make=features):
    for part, numbers in enumerate((range(4), (), range(4, COUNT))):
        examples = [tfrecord_files.example(make(n)) for n in numbers]
        tfrecord_files.write(root / f"x-{part:05}-of-00003", examples)
    return str(root)


def lmdb(root, image_key=b"image-%03d", key=b"%s-%03d", swapped=False):
    items = {}
    for n in range(COUNT):
        items[image_key % n] = image(n)
        for name, value in (
            (b"txt", caption(n).encode()), (b"json", json.dumps(facts(n)).encode()),
            (b"raw", bytes([n]) * n),
        ):  # fmt: skip
            items[key % ((n, name) if swapped else (name, n))] = value
    return str(lmdb_files.write(root, items | {b"num-samples": b"9"}))


def lmdb_by_suffix(root):
    return lmdb(root, b"%03d.jpg", b"%03d.%s", swapped=True)


FORMS = {
    "litdata": (litdata, {"text": "text", "number": "number", "score": "score", "raw": "raw"}),
    "table": (lit_table, {"text": "text", "number": "number", "score": "score", "raw": "raw"}),
    "tfrecord": (
        tfrecord,
        {
            "image/caption": "text", "number": "number", "meta.json": "json", "score": "score",
            "raw": "raw",
        },
    ),
    "pairs": (lmdb, {"txt": "text", "json": "json", "raw": "raw"}),
    "suffixes": (lmdb_by_suffix, {"txt": "text", "json": "json", "raw": "raw"}),
}  # fmt: skip
WANT = {
    "text": caption, "json": facts, "score": lambda n: n / 4, "raw": lambda n: bytes([n]) * n,
    "number": NUMBERS.__getitem__,
}  # fmt: skip
