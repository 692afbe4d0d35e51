"""The layout of an FFCV file that is being written: pages of payloads, the rows, the table.

What it is: sources/beton_file.py.
"""

import base64
import os
from dataclasses import dataclass

import numpy as np

from fastload import _native
from fastload.conversion.parts import Bad, Item
from fastload.conversion.readers.base import stamp_of
from fastload.conversion.transcoding import Tally
from fastload.sources import beton_fields
from fastload.sources import beton_file as format
from fastload.spec import Json

IMAGE, LABEL = "image", "label"  # what FFCV's own examples call them
PAGE = 8 << 20  # bytes, FFCV's default; larger where an image needs it
ROWS = np.dtype([(IMAGE, format.IMAGE), (LABEL, "<i8")], align=True)


def head(count: int, page: int, table: int) -> bytes:
    """Header and field descriptors."""
    fields = np.zeros(2, beton_fields.DESCRIPTOR)
    fields["type_id"] = [beton_fields.KINDS.index("image"), beton_fields.KINDS.index("int")]
    fields["name"] = [IMAGE, LABEL]
    return (
        np.array((format.VERSION, len(fields), page, count, table), format.HEADER).tobytes()
        + fields.tobytes()
    )


@dataclass(frozen=True)
class Stored(Item):
    """A sample as FFCV stores it:

    `data` are a JPEG's bytes, or uint8 [height, width, 3] without a header.
    """

    mode: int = format.JPEG
    height: int = 0  # px
    width: int = 0


class Pages:
    """Payloads into pages of one size; none lies across the edge of two, as FFCV reads page by
    page.
    """

    def __init__(self, file: int, most: int, *, transcode: bool) -> None:
        self.file, self.page = file, PAGE
        self.start = self.at = up(
            format.HEADER.itemsize + 2 * beton_fields.DESCRIPTOR.itemsize + most * ROWS.itemsize,
            PAGE,
        )
        self.table: list[tuple[int, int, int]] = []
        self.rows = np.zeros(most, ROWS)
        self.bad: list[Bad] = []
        self.checksums: list[int] = []
        self.noted = (0, 0)  # samples and bad ones that the journal has
        self.tally = Tally(transcode)  # of this round
        self.tallies: list[Tally] = []  # of those that the journal has

    def add(self, payload: Stored) -> None:
        """The next sample."""
        data, count = payload.data, len(self.table)
        while len(data) > self.page:  # what lies in one small page lies in one large page too
            self.page *= 2
        if self.at // self.page != (self.at + len(data) - 1) // self.page:
            self.at = up(self.at, self.page)
        put(self.file, data, self.at)
        self.rows[count] = ((payload.mode, payload.width, payload.height, self.at), payload.label)
        self.table.append((count, self.at, len(data)))
        self.checksums.append(_native.xxh3(data))
        self.at += len(data)

    def since(self, samples: int) -> Json:
        """What came since the last call, of `samples` samples of the source."""
        (count, bad), self.noted = self.noted, (len(self.table), len(self.bad))
        new = np.array(self.table[count:], format.PAYLOAD)
        checksums, self.checksums = self.checksums, []
        tally, self.tally = self.tally, Tally(self.tally.on)
        self.tallies.append(tally)
        return {
            "samples": samples, "at": self.at, "page": self.page, "bad": self.bad[bad:],
            "xxh3": stamp_of(checksums),
            "rows": base64.b64encode(self.rows[count : len(self.table)].tobytes()).decode(),
            "table": base64.b64encode(new.tobytes()).decode(), "transcoding": tally.pack(),
        }  # fmt: skip

    def restore(self, record: Json) -> int:
        """Take over what `since` said; how many samples of the source that were."""
        count = len(self.table)
        new = np.frombuffer(base64.b64decode(record["table"]), format.PAYLOAD)
        self.table += [(int(sample), int(ptr), int(size)) for sample, ptr, size in new.tolist()]
        self.rows[count : len(self.table)] = np.frombuffer(base64.b64decode(record["rows"]), ROWS)
        self.bad += [Bad(*each) for each in record["bad"]]
        self.tallies.append(Tally.unpack(record["transcoding"]))
        self.at = record["at"]
        self.page = record["page"]
        self.noted = (len(self.table), len(self.bad))
        return int(record["samples"])

    def finish(self) -> int:
        """Write the table behind the last page; where it begins."""
        end = up(self.at, self.page)
        os.ftruncate(self.file, end)
        put(self.file, np.array(self.table, format.PAYLOAD).tobytes(), end)
        return end


def put(file: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(file, view, at)
        view, at = view[count:], at + count


def up(value: int, step: int) -> int:
    return -(-value // step) * step
