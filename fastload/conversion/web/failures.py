"""Why a row of the table gave no image: a code, and where that can be, an HTTP status.

A reason goes through the conversion as text, as every bad sample's does, and is read back for the
table of failures.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fastload.conversion.parts import Bad
from fastload.errors import ConversionError
from fastload.files.names import readable
from fastload.sources.arrow import import_arrow

TEXT = re.compile(r"([a-z_]+) \((\d+), (\d+) (?:try|tries)\): (.*)", re.DOTALL)
BROKEN = "broken_image"  # an image that cannot be decoded
SUFFIX = ".failed.parquet"  # after the data set's own name
COLUMNS = ("key", "url", "reason", "status", "tries", "detail")


class Failure(NamedTuple):
    """Why there is no image."""

    code: str
    detail: str
    status: int = 0  # of HTTP; 0: there was no answer, or it is not the answer's fault
    tries: int = 1
    passing: bool = False  # another try may help
    wait: float = 0.0  # s that the host asks to be left alone

    def __str__(self) -> str:
        word = "try" if self.tries == 1 else "tries"
        return f"{self.code} ({self.status}, {self.tries} {word}): {self.detail}"


class FailedError(Exception):
    """A URL gives no image; carries the failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def failed(code: str, detail: str, status: int = 0, *, passing: bool = False) -> FailedError:
    return FailedError(Failure(code, detail, status, passing=passing))


def parsed(text: str) -> Failure:
    """The failure that a bad sample's text tells. What is no such text is of a broken image."""
    if said := TEXT.fullmatch(text):
        return Failure(said[1], said[4], int(said[2]), int(said[3]))
    return Failure(BROKEN, text, 200)


def counts(bad: Iterable[Bad]) -> dict[str, int]:
    """How many rows failed, by code and status, most frequent first."""
    found = Counter(label(parsed(row.reason)) for row in bad)
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def label(failure: Failure) -> str:
    """The code, with the status where that is the reason: "http_status 404"."""
    return f"{failure.code} {failure.status}" if failure.code == "http_status" else failure.code


def table(where: str, bad: Sequence[Bad], keys: Sequence[str]) -> bytes:
    """The Parquet file of what failed, in the order of the table. keys: of all samples."""
    pa = import_arrow(where, ConversionError)
    import pyarrow.parquet as pq

    failures = [parsed(row.reason) for row in bad]
    columns = {
        "key": pa.array([keys[row.sample] for row in bad], pa.string()),
        "url": pa.array([readable(row.name) for row in bad], pa.string()),
        "reason": pa.array([one.code for one in failures], pa.string()),
        "status": pa.array([one.status or None for one in failures], pa.int32()),
        "tries": pa.array([one.tries for one in failures], pa.int32()),
        "detail": pa.array([readable(one.detail) for one in failures], pa.string()),
    }
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()
