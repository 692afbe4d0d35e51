"""What lies at a path: counts, sizes and formats, from the index or from the files' headers."""

import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.conversion import samples
from fastload.conversion.histograms import Histogram, histogram
from fastload.conversion.readers import (
    TO_LOOK,
    FolderReader,
    Reader,
    ShardsReader,
    file_sizes,
    opening,
)  # fmt: skip
from fastload.conversion.readers.known import known
from fastload.conversion.transcoding import SLOW
from fastload.files.opening import no_wait
from fastload.remote.urls import is_url
from fastload.sources import FileSource, Source, open_source, seek, seek_known
from fastload.sources.base import Location, reading, remote
from fastload.sources.seek_known import Spans
from fastload.sources.shard_index import BAD
from fastload.sources.shards import ShardSource
from fastload.sources.staging import at_hand
from fastload.spec import Json, Longs

# Headers read from a folder, spread evenly; a share of 1 % is then known to about ±0.2 %
HEADERS = 10_000
WHOLE = 1000  # images read from what has to give them whole
AFAR = 64  # of these from a store
START = 1 << 16  # bytes; headers with large colour profiles or previews need more, and get it
PERCENTILES = (0, 5, 50, 95, 100)


@dataclass(frozen=True)
class Facts:
    """A data set in numbers."""

    path: str
    kind: str  # of its Format: "shards", "folder", "span" (archives), "zip", "table", …
    samples: int
    classes: int
    bytes: int  # of the images
    shards: int
    headers: int  # how many samples the three below are from
    formats: dict[str, float]  # name to share, 0..1, most frequent first
    height: dict[str, float]  # percentile to px
    width: dict[str, float]
    size: dict[str, float]  # percentile to bytes
    per_class: dict[str, float]  # percentile to samples
    smallest_class: str
    largest_class: str
    left_out: int = 0  # samples that the conversion found bad
    indexed: int = 0  # samples with a seek index
    seek_bytes: int = 0  # of all seek indexes
    transcoded: int | None = None  # images that the conversion rewrote; None: not asked to
    # Of a folder: how JPEGs that decode slowly are coded, to share of the headers
    slow: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # seek indexes that are left aside
    unreadable: list[str] = field(default_factory=list)  # of the headers that were read
    # Of heights, widths, bytes, samples per class
    histograms: dict[str, Histogram] = field(default_factory=dict)
    with_extras: int = 0  # samples that have files beside their image

    def as_dict(self) -> Json:
        return asdict(self)


def inspect(where: str, headers: int = HEADERS) -> Facts:
    """Facts about whatever can be converted; of what has no index at most `headers` images are
    opened. Raises SourceError.
    """
    if is_url(where):
        source = open_source(where)
        if isinstance(source, ShardSource):
            return _shards(source)
    match = opening.match(at_hand(where))
    reader = opening.open_match(match, TO_LOOK)
    if isinstance(reader, ShardsReader):
        return _shards(reader.source)
    if isinstance(reader, FolderReader):
        return _folder(reader.source, headers)
    return _reader(reader, match.format.kind or match.format.name, min(headers, WHOLE))


def _reader(reader: Reader, kind: str, headers: int) -> Facts:
    """Any other source: some of its images are read."""
    total = len(reader)
    chosen = np.unique(np.linspace(0, total - 1, min(headers, total)).astype(np.int64))
    readable, unreadable, codings = list[samples.Facts](), list[str](), Counter[str]()
    for sample in chosen.tolist():
        try:
            data = reader.read(sample)
            looked = samples.look(data, "none")
            readable.append(looked.facts)
            codings[looked.coding] += 1
        except samples.BadSampleError:
            unreadable.append(reader.name(sample))
    height, width = (
        np.array([getattr(facts, name) for facts in readable]) for name in ("height", "width")
    )
    return Facts(
        reader.where, kind, total, len(reader.classes), int(np.maximum(reader.sizes, 0).sum()), 0,
        len(chosen),
        shares(Counter(one.format for one in readable)), percentiles(height), percentiles(width),
        percentiles(reader.sizes),
        *_classes(reader), unreadable=unreadable, histograms=spread(height, width, reader.sizes,
        reader),
        slow={name: count / len(chosen) for name, count in codings.most_common() if name in SLOW},
        with_extras=int(np.count_nonzero(reader.beside)), **_seek_of(known(reader), reader.sizes),
    )  # fmt: skip


def spread(
    height: Longs, width: Longs, size: Longs, source: Source | Reader
) -> dict[str, Histogram]:
    """Histograms of what there is."""
    values = {"height, px": height, "width, px": width, "bytes": size}
    counts: Longs = np.bincount(np.asarray(source.labels), minlength=len(source.classes))
    histograms = {
        name: histogram(each) for name, each in (values | {"samples per class": counts}).items()
    }
    return {name: each for name, each in histograms.items() if each}


def percentiles(values: NDArray[Any]) -> dict[str, float]:
    """Minimum, 5 %, median, 95 % and maximum; empty without values."""
    if not len(values):
        return {}
    return {
        f"p{rank}": float(value)
        for rank, value in zip(PERCENTILES, np.percentile(values, PERCENTILES), strict=True)
    }


def shares(counts: Counter[str]) -> dict[str, float]:
    return {name: count / counts.total() for name, count in counts.most_common()}


def _shards(source: ShardSource) -> Facts:
    columns = {name: source.index.columns[name].all() for name in ("height", "width", "size")}
    counts: Counter[str] = Counter()
    for batch in source.index.batches:
        column = batch.column("format")
        names = column.dictionary.to_pylist()
        for code, count in enumerate(
            np.bincount(column.indices.to_numpy(), minlength=len(names)).tolist()
        ):
            counts[names[code]] += count
    extras = source.index.extras
    return Facts(
        source.where, "shards", len(source), len(source.classes), int(columns["size"].sum()),
        len(source.index.shards), len(source),
        shares(+counts), percentiles(columns["height"]), percentiles(columns["width"]),
        percentiles(columns["size"]),
        *_classes(source), left_out=_left_out(source.where), transcoded=source.index.transcoded,
        slow=_slow(source),
        histograms=spread(columns["height"], columns["width"], columns["size"], source),
        with_extras=int(np.count_nonzero(extras.sizes())) if extras else 0,
        **_seek_of_shards(source),
    )  # fmt: skip


def _slow(source: ShardSource) -> dict[str, float]:
    """How JPEGs that decode slowly are coded, and their share, in some of the samples."""
    count = min(WHOLE if remote(source) is None else AFAR, len(source))
    chosen = np.unique(np.linspace(0, len(source) - 1, count).astype(np.int64))
    with reading(source, chosen):
        codings = _codings(source, source.locate(chosen))
    return {name: count / len(chosen) for name, count in codings.most_common() if name in SLOW}


def _codings(source: ShardSource, location: Location) -> Counter[str]:
    codings = Counter[str]()
    for file, offset, size in zip(
        location.file.tolist(), location.offset.tolist(), location.size.tolist(), strict=True
    ):
        try:
            codings[_native.jpeg_coding(source.files.read(file, offset, min(size, START)))] += 1
        except OSError:  # verify's to tell
            continue
    return codings


def _seek_of_shards(source: ShardSource) -> Json:
    location = source.locate(np.arange(len(source))).seek
    size = location.size if location else np.zeros(0, np.int64)
    warnings = [problem for problem in source.index.sidecar_problems() if problem]
    return {
        "indexed": int(np.count_nonzero(size)),
        "seek_bytes": int(size.sum()),
        "warnings": warnings,
    }


def _seek_of(source: FileSource | Spans | None, sizes: Longs) -> Json:
    if source is None:
        return {}
    beside = seek_known.of(source).find()
    if beside.seek is None:
        return {"warnings": list(map(str, beside.problems))}
    fits = (beside.seek.size > 0) & (beside.seek.file_size == sizes)
    what = "files" if isinstance(source, FileSource) else "images"
    warnings = list(map(str, beside.problems))
    if changed := int(
        np.count_nonzero((beside.seek.file_size > 0) & (beside.seek.file_size != sizes))
    ):
        warnings.append(
            f"{beside.seek.path}: is older than {changed} of {len(sizes)} {what}; {seek.REMEDY}"
        )
    if new := int(np.count_nonzero((beside.seek.file_size == 0) & (sizes > 0))):
        warnings.append(
            f"{beside.seek.path}: does not know {new} of {len(sizes)} {what}; {seek.REMEDY}"
        )
    return {
        "indexed": int(np.count_nonzero(fits)),
        "seek_bytes": int(beside.seek.size[fits].sum()),
        "warnings": warnings,
    }


def _folder(source: FileSource, headers: int) -> Facts:
    total = len(source)
    chosen = np.unique(np.linspace(0, total - 1, min(headers, total)).astype(np.int64))
    sizes = file_sizes(source.paths)
    readable: list[samples.Facts] = []
    codings: Counter[str] = Counter()
    unreadable: list[str] = []
    for sample in chosen.tolist():
        facts, coding = _header(source.paths[sample], int(sizes[sample]))
        codings[coding] += 1
        if facts is None or facts.format == "unknown":
            unreadable.append(source.paths[sample])
        else:
            readable.append(facts)
    height, width = (
        np.array([getattr(facts, name) for facts in readable]) for name in ("height", "width")
    )
    return Facts(
        source.where, "folder", total, len(source.classes), int(np.maximum(sizes, 0).sum()), 0,
        len(chosen),
        shares(Counter(one.format for one in readable)), percentiles(height), percentiles(width),
        percentiles(sizes),
        *_classes(source), unreadable=unreadable, histograms=spread(height, width, np.maximum(sizes,
        0), source),
        slow={name: count / len(chosen) for name, count in codings.most_common() if name in SLOW},
        **_seek_of(source, sizes),
    )  # fmt: skip


def _header(path: str, size: int) -> tuple[samples.Facts | None, str]:
    """Facts and JPEG coding from a file's first bytes, from all of it if they are not enough; None
    if it cannot be read.
    """
    if size <= 0:
        return None, ""
    try:
        with open(path, "rb", opener=no_wait) as file:
            data = file.read(START)
            facts = samples.headers(data)
            if not facts.height and size > START:
                data += file.read(size - START)
                facts = samples.headers(data)
    except OSError:
        return None, ""
    return facts, _native.jpeg_coding(data)


def _classes(source: Source | Reader) -> tuple[dict[str, float], str, str]:
    """Samples per class in percentiles, and the names of the smallest and the largest class."""
    counts: Longs = np.bincount(np.asarray(source.labels), minlength=len(source.classes))
    return (
        percentiles(counts),
        source.classes[int(counts.argmin())],
        source.classes[int(counts.argmax())],
    )


def _left_out(where: str) -> int:
    try:
        with open(os.path.join(where, BAD), "rb", opener=no_wait) as file:
            return sum(1 for _ in file)
    except OSError:
        return 0
