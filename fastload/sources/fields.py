"""What lies beside the images and comes with them in place of labels: captions, JSON, numbers,
bytes.

A value lies in the same file as its image: in a tar, a shard, a chunk, a record, a database.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from reprlib import repr as short
from types import MappingProxyType
from typing import Any

import numpy as np

from fastload import _native
from fastload.errors import SHOWN, SampleError, SourceError, sample_error
from fastload.files.names import is_pickled, shown, whole_problem
from fastload.sources import columns
from fastload.sources.base import Source
from fastload.sources.columns import Numbers
from fastload.sources.span_index import Spans
from fastload.spec import Array, Longs
from fastload.system import limits

LABEL = "label"  # the class numbers, among several fields
LONGEST_VARINT = 10  # bytes
LONGEST_NAME = 80  # characters of a name that an error tells as it is
NUMBERS = "number"  # start of the kinds of numbers: "number <i8"
VARINT = "varint"  # an int64 of protobuf: its size tells nothing of its type


def _text(data: bytes) -> str:
    return data.decode()


def _varint(data: bytes) -> int:
    """Raises ValueError."""
    if not data or data[-1] > 0x7F or min(data[:-1], default=0x80) < 0x80:
        raise ValueError(f"{data[:LONGEST_VARINT].hex(' ') or 'nothing'}")
    value = sum((byte & 0x7F) << 7 * number for number, byte in enumerate(data[:LONGEST_VARINT]))
    if len(data) > LONGEST_VARINT or value >= 1 << 64:
        raise ValueError("it is too long")
    return value - (value >> 63 << 64)


KINDS: Mapping[str, tuple[str, Callable[[bytes], object]]] = MappingProxyType(
    {
        "text": ("UTF-8", _text),
        "json": ("JSON", json.loads),
        "bytes": ("bytes", bytes),
        VARINT: ("number", _varint),
    }
)
OF_SUFFIX = {"txt": "text", "text": "text", "caption": "text", "json": "json"}


@dataclass(frozen=True)
class Field:
    """One value of each sample: arrays [N], or columns that are read where they are used.

    Args:
        name: As the user asks for it.
        kind: "text", "json", "bytes", "varint", or "number" and NumPy's name of its type.
        offset: int64, bytes, in the file that the sample's image is in.
        size: int64, bytes.
        checksum: XXH3-64, its bits as int64; None where it is not known.
        data: The values, where they lie in no file: offsets are places in it.
    """

    name: str
    kind: str
    offset: Numbers
    size: Numbers
    checksum: Numbers | None = None
    data: bytes | None = None

    def at(self, samples: Longs) -> "Field":
        """Of these samples only."""
        sums = None if self.checksum is None else columns.picked(self.checksum, samples)
        offset, size = (columns.picked(each, samples) for each in (self.offset, self.size))
        return replace(self, offset=offset, size=size, checksum=sums)


@dataclass(frozen=True)
class Target:
    """What a batch has in place of labels: the values of one field, or a dictionary of several."""

    names: tuple[str, ...]
    alone: bool

    def of_batch(self, source: Source, samples: Longs) -> object:
        """A list [N], of numbers a tensor [N]; or a dictionary of such. Raises SampleError."""
        found = {name: self._values(source, name, samples) for name in self.names}
        return found[self.names[0]] if self.alone else found

    def of_one(self, source: Source, sample: int) -> object:
        """Of one sample, as `of_batch`."""
        found = {
            name: self._values(source, name, np.array([sample], np.int64))[0] for name in self.names
        }
        return found[self.names[0]] if self.alone else found

    def fields(self, source: Source) -> list[Field]:
        """Those that are wanted, of the source's."""
        return [field for field in known(source) if field.name in self.names]

    def lacks(self, source: Source) -> list[str]:
        """Names that the source has nothing of."""
        has = {LABEL, *(field.name for field in known(source))}
        return [name for name in self.names if name not in has]

    def _values(self, source: Source, name: str, samples: Longs) -> Any:
        if name == LABEL:
            return _tensor(source.labels[samples])
        return values(source, next(f for f in known(source) if f.name == name), samples)


def target_of(given: str | Sequence[str]) -> Target:
    """Raises SourceError for what names no fields."""
    names: tuple[Any, ...] = tuple(given) if type(given) in (list, tuple) else (given,)
    if not names or any(whole_problem(name) for name in names):
        raise SourceError(f"target is {short(given)}, want a name, or several; such as 'txt'")
    return Target(names, isinstance(given, str))


def known(source: Source) -> tuple[Field, ...]:
    """Those that the data set was opened with."""
    return getattr(source, "fields", ())


def of_spans(name: str, kind: str, spans: Spans) -> Field:
    """Of the files of a data set, in their order."""
    return Field(name, kind, spans.column("offset"), spans.column("size"))


def refuse_pickled(where: str, names: Sequence[str]) -> None:
    """Raises SourceError for files that Python's pickle has written, by the ends of their names."""
    if pickled := [name for name in names if is_pickled(f"x.{name}")]:
        raise SourceError(
            f"{where}: {pickled[0]!r} is pickled, and fastload never unpickles; write it as JSON "
            "or text"
        )


def joined(parts: Sequence[Sequence[Field]]) -> tuple[Field, ...]:
    """Of several data sets, one after the other: the fields that all of them have."""
    out = []
    for field in parts[0]:
        alike = [[one for one in part if _alike(one, field)] for part in parts]
        if all(alike):
            out.append(_joined([one for one, *_ in alike]))
    return tuple(out)


def _alike(one: Field, other: Field) -> bool:
    held = one.data is None, other.data is None
    return (one.name, one.kind, held[0]) == (other.name, other.kind, held[1])


def _joined(parts: Sequence[Field]) -> Field:
    whole = all(part.checksum is not None for part in parts)
    held = [part.data for part in parts if part.data is not None]
    shift = np.cumsum([0, *map(len, held)])
    offsets: list[Numbers] = [part.offset for part in parts]
    if held:  # all are
        offsets = [np.asarray(one) + int(first) for one, first in zip(offsets, shift, strict=False)]
    sums = [part.checksum for part in parts if part.checksum is not None]
    return Field(
        parts[0].name,
        parts[0].kind,
        columns.joined(offsets),
        columns.joined([part.size for part in parts]),
        columns.joined(sums) if whole else None,
        b"".join(held) if held else None,
    )


def of_suffix(name: str) -> str:
    """The kind of a file beside an image, by the end of its name."""
    return OF_SUFFIX.get(name.rpartition(".")[2].lower(), "bytes")


def values(source: Source, field: Field, samples: Longs) -> Any:
    """A field's values: list [N], or of numbers a tensor [N]. Raises SampleError."""
    file, files = source.locate(samples).file.tolist(), source.files
    at, size = field.offset[samples].tolist(), field.size[samples].tolist()
    data, held = [], field.data
    for number, place in enumerate(zip(file, at, size, strict=True)):
        if wrong := limits.too_many(place[2], limits.SAMPLE):
            raise _wrong(source, field, samples, number, f"is too large ({wrong})")
        try:
            start, end = place[1], place[1] + place[2]
            data.append(files.read(*place) if held is None else held[start:end])
        except OSError as error:
            raise _wrong(source, field, samples, number, f"cannot be read ({error})") from error
    _check(source, field, samples, data)
    if field.kind.startswith(NUMBERS):
        kind = np.dtype(field.kind.split()[1])
        return _tensor(np.frombuffer(b"".join(data), kind).astype(kind.newbyteorder("=")))
    what, decoded = KINDS[field.kind]
    out = []
    for number, one in enumerate(data):
        try:
            out.append(decoded(one))
        except (ValueError, RecursionError) as error:
            raise _wrong(source, field, samples, number, f"is no {what} ({error})") from error
    return _tensor(np.array(out, np.int64)) if field.kind == VARINT else out


def _tensor(array: Array) -> Any:
    import torch  # who only looks at a data set needs none of it

    return torch.from_numpy(array)


def _check(source: Source, field: Field, samples: Longs, data: Sequence[bytes]) -> None:
    """Raise SampleError for the first value that has another checksum."""
    if field.checksum is None:
        return
    sums = np.asarray(field.checksum[samples]).view(np.uint64).tolist()
    for number, (one, want) in enumerate(zip(data, sums, strict=True)):
        if (got := _native.xxh3(one)) != want:
            why = f"checksum mismatch (got {got:016x}, want {want:016x})"
            raise _wrong(source, field, samples, number, why)


def _wrong(source: Source, field: Field, samples: Longs, number: int, why: str) -> SampleError:
    sample = int(samples[number])
    where = f"{source.name(sample)}, {field.name}"
    return sample_error(where, sample, f"{why}; restore it", None)


def lacking(where: str, name: str, known: Sequence[str]) -> SourceError:
    """There is no such field."""
    has = [one if one.isprintable() and len(one) <= LONGEST_NAME else shown(one) for one in known]
    listed = ", ".join([*has[:SHOWN], "…"] if len(has) > SHOWN else has) or "nothing"
    return SourceError(f"{where}: has no {name!r} beside its images (has {listed}); correct target")


def incomplete(where: str, name: str, lacking: int, count: int, first: str) -> SourceError:
    """Some samples have it, and some have not."""
    return SourceError(
        f"{where}: {lacking} of {count} samples have no {name!r} (first {first}); leave these "
        "samples out, or correct target"
    )
