"""What lies beside the images and comes with them in place of labels: captions, JSON, numbers,
bytes.

A value lies in the same file as its image: in a tar, a shard, a chunk, a record, a database.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from reprlib import repr as short
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastload import _native
from fastload.errors import SHOWN, SampleError, SourceError, sample_error
from fastload.files.names import is_pickled, shown, whole_problem
from fastload.sources import columns, field_types
from fastload.sources.base import Source, reading
from fastload.sources.columns import Numbers
from fastload.sources.field_types import Type
from fastload.sources.span_index import Spans
from fastload.spec import Array, Longs
from fastload.system import limits

LABEL = "label"  # the class numbers, among several fields
LONGEST_NAME = 80  # characters of a name that an error tells as it is
SEVERAL = "several kinds"  # of one field, in the parts of a data set
OF_SUFFIX = {"txt": "text", "text": "text", "caption": "text", "json": "json"}


Wanted: TypeAlias = str | Sequence[str] | Mapping[str, str]  # as users write it


class Way(NamedTuple):
    """How some of a field's values are stored. data: where they lie in no file."""

    kind: str
    data: bytes | None


@dataclass(frozen=True)
class Field:
    """One value of each sample: arrays [N], or columns that are read where they are used.

    Args:
        name: As the user asks for it.
        kind: How it is stored: see field_types. SEVERAL: as `ways` have it.
        offset: int64, bytes, in the file that the sample's image is in.
        size: int64, bytes.
        checksum: XXH3-64, its bits as int64; None where it is not known.
        data: The values, where they lie in no file: offsets are places in it.
        ways: Of data sets that store it in different ways, each of them.
        way: int64, which of them each sample has.
    """

    name: str
    kind: str
    offset: Numbers
    size: Numbers
    checksum: Numbers | None = None
    data: bytes | None = None
    ways: tuple[Way, ...] = ()
    way: Numbers | None = None

    def at(self, samples: Longs) -> "Field":
        """Of these samples only."""
        sums, way = (
            None if each is None else columns.picked(each, samples)
            for each in (self.checksum, self.way)
        )
        offset, size = (columns.picked(each, samples) for each in (self.offset, self.size))
        return replace(self, offset=offset, size=size, checksum=sums, way=way)

    def every_way(self) -> tuple[Way, ...]:
        return self.ways or (Way(self.kind, self.data),)

    def way_of(self, samples: Longs) -> list[int]:
        """Numbers of `every_way`, one for each of the samples."""
        return [0] * len(samples) if self.way is None else self.way[samples].tolist()


@dataclass(frozen=True)
class Target:
    """What a batch has in place of labels: the values of one field, or a dictionary of several."""

    names: tuple[str, ...]
    alone: bool
    types: tuple[Type | None, ...] = ()  # of each name, where the user declares them

    def of_batch(self, source: Source, samples: Longs) -> object:
        """A list [N], of numbers a tensor [N, …]; or a dictionary of such. Raises SampleError."""
        found = {name: self._values(source, name, samples) for name in self.names}
        return found[self.names[0]] if self.alone else found

    def of_one(self, source: Source, sample: int) -> object:
        """Of one sample, as `of_batch`."""
        found = {
            name: self._values(source, name, np.array([sample], np.int64))[0] for name in self.names
        }
        return found[self.names[0]] if self.alone else found

    def bad(self, source: Source, samples: Longs) -> list[tuple[int, SampleError]]:
        """Positions of samples some value of which cannot be had, and why."""
        try:
            self.of_batch(source, samples)
        except SampleError as error:
            if len(samples) == 1:
                return [(0, error)]
            each = ((at, self.bad(source, samples[at : at + 1])) for at in range(len(samples)))
            return [(at, one) for at, found in each for _, one in found]
        return []

    def fields(self, source: Source) -> list[Field]:
        """Those that are wanted, of the source's."""
        return [field for field in known(source) if field.name in self.names]

    def lacks(self, source: Source) -> list[str]:
        """Names that the source has nothing of, or several kinds and no declared type."""
        has = {LABEL} | {
            field.name for field in known(source) if field.kind != SEVERAL or self.type(field.name)
        }
        return [name for name in self.names if name not in has]

    def type(self, name: str) -> Type | None:
        """What the user declares of a name."""
        return self.types[self.names.index(name)] if self.types else None

    def misfits(self, source: Source) -> list[str]:
        """Declared types that the values of an open data set cannot have."""
        problems = []
        if LABEL in self.names and (declared := self.type(LABEL)) and declared.text != "int":
            problems.append(f"{source.where}: {LABEL!r} is of type {declared}, want int")
        for field in self.fields(source):
            for kind, _ in field.every_way():
                declared = self.type(field.name)
                if declared and (wrong := field_types.misfit(kind, declared)):
                    problems.append(f"{source.where}: {field.name!r} {wrong}; declare another type")
        return problems

    def described(self) -> str:
        """Names and declared types, in one line."""
        types = self.types or (None,) * len(self.names)
        pairs = zip(self.names, types, strict=True)
        return ", ".join(name if kind is None else f"{name} {kind}" for name, kind in pairs)

    def _values(self, source: Source, name: str, samples: Longs) -> Any:
        if name == LABEL:
            return _tensor(source.labels[samples])
        field = next(field for field in known(source) if field.name == name)
        return values(source, field, samples, self.type(name))


def target_of(given: Wanted) -> Target:
    """Raises SourceError for what names no fields, or no types."""
    several = type(given) in (list, tuple) or isinstance(given, Mapping)
    names: tuple[Any, ...] = tuple(given) if several else (given,)
    if not names or any(whole_problem(name) for name in names):
        raise SourceError(f"target is {short(given)}, want a name, or several; such as 'txt'")
    declared = given.items() if isinstance(given, Mapping) else ()
    types = tuple(field_types.parsed(*pair) for pair in declared)
    return Target(names, isinstance(given, str), types)


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
        named = [[one for one in part if one.name == field.name] for part in parts]
        if all(named):
            out.append(_joined([one for one, *_ in named]))
    return tuple(out)


def _joined(parts: Sequence[Field]) -> Field:
    sums = [part.checksum for part in parts if part.checksum is not None]
    whole = Field(
        parts[0].name,
        parts[0].kind,
        columns.joined([part.offset for part in parts]),
        columns.joined([part.size for part in parts]),
        columns.joined(sums) if len(sums) == len(parts) else None,
    )
    ways = dict.fromkeys(way for part in parts for way in part.every_way())
    if len(ways) == 1:
        return replace(whole, data=parts[0].data)
    number = {way: place for place, way in enumerate(ways)}
    which = []
    for part in parts:
        places = np.array([number[way] for way in part.every_way()], np.int64)
        same = columns.constant(len(part.size), int(places[0]))
        which.append(same if part.way is None else columns.translated(part.way, places))
    kinds = {way.kind for way in ways}
    kind = SEVERAL if len(kinds) > 1 else parts[0].kind
    return replace(whole, kind=kind, ways=tuple(ways), way=columns.joined(which))


def of_suffix(name: str) -> str:
    """The kind of a file beside an image, by the end of its name."""
    return OF_SUFFIX.get(name.rpartition(".")[2].lower(), "bytes")


def values(source: Source, field: Field, samples: Longs, wanted: Type | None = None) -> Any:
    """A field's values: list [N], or of numbers a tensor [N, …]. Raises SampleError."""
    with reading(source, samples):
        data = _read(source, field, samples)
    ways, way_of = field.every_way(), field.way_of(samples)
    if len(ways) == 1 and (whole := field_types.at_once(ways[0].kind, wanted, data)) is not None:
        return _tensor(whole)
    decoders, out = [field_types.decoder(kind, wanted) for kind, _ in ways], list[Any]()
    for number, (one, way) in enumerate(zip(data, way_of, strict=True)):
        what, decoded = decoders[way]
        try:
            out.append(decoded(one))
        except (ValueError, RecursionError) as error:
            raise _wrong(source, field, samples, number, f"is no {what} ({error})") from error
    kind = ways[0].kind
    if not field_types.in_list(kind, wanted):
        return _native_order(np.stack(out))
    return [_native_order(one) if isinstance(one, np.ndarray) else one for one in out]


def _read(source: Source, field: Field, samples: Longs) -> list[bytes]:
    """The bytes of each value, as they are stored. Raises SampleError."""
    file, files = source.locate(samples).file.tolist(), source.files
    at, size = field.offset[samples].tolist(), field.size[samples].tolist()
    data, held = [], [way.data for way in field.every_way()]
    places = zip(file, at, size, field.way_of(samples), strict=True)
    for number, (of, start, long, way) in enumerate(places):
        if wrong := limits.too_many(long, limits.SAMPLE):
            raise _wrong(source, field, samples, number, f"is too large ({wrong})")
        here = held[way]
        try:
            data.append(files.read(of, start, long) if here is None else here[start : start + long])
        except OSError as error:
            raise _wrong(source, field, samples, number, f"cannot be read ({error})") from error
    _check(source, field, samples, data)
    return data


def _native_order(array: Array) -> Any:
    """A tensor of its own."""
    return _tensor(array.astype(array.dtype.newbyteorder("=")))


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
