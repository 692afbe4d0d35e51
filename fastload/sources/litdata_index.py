"""The index of LitData's chunks, index.json: the chunks, and the types of a sample's leaves.

It may come from anywhere: everything is checked before it is used.
"""

import json
import os
from reprlib import repr as short
from typing import Any, NamedTuple

from fastload.errors import SourceError
from fastload.files.names import problem, whole_problem
from fastload.sources.span_files import json_of

INDEX, LOADER = "index.json", "PyTreeLoader"
MOST_LEAVES, DEEPEST = 1 << 10, 16
REMEDY = "write the data set again"
PLAIN = "write it with optimize(…, compression=None) and without encryption"


class Leaf(NamedTuple):
    """A value of each sample."""

    name: str  # keys and positions, as "image" or "0" or "meta.label"
    type: str

    @property
    def kind(self) -> str:
        """Of "image:jpg" counts what is before the colon."""
        return self.type.split(":")[0]


class Chunk(NamedTuple):
    """A chunk as the index has it."""

    path: str
    samples: int


def read(where: str) -> tuple[list[Leaf], list[Chunk]]:
    """The leaves of each sample, and the chunks that have samples. Raises SourceError."""
    index = json_of(os.path.join(where, INDEX), REMEDY, "LitData's chunks want it beside them")
    return described(where, index)


def described(where: str, index: Any) -> tuple[list[Leaf], list[Chunk]]:
    """The same of the JSON in an index. Raises SourceError."""
    path = os.path.join(where, INDEX)
    try:
        leaves = _leaves(path, index["config"])
        chunks = [_chunk(where, one) for one in index["chunks"]]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{path}: is not as LitData writes it ({type(error).__name__}: {error}); {REMEDY}"
        ) from error
    chunks = [chunk for chunk in chunks if chunk.samples]
    if not chunks:
        raise SourceError(f"{path}: lists no samples; {REMEDY}")
    return leaves, chunks


def _leaves(path: str, config: Any) -> list[Leaf]:
    """Raises SourceError; KeyError, TypeError and ValueError for what is described otherwise."""
    for what in ("compression", "encryption"):
        if config.get(what):
            raise SourceError(
                f"{path}: the chunks have {what} ({short(config[what])}), want plain ones; {PLAIN}"
            )
    loader = config.get("item_loader", LOADER)
    if loader != LOADER:
        raise SourceError(
            f"{path}: the chunks are for {short(loader)}, want {LOADER}; write them with optimize "
            "and no item_loader"
        )
    types = config["data_format"]
    if not isinstance(types, list) or not 0 < len(types) <= MOST_LEAVES:
        raise ValueError(f"data_format {short(types)}")
    for one in types:
        if wrong := whole_problem(one):
            raise ValueError(f"type {short(one)} {wrong}")
    names = _names(config.get("data_spec"), len(types))
    return [Leaf(*pair) for pair in zip(names, types, strict=True)]


def _names(spec: Any, count: int) -> list[str]:
    """Keys and positions in PyTorch's description of nested values; only positions where it tells
    something else.
    """
    try:
        names = _below(json.loads(spec)[1], "", DEEPEST)
    except (ValueError, TypeError, LookupError, RecursionError):
        names = []
    good = len(names) == count and not any(map(whole_problem, names))
    return names if good else list(map(str, range(count)))


def _below(node: Any, name: str, deepest: int) -> list[str]:
    """Names of the leaves. Raises ValueError, TypeError and LookupError."""
    if node["type"] is None:
        return [name or "0"]
    children = node["children_spec"]
    keys = (
        json.loads(node["context"]) if node["type"] == "builtins.dict" else [*range(len(children))]
    )
    if not deepest or len(children) > MOST_LEAVES:
        raise ValueError("too many")
    return [
        leaf
        for key, child in zip(keys, children, strict=True)
        for leaf in _below(child, f"{name}.{key}" if name else str(key), deepest - 1)
    ]


def _chunk(where: str, one: Any) -> Chunk:
    """Raises KeyError, TypeError and ValueError."""
    name, samples = one["filename"], one["chunk_size"]
    # The list is not to reach files elsewhere
    if wrong := problem(name) or ("has a slash" if "/" in name else ""):
        raise ValueError(f"name {short(name)} {wrong}")
    if type(samples) is not int or samples < 0:
        raise ValueError(f"{short(samples)} samples in {short(name)}")
    return Chunk(os.path.join(where, name), samples)
