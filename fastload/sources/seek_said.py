"""What is said of a loader's seek indexes: which images have one, or a coefficient layer, and what
becomes of the others.
"""

import contextlib

import numpy as np

from fastload.files.seals import LAYER
from fastload.sources import collect, seek_known
from fastload.sources.arrays import ArraySource
from fastload.sources.base import Seek, Source
from fastload.sources.seek_views import Counted, Found, Picked, View
from fastload.sources.views import Subset
from fastload.spec import Longs

NAMES = "seek index", "coefficient layer"
SOME = 64  # samples that are looked at to tell these apart


def describe(mode: str, source: Source, built: collect.Indexes | None) -> str:
    """One line: which images have an index, and what becomes of the others."""
    if mode == "off":
        return "seek index: off"
    count, indexed = len(source), having(source, built)
    name = kind(source, built)
    text = f"{name}: {indexed} of {count} images"
    base = source.base if isinstance(source, Subset) else source
    if isinstance(base, ArraySource):
        return "seek index: none, the images are pixels in memory"
    if name == NAMES[1] and source.locate(np.zeros(1, np.int64)).checksum is not None:
        text += ", whose JPEGs are not read"
    if mode != "auto" or indexed == count or not isinstance(base, collect.Collectable):
        return text
    if len(base) > seek_known.MOST:
        return f"{text}; none are collected of more than {seek_known.MOST:,}"
    folder = seek_known.of(base).cache
    collection = _collection(built)
    problem = collect.unusable(folder) or (
        collection and (collection.problem or collection.collector.problem)
    )
    why = problem or ("" if collect.has_arrow() else "pyarrow is not installed")
    return f"{text}; others are collected " + (f"in memory ({why})" if why else f"into {folder}")


def having(source: Source, built: collect.Indexes | None) -> int:
    """How many images have an index."""
    view = _view(built)
    if type(view) is Found and isinstance(source, Counted):
        return source.indexed()
    nothing = np.zeros(0, np.int64)
    if view.locate(nothing, source.locate(nothing).seek) is None:
        return 0
    place = _places(source, view, np.arange(len(source)))
    return 0 if place is None else int(np.count_nonzero(place.size))


def kind(source: Source, built: collect.Indexes | None) -> str:
    """What the first of some images that have one has. Raises nothing for what cannot be read."""
    some = np.linspace(0, len(source) - 1, min(SOME, len(source))).astype(np.int64)
    place = _places(source, _view(built), some)
    if place is None or not place.size.any():
        return NAMES[0]
    row, bytes_read = int(np.flatnonzero(place.size)[0]), b""
    with contextlib.suppress(OSError):
        bytes_read = place.files.read(int(place.file[row]), int(place.offset[row]), len(LAYER))
    return NAMES[1] if bytes_read == LAYER else NAMES[0]


def _places(source: Source, view: View, samples: Longs) -> Seek | None:
    return view.locate(samples, source.locate(samples).seek)


def _view(built: collect.Indexes | None) -> View:
    collection = _collection(built)
    if isinstance(built, collect.PickedCollection) and built.whole.view:
        return Picked(built.whole.view, built.indices)
    return (collection.view if collection else None) or Found()


def _collection(built: collect.Indexes | None) -> collect.Collection | None:
    if isinstance(built, collect.PickedCollection):
        return built.whole
    return built if isinstance(built, collect.Collection) else None
