"""A writer of MDS shards after the format, for tests."""

import json
import struct
from pathlib import Path

import numpy as np

COLUMNS = (("caption", "str", None), ("image", "jpeg", None), ("label", "int", 8))


def shard(samples, columns=COLUMNS):
    """The bytes of one: samples are tuples of the columns' bytes."""
    bodies = []
    for sample in samples:
        sizes = [
            len(value) for value, (_, _, size) in zip(sample, columns, strict=True) if size is None
        ]
        bodies.append(struct.pack(f"<{len(sizes)}I", *sizes) + b"".join(sample))
    about = json.dumps({"column_names": [name for name, _, _ in columns]}).encode()
    begin = 4 * (len(samples) + 2) + len(about)
    begins = np.cumsum([begin, *map(len, bodies)]).astype("<u4")
    return struct.pack("<I", len(samples)) + begins.tobytes() + about + b"".join(bodies)


def described(name, samples, columns=COLUMNS, **changed):
    return {
        "column_names": [name for name, _, _ in columns],
        "column_encodings": [encoding for _, encoding, _ in columns],
        "column_sizes": [size for _, _, size in columns],
        "compression": None, "format": "mds", "hashes": [], "version": 2, "zip_data": None,
        "raw_data": {"basename": name, "bytes": 0, "hashes": {}}, "samples": samples, **changed,
    }  # fmt: skip


def write(folder: Path, shards: dict[str, bytes], listed: list[object]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, data in shards.items():
        (folder / name).write_bytes(data)
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": listed}))
    return folder
