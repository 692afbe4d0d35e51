"""A writer of LitData's chunks after the format, for tests."""

import json
from pathlib import Path

import numpy as np

LEAF = {"type": None, "context": None, "children_spec": []}


def of_tuple(*children):
    return {"type": "builtins.tuple", "context": "null", "children_spec": list(children)}


def of_dict(**children):
    keys = json.dumps(list(children))
    return {"type": "builtins.dict", "context": keys, "children_spec": list(children.values())}


def item(leaves):
    """A sample: tuples of the leaves' bytes."""
    return np.array([len(leaf) for leaf in leaves], "<u4").tobytes() + b"".join(leaves)


def chunk(items, behind=b""):
    """The bytes of one."""
    begins = np.cumsum([4 * (len(items) + 2), *map(len, items)]).astype("<u4")
    return np.uint32(len(items)).tobytes() + begins.tobytes() + b"".join(items) + behind


def config(types=("bytes", "int"), spec=None, **changed):
    spec = spec or of_tuple(*[LEAF] * len(types))
    return {
        "compression": None, "encryption": None, "chunk_bytes": 1 << 20, "chunk_size": None,
        "data_format": list(types), "data_spec": json.dumps([1, spec]),
        "item_loader": "PyTreeLoader", **changed,
    }  # fmt: skip


def described(name, samples, **changed):
    return {"chunk_bytes": 7, "chunk_size": samples, "dim": None, "filename": name, **changed}


def write(folder: Path, chunks: dict[str, bytes], listed, settings=None) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    for name, data in chunks.items():
        (folder / name).write_bytes(data)
    index = {"chunks": listed, "config": settings or config(), "updated_at": "1.0"}
    (folder / "index.json").write_text(json.dumps(index))
    return folder
