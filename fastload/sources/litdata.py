"""LitData's chunks, read where they lie, without that library.

index.json lists the chunks, and the types of a sample's leaves. A chunk has the number of samples
(uint32), where each begins and the last one ends (uint32 [N + 1]), and the samples: the sizes
(uint32) of the leaves, then the bytes of all. Or the samples are empty, and a table of Arrow
behind them has their values (litdata_table.py). A data set may come from anywhere: every number is
checked before anything is read by it, and nothing is unpickled.
Source: Lightning-AI/litData 0.2.76, streaming/writer.py.
"""

import json
import os
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np

from fastload.errors import SHOWN, SourceError
from fastload.files.names import problem, whole_problem
from fastload.sources import first_look, litdata_table, span_index
from fastload.sources.mapped import SpanSource
from fastload.sources.signatures import check_image
from fastload.sources.span_files import READERS, gathered, joined, json_of, opened
from fastload.sources.span_index import Part
from fastload.spec import Longs

INDEX, LOADER = "index.json", "PyTreeLoader"
WORD, LABEL = np.dtype("<u4"), np.dtype("<i8")
# Types of leaves, those that are taken first. Of "image:jpg" counts what is before the colon
KINDS = {"image": ("jpeg", "image", "bytes"), "label": ("int",)}
MOST_LEAVES, DEEPEST = 1 << 10, 16
REMEDY = "write the data set again"
PLAIN = "write it with optimize(…, compression=None) and without encryption"


class Leaf(NamedTuple):
    """A value of each sample."""

    name: str  # keys and positions, as "image" or "0" or "meta.label"
    type: str


class Chunk(NamedTuple):
    """A chunk as the index has it."""

    path: str
    samples: int


class Fields(NamedTuple):
    """Numbers of two leaves."""

    image: int
    label: int


def load(where: str, fields: tuple[str, str] | None = None) -> SpanSource:
    """The data set in the folder `where`.

    fields: names of the leaves with images and labels: keys of dicts, or positions as text; None
    takes the first of each kind. Raises SourceError with the first problem of each chunk.
    """
    path = os.path.join(where, INDEX)
    index = json_of(path, REMEDY, "LitData's chunks want it beside them")
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
    chosen = _fields(path, leaves, fields)
    of = {chunk.path: chunk for chunk in chunks}
    found = first_look.parts(
        where,
        span_index.path_of("litdata", where, *(fields or ())),
        {chunk.path: repr((chunk.samples, leaves, chosen)) for chunk in chunks},
        lambda path, file, _: _spans(of[path], leaves, chosen, file.fileno()),
        READERS,
    )
    spans = [found[chunk.path] for chunk in chunks]
    first = chunks[0].path
    what = f"{first}: leaf {short(leaves[chosen.image].name)}"
    at, size = int(spans[0].offset[0]), int(spans[0].size[0])
    ask = "name the leaves with images and labels: fields=(IMAGE, LABEL)"
    opened(first, lambda file: check_image(what, file, at, size, ask))
    return joined(where, [chunk.path for chunk in chunks], spans)


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


def _fields(path: str, leaves: list[Leaf], fields: tuple[str, str] | None) -> Fields:
    """Raises SourceError."""
    found = []
    for position, (kind, types) in enumerate(KINDS.items()):
        want = fields[position] if fields else None
        fitting = [
            number
            for one in types
            for number, leaf in enumerate(leaves)
            if leaf.type.split(":")[0] == one and want in (None, leaf.name)
        ]
        if not fitting:
            has = ", ".join(f"{short(name)} ({short(type_)})" for name, type_ in leaves[:SHOWN])
            what = f"no {kind}" + (f" {want!r}" if want else "")
            raise SourceError(
                f"{path}: has {what} among the leaves (has {has}; {kind}s are {', '.join(types)}); "
                "name the leaves with images and labels: fields=(IMAGE, LABEL)"
            )
        found.append(fitting[0])
    return Fields(*found)


def _spans(chunk: Chunk, leaves: list[Leaf], fields: Fields, file: int) -> Part:
    """Raises SourceError and OSError."""
    path, heads, begins = chunk.path, WORD.itemsize * len(leaves), _begins(chunk, file)
    if begins[0] == begins[-1] and litdata_table.is_there(file):
        names = (leaves[number].name for number in fields)
        return litdata_table.spans(path, file, chunk.samples, *names)
    if (np.diff(begins) < heads).any():
        raise SourceError(f"{path}: has samples that are too small; {REMEDY}")
    sizes = gathered(path, file, begins[:-1], heads).view(WORD).astype(np.int64)
    ends = begins[:-1, None] + heads + np.cumsum(sizes, 1)
    if len(wrong := np.flatnonzero(ends[:, -1] != begins[1:])):
        sample = int(wrong[0])
        raise SourceError(
            f"{path}: sample {sample} ends at byte {int(ends[sample, -1])}, want "
            f"{int(begins[sample + 1])}; {REMEDY}"
        )
    size, label = sizes[:, fields.image], sizes[:, fields.label]
    if len(wrong := np.flatnonzero((size == 0) | (label != LABEL.itemsize))):
        sample = int(wrong[0])
        raise SourceError(
            f"{path}: sample {sample} has an image of {int(size[sample])} bytes and a label of "
            f"{int(label[sample])} (want more than 0, and {LABEL.itemsize}); {REMEDY}"
        )
    offset = ends - sizes
    values = gathered(path, file, offset[:, fields.label], LABEL.itemsize).view(LABEL)
    return Part(offset[:, fields.image].copy(), size.copy(), values[:, 0].astype(np.int64))


def _begins(chunk: Chunk, file: int) -> Longs:
    """int64 [N + 1]: where samples begin, and the last one ends. Raises SourceError and OSError."""
    size, table = os.fstat(file).st_size, WORD.itemsize * (chunk.samples + 2)
    wrong = f"has {size} bytes, want {table} and more" if size < table else ""
    if not wrong:
        words = np.frombuffer(os.pread(file, table, 0), WORD).astype(np.int64)
        if words[0] != chunk.samples:
            wrong = f"has {words[0]} samples, want {chunk.samples}"
        elif words[1] < table or words[-1] > size or (np.diff(words[1:]) < 0).any():
            wrong = "has samples outside of it, or not in their order"
    if wrong:
        raise SourceError(f"{chunk.path}: {wrong}; {REMEDY}")
    return words[1:]
