"""One bad image costs one image: what stands in for it, how many may be bad, and the list of them for the user.

What stands in is a pure function of (seed, epoch, sample, occurrence): the same on every rank, backend and machine, and after resume.
"""

import fcntl
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from fastload import _native, rng
from fastload.errors import BadSamplesError, SampleError, readable
from fastload.meter import Meter
from fastload.sources import Source
from fastload.spec import Longs, Work

TRIES = 16  # samples that are tried in place of one that is bad
OCCURRENCES = 1 << 16  # the random keys hold so many; those that stand in count down from the last


class Report(NamedTuple):
    """A batch's bad samples."""

    errors: tuple[SampleError, ...]
    own: tuple[int, ...]  # samples that the batch was to have; the others were only tried in their places


@dataclass
class Trouble:
    """What went wrong in one batch, and what was done about it."""

    policy: str  # "raise", "substitute" or "skip"
    first: Work  # as it was ordered
    errors: list[SampleError] = field(default_factory=list)
    own: list[int] = field(default_factory=list)  # as in Report
    lost: set[int] = field(default_factory=set)  # places in the batch that are left out
    given: dict[int, Iterator[int]] = field(default_factory=dict)  # of each bad place: what is still to be tried

    def note(self, place: int, error: SampleError) -> None:
        """A sample in this place is bad."""
        self.errors.append(error)
        if place not in self.given and place not in self.lost:
            self.own.append(error.index)

    def report(self) -> Report:
        return Report(tuple(self.errors), tuple(self.own))

    def next_for(self, place: int, samples: int) -> int | None:
        """The next sample to try in this place; `samples`: in the data set. None if all were tried."""
        if place not in self.given:
            self.given[place] = iter(candidates(self.first, place, samples).tolist())
        return next(self.given[place], None)

    def kept(self, count: int) -> Longs | None:
        """Places of the batch that are handed out; None for all."""
        return np.setdiff1d(np.arange(count), sorted(self.lost)) if self.lost else None


def candidates(work: Work, place: int, samples: int) -> Longs:
    """int64 [up to TRIES]: which samples may stand in for the one in this place, in order."""
    one = slice(place, place + 1)
    alone = replace(work, samples=work.samples[one], occurrences=work.occurrences[one])
    u = rng.sample_uniforms(alone, rng.SUBSTITUTE_OP, TRIES)[0]
    found = (u * (samples if work.choices is None else len(work.choices))).astype(np.int64)
    if work.choices is not None:
        found = work.choices[found]
    others: Longs = found[found != work.samples[place]]
    return others


def standing_in(work: Work, place: int, sample: int, first: Work, views: int) -> Work:
    """The work with `sample` in this place, under an occurrence that no sampler gives; where validity counts, it is not valid.

    first: the work as it was ordered.
    """
    samples, occurrences = work.samples.copy(), work.occurrences.copy()
    samples[place], occurrences[place] = sample, OCCURRENCES // max(1, views) - 1 - first.occurrences[place]
    valid = None if work.valid is None else np.where(np.arange(len(work)) == place, False, work.valid)
    return replace(work, samples=samples, occurrences=occurrences, valid=valid)


def without(work: Work, places: Longs) -> Work:
    """The work with only these places."""
    valid = None if work.valid is None else work.valid[places]
    return replace(work, samples=work.samples[places], occurrences=work.occurrences[places], valid=valid)


def made(run: Callable[[Work], Any], trouble: Trouble, samples: int, views: int) -> tuple[Any, Work]:
    """What `run` makes of the batch without its bad samples, and the work that it has made; None where nothing is left."""
    now, asked = trouble.first, np.arange(len(trouble.first))  # asked: places that are not lost
    while len(asked):
        try:
            return run(without(now, asked)), without(now, asked)
        except SampleError as error:
            if trouble.policy == "raise":
                raise
            for place in _places(run, now, asked, error):
                trouble.note(place, error)
                if trouble.policy == "skip":
                    trouble.lost.add(place)
                elif (other := trouble.next_for(place, samples)) is not None:
                    now = standing_in(now, place, other, trouble.first, views)
                else:
                    raise
            asked = np.setdiff1d(asked, sorted(trouble.lost))
    return None, without(now, asked)


def _places(run: Callable[[Work], Any], work: Work, asked: Longs, error: SampleError) -> list[int]:
    """Where the batch has the bad sample; where only some of its occurrences are bad, these."""
    found: list[int] = [place for place in asked.tolist() if work.samples[place] == error.index]
    return found if len(found) == 1 else [place for place in found if _fails(run, without(work, np.array([place])))] or found


def _fails(run: Callable[[Work], Any], work: Work) -> bool:
    try:
        run(work)
    except SampleError:
        return True
    return False


def limit(most: float, samples: int) -> int:
    """How many samples of an epoch may be bad: a whole number is a count, else a share, rounded up."""
    return most if isinstance(most, int) else math.ceil(most * samples)


class BadSamples:
    """A loader's list: every bad sample once, as a line of JSON with path, index, offset (bytes) and reason."""

    def __init__(self, source: Source, path: str | None, most: float) -> None:
        self.source, self.path, self.most = source, path or default_path(source), most
        self.limit = limit(most, len(source))
        self.listed: set[tuple[str, int]] = set()  # path, index
        self.epoch: Any = None
        self.met: set[int] = set()

    def take(self, meter: Meter, progress: Any, found: Report) -> None:
        """List and count a batch's bad samples; progress: of the epoch. Raises BadSamplesError if these are too many."""
        if not found.errors:
            return
        if progress is not self.epoch:
            self.epoch, self.met = progress, set()
        meter.bad_samples += len(found.errors)
        self._list(found.errors)
        progress.bad += len(set(found.own) - self.met)
        self.met.update(found.own)
        if progress.bad > self.limit:
            last = next(error for error in found.errors if error.index == found.own[-1])
            raise BadSamplesError(
                f"{last}\n{self.source.where}: {progress.bad} bad samples in epoch {progress.epoch}, max_bad={self.most} allows "
                f"{self.limit} of {len(self.source)}; see {self.path}, mend or remove the files, or allow more"
            )

    def _list(self, errors: tuple[SampleError, ...]) -> None:
        try:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            with open(self.path, "a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # other ranks write there too
                file.seek(0)
                text = file.read()
                self.listed |= set(_known(text))
                rows = [row for row in map(self._row, errors) if (row["path"], row["index"]) not in self.listed]
                rows = list({row["index"]: row for row in rows}.values())
                lines = "".join(json.dumps(row) + "\n" for row in rows)
                file.write((b"" if not text or text.endswith(b"\n") else b"\n") + lines.encode())
        except OSError as error:
            if not self.listed:
                text_ = f"{self.path}: bad samples cannot be listed ({error.strerror}); give bad_samples=PATH that can be written"
                warnings.warn(text_, stacklevel=2)
        self.listed |= {(row["path"], row["index"]) for row in map(self._row, errors)}

    def _row(self, error: SampleError) -> dict[str, Any]:
        place = self.source.locate(np.array([error.index], np.int64))
        path = self.source.files.path(int(place.file[0]))
        return {"path": readable(path), "index": error.index, "offset": int(place.offset[0]), "reason": readable(error.reason)}


def _known(text: bytes) -> Iterator[tuple[str, int]]:
    """Path and index of every line; what a crash has cut short is passed over."""
    for line in text.splitlines():
        try:
            row = json.loads(line)
            yield str(row["path"]), int(row["index"])
        except (ValueError, TypeError, LookupError, RecursionError):
            continue


def default_path(source: Source) -> str:
    """Where a data set's bad samples are listed, in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "fastload", "bad_samples", f"{_native.xxh3(os.fsencode(os.path.realpath(source.where))):016x}.jsonl")
