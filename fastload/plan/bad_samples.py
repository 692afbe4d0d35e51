"""One bad image costs one image: what stands in for it, how many may be bad, and the list of them
for the user.

What stands in is a pure function of (seed, epoch, sample, occurrence): the same on every rank,
backend and machine, and after resume.
"""

import errno
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO, NamedTuple, TypeVar

import numpy as np

from fastload import _native, rng
from fastload.errors import BadSamplesError, SampleError, readable, sample_error
from fastload.files import cache
from fastload.sources import Source
from fastload.spec import OCCURRENCES, Json, Longs, Work
from fastload.state.progress import Progress
from fastload.system import limits, locks
from fastload.system.meter import Meter

# Samples that are tried in place of one that is bad: where 80 % are, all of these are bad once in
# 1.6 million times
TRIES = 64
T = TypeVar("T")
LONGEST = 1 << 16  # bytes of a line in the list


class Report(NamedTuple):
    """A batch's bad samples."""

    errors: tuple[SampleError, ...]
    # Samples that the batch was to have; the others were only tried in their places.
    own: tuple[int, ...]


class Tried(NamedTuple):
    """Of a bad sample for which no other could stand in."""

    others: int  # that were tried
    report: Report  # of its batch, which has failed


@dataclass
class Trouble:
    """What went wrong in one batch, and what was done about it."""

    policy: str  # "raise", "substitute" or "skip"
    first: Work  # as it was ordered
    errors: list[SampleError] = field(default_factory=list)
    own: list[int] = field(default_factory=list)  # as in Report
    lost: set[int] = field(default_factory=set)  # positions in the batch that are left out
    # Of each bad position: what is still to be tried.
    untried: dict[int, Iterator[int]] = field(default_factory=dict)

    def note(self, position: int, error: SampleError) -> None:
        """The sample at this position is bad."""
        self.errors.append(error)
        if position not in self.untried and position not in self.lost:
            self.own.append(error.index)

    def report(self) -> Report:
        return Report(tuple(self.errors), tuple(self.own))

    def next_for(self, position: int, samples: int) -> int | None:
        """The next sample to try at this position; `samples`: in the data set.

        None if all were tried.
        """
        if position not in self.untried:
            self.untried[position] = iter(candidates(self.first, position, samples).tolist())
        return next(self.untried[position], None)

    def alone(self, position: int, error: SampleError, samples: int) -> SampleError:
        """The error of the sample at this position, once all that may stand in were tried."""
        error.tried = Tried(len(candidates(self.first, position, samples)), self.report())
        return error

    def kept(self, count: int) -> Longs | None:
        """Places of the batch that are handed out; None for all."""
        return np.setdiff1d(np.arange(count), sorted(self.lost)) if self.lost else None


def candidates(work: Work, position: int, samples: int) -> Longs:
    """int64 [up to TRIES]: which samples may stand in for the one at this position, in order."""
    one = slice(position, position + 1)
    alone = replace(work, samples=work.samples[one], occurrences=work.occurrences[one])
    u = rng.sample_uniforms(alone, rng.SUBSTITUTE_OP, TRIES)[0]
    drawn = (u * (samples if work.choices is None else len(work.choices))).astype(np.int64)
    if work.choices is not None:
        drawn = work.choices[drawn]
    others: Longs = drawn[drawn != work.samples[position]]
    return others


def standing_in(work: Work, position: int, sample: int, first: Work, views: int) -> Work:
    """The work with `sample` at this position, under an occurrence that no sampler gives; where
    validity counts, it is not valid.

    first: the work as it was ordered.
    """
    samples, occurrences = work.samples.copy(), work.occurrences.copy()
    samples[position] = sample
    # Counted down from the last one
    occurrences[position] = OCCURRENCES // max(1, views) - 1 - first.occurrences[position]
    valid = (
        None
        if work.valid is None
        else np.where(np.arange(len(work)) == position, False, work.valid)
    )
    return replace(work, samples=samples, occurrences=occurrences, valid=valid)


def without(work: Work, positions: Longs) -> Work:
    """The work with only these positions."""
    valid = None if work.valid is None else work.valid[positions]
    return replace(
        work, samples=work.samples[positions], occurrences=work.occurrences[positions], valid=valid
    )


def made(
    run: Callable[[Work], T], trouble: Trouble, samples: int, views: int
) -> tuple[T | None, Work]:
    """What `run` makes of the batch without its bad samples, and the work that it has made; None
    where nothing is left.

    A batch that fails is made sample by sample, which finds all that is bad, and then once more.
    """
    now = trouble.first
    try:
        return run(now), now
    except SampleError:
        if trouble.policy == "raise":
            raise
    for position in range(len(now)):
        now = _without_bad(run, now, position, trouble, samples, views)
    left = np.setdiff1d(np.arange(len(now)), sorted(trouble.lost))
    now = without(now, left)
    return (run(now) if len(left) else None), now


def _without_bad(
    run: Callable[[Work], T], now: Work, position: int, trouble: Trouble, samples: int, views: int
) -> Work:
    """The work with a sample at this position that `run` can make, or with the position lost."""
    first: SampleError | None = None
    while True:
        try:
            run(without(now, np.array([position])))
        except SampleError as error:
            first = first or error
            trouble.note(position, error)
            if trouble.policy == "skip":
                trouble.lost.add(position)
                return now
            if (other := trouble.next_for(position, samples)) is None:
                raise trouble.alone(position, first, samples) from None
            now = standing_in(now, position, other, trouble.first, views)
        else:
            return now


def limit(most: float, samples: int) -> int:
    """How many samples of an epoch may be bad. An int is a count, a float a share, rounded up."""
    return most if isinstance(most, int) else math.ceil(most * samples)


class BadSamples:
    """A loader's list: every bad sample once, as a line of JSON with path, index, offset (bytes)
    and reason.
    """

    def __init__(self, source: Source, path: str | None, most: float) -> None:
        self.source, self.path, self.most = source, path or default_path(source), most
        self.limit = limit(most, len(source))
        self.listed = set[int]()  # keys of lines
        self.read = 0  # bytes of the list that were looked at

    def take(self, meter: Meter, progress: Progress, report: Report) -> None:
        """List and count a batch's bad samples; progress: of the epoch.

        Raises BadSamplesError if these are too many.
        """
        if not report.errors:
            return
        # Other epochs may be under way in other threads.
        met: set[int] = vars(progress).setdefault("met", set())
        meter.mine().bad_samples += len(report.errors)
        self._list(report.errors)
        new = {error.index: error.reason for error in report.errors if error.index in report.own}
        progress.bad_reasons.update(why for index, why in new.items() if index not in met)
        progress.bad += len(set(report.own) - met)
        met.update(report.own)
        if progress.bad > self.limit:
            last = next(error for error in report.errors if error.index == report.own[-1])
            raise BadSamplesError(
                f"{last}\n{self.source.where}: {progress.bad} bad samples in epoch "
                f"{progress.epoch}, max_bad={self.most} allows "
                f"{self.limit} of {len(self.source)}; see {self.path}, mend or remove the files, "
                "or allow more"
            )

    def failed(self, meter: Meter, progress: Progress, error: Exception) -> Exception:
        """What is raised of a batch that failed: where no sample could stand in for a bad one, with
        the counts.

        Raises BadSamplesError where there are too many bad samples anyhow.
        """
        if not isinstance(error, SampleError):
            return error
        if error.tried is None:
            meter.mine().bad_samples += 1
            return error
        others, report = error.tried
        self.take(meter, progress, report)
        counts = (
            f"{progress.bad} bad samples so far in epoch {progress.epoch}, of "
            f"{len(self.source)} in all"
        )
        why = (
            f"and so are all {others} that were tried in its place ({counts}); use "
            "on_error='skip', which needs none"
        )
        return sample_error(error.where, error.index, f"{error.reason}; {why}", error)

    def _list(self, errors: tuple[SampleError, ...]) -> None:
        rows = {row["index"]: row for row in map(self._row, errors)}
        try:
            with cache.appending(self.path) as file:
                locks.lock(file.fileno())  # other ranks write there too
                self._read_on(file)
                new = [
                    row
                    for row in rows.values()
                    if _key(row["path"], row["index"]) not in self.listed
                ]
                file.write(b"".join(json.dumps(row).encode() + b"\n" for row in new))
                self.read = file.seek(0, os.SEEK_END)
        except OSError as error:
            if not self.listed:
                text = (
                    f"{self.path}: bad samples cannot be listed ({error.strerror}); give "
                    "bad_samples=PATH that can be written"
                )
                warnings.warn(text, stacklevel=2)
        self.listed |= {_key(row["path"], row["index"]) for row in rows.values()}

    def _read_on(self, file: IO[bytes]) -> None:
        """What others have listed since; a last line that a crash has cut short is ended."""
        end = file.seek(0, os.SEEK_END)
        if problem := limits.too_many(end, limits.BAD_LIST):
            raise OSError(errno.EFBIG, f"the list is too large: {problem}", self.path)
        at = file.seek(self.read if self.read <= end else 0)  # somebody may have made it empty
        last = b"\n"
        while at < end and (line := file.readline(LONGEST)):
            self.listed |= set(_known(line))
            at, last = at + len(line), line
        if not last.endswith(b"\n"):
            file.write(b"\n")

    def _row(self, error: SampleError) -> Json:
        position = self.source.locate(np.array([error.index], np.int64))
        path = self.source.files.path(int(position.file[0]))
        return {
            "path": readable(path),
            "index": error.index,
            "offset": int(position.offset[0]),
            "reason": readable(error.reason),
        }


def _key(path: str, index: int) -> int:
    """What stands for a line: the list may be long."""
    return _native.xxh3(f"{index} {path}".encode("utf-8", "surrogatepass"))


def _known(line: bytes) -> Iterator[int]:
    """A line's key; none of what a crash has cut short."""
    try:
        row = json.loads(line)
        yield _key(str(row["path"]), int(row["index"]))
    except (ValueError, TypeError, LookupError, RecursionError):
        return


def default_path(source: Source) -> str:
    """Where a data set's bad samples are listed, in the user's cache."""
    return cache.path(
        "bad_samples", f"{_native.xxh3(os.fsencode(os.path.realpath(source.where))):016x}.jsonl"
    )
