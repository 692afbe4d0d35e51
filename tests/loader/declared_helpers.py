"""Data sets of every format with a vector, a number and a path of classes beside their images."""

import io
import json
import tarfile

import numpy as np
import pytest

from fastload.conversion import job
from tests.beton.layout import Writer
from tests.conftest import encoded, textured
from tests.sources import litdata_files, lmdb_files, tfrecord_files
from tests.sources.litdata_files import LEAF, of_dict
from tests.sources.tar_helpers import put
from tests.unit import mds_files

COUNT = 9


def image(number):
    return encoded(textured(40 + number, 60, number))


def vector(number):
    return np.arange(3, dtype=np.float32) / 8 + number


def path(number):
    return [number % 2, number, 100 + number]


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def members(numbers=range(COUNT), bad=()):
    """bad: whose vectors are cut off."""
    for n in numbers:
        yield f"{n:03}.jpg", image(n)
        yield f"{n:03}.cls", str(n % 4).encode()
        yield f"{n:03}.vec.npy", npy(vector(n))[: 20 if n in bad else None]
        yield f"{n:03}.raw", vector(n).tobytes()
        yield f"{n:03}.path.json", json.dumps(path(n)).encode()
        yield f"{n:03}.score.txt", f"{n / 4}\n".encode()
        yield f"{n:03}.control.png", b"png %d" % n


def tars(root, **named):
    root.mkdir()
    put(root / "0.tar", members(**named), tarfile.GNU_FORMAT)
    return str(root)


def shards(root, **named):
    where = tars(root, **named)
    job.run(job.prepare(where, f"{root}-shards", job.Options()))
    return f"{root}-shards"


def mds(root):
    columns = (
        ("jpg", "bytes", None), ("vec", "ndarray:float32:3", 12), ("own", "ndarray", None),
        ("half", "ndarray:float32", None), ("path", "json", None), ("score", "float64", 8),
        ("digits", "str_float", None),
    )  # fmt: skip
    samples = [
        (
            image(n), vector(n).tobytes(), bytes([34, 4, 3]) + vector(n).tobytes(),
            bytes([4, 3]) + vector(n).tobytes(), json.dumps(path(n)).encode(),
            np.float64(n / 4).tobytes(), str(n / 4).encode(),
        )
        for n in range(COUNT)
    ]  # fmt: skip
    listed = [mds_files.described("0.mds", COUNT, columns)]
    return str(mds_files.write(root, {"0.mds": mds_files.shard(samples, columns)}, listed))


def litdata(root):
    types = ("jpeg", "no_header_tensor:0", "numpy", "no_header_numpy:3", "float")
    names = of_dict(image=LEAF, vec=LEAF, own=LEAF, path=LEAF, score=LEAF)
    items = [
        litdata_files.item(
            (
                image(n), vector(n).tobytes(), np.array([9, 1, 3], "<u4").tobytes()
                + vector(n).tobytes(), np.array(path(n), "<i8").tobytes(),
                np.float64(n / 4).tobytes(),
            )
        )
        for n in range(COUNT)
    ]  # fmt: skip
    chunks, listed = (
        {"chunk-0-0.bin": litdata_files.chunk(items)},
        [litdata_files.described("chunk-0-0.bin", COUNT)],
    )
    return str(litdata_files.write(root, chunks, listed, litdata_files.config(types, names)))


def tfrecord(root):
    examples = [
        tfrecord_files.example(
            {
                "image": image(n), "vec": vector(n).tolist(), "path": path(n), "score": n / 4,
                "npy": npy(vector(n)),
            }
        )
        for n in range(COUNT)
    ]  # fmt: skip
    tfrecord_files.write(root / "x-00000-of-00001", examples)
    return str(root)


def lmdb(root):
    items = {b"%03d.jpg" % n: image(n) for n in range(COUNT)}
    items |= {b"%03d.vec" % n: vector(n).tobytes() for n in range(COUNT)}
    items |= {b"%03d.json" % n: json.dumps(path(n)).encode() for n in range(COUNT)}
    return str(lmdb_files.write(root, items))


def parquet(root):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from tests.sources import parquet_files

    numbers = range(COUNT)
    columns = {
        "vec": pa.array([vector(n).tolist() for n in numbers], pa.list_(pa.float32())),
        "fixed": pa.array([vector(n).tolist() for n in numbers], pa.list_(pa.float32(), 3)),
        "deep": pa.array([[path(n)] for n in numbers], pa.list_(pa.list_(pa.int64()))),
        "gaps": pa.array([[n, None] for n in numbers], pa.list_(pa.int64())),
        "path": pa.array([path(n) for n in numbers], pa.large_list(pa.int32())),
        "score": pa.array([n / 4 for n in numbers]),
    }
    made = parquet_files.table([image(n) for n in numbers], [n % 4 for n in numbers], **columns)
    return str(parquet_files.write(root / "0.parquet", made, row_group_size=4))


def beton(root):
    fields = [
        ("image", "image"), ("label", "int"), ("vec", "array", "float32", (3,)),
        ("path", "json"), ("score", "float"), ("note", "bytes"), ("second", "image"),
    ]  # fmt: skip
    rows = []
    for n in range(COUNT):
        jpeg = ("jpg", image(n), 40 + n, 60)
        rows.append([jpeg, n % 4, vector(n), path(n), n / 4, b"note %d" % n, jpeg])
    root.mkdir()
    (root / "0.beton").write_bytes(Writer(fields, rows).bytes())
    return str(root / "0.beton")


VEC, PATH, SCORE = "float32[3]", "int64[3]", "float"
# Of each format: who makes it, and what its names are declared as
FORMATS = {
    "tars": (tars, {"vec.npy": VEC, "raw": VEC, "path.json": PATH, "score.txt": SCORE}),
    "shards": (shards, {"vec.npy": VEC, "raw": VEC, "path.json": PATH, "score.txt": SCORE}),
    "mds": (
        mds,
        {"vec": VEC, "own": VEC, "half": VEC, "path": PATH, "score": SCORE, "digits": SCORE},
    ),
    "litdata": (litdata, {"vec": VEC, "own": VEC, "path": PATH, "score": SCORE}),
    "tfrecord": (tfrecord, {"vec": VEC, "path": PATH, "score": SCORE, "npy": VEC}),
    "lmdb": (lmdb, {"vec": VEC, "json": PATH}),
    "parquet": (parquet, {"vec": VEC, "fixed": VEC, "path": PATH, "score": SCORE}),
    "beton": (beton, {"vec": VEC, "path": PATH, "score": SCORE}),
}
MEANS = {VEC: vector, PATH: path, SCORE: lambda n: n / 4}
