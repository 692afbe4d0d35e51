"""From a sample of the source to what is written: read, change, look at it, decode it once."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fastload.conversion import boxed, editing, samples, transcoding
from fastload.conversion.parts import Bad, Item, Row
from fastload.conversion.readers.base import Reader
from fastload.conversion.samples import BadSampleError
from fastload.conversion.workers import Stop

TRIES = 16  # samples of the same class that may stand in for a bad one


@dataclass(frozen=True)
class How:
    """What is done to each sample."""

    check: str = "decode"  # of samples.CHECKS
    transcode: bool = False  # rewrite slow JPEGs as baseline
    edits: editing.Edits = editing.UNCHANGED
    extras: bool = True  # keep the files beside images
    step: int | None = None  # MCUs per entry of its seek index; None: it gets none
    substitute: bool = False  # put the next good sample of the class in a bad one's place


class Maker:
    """The samples of one part, made one after the other while they are asked for; then `bad` and
    `tally` are known.
    """

    def __init__(
        self,
        reader: Reader,
        how: How,
        chosen: Iterable[int],
        step: Callable[[int], object],
        stop: Stop,
    ) -> None:
        self.reader, self.how, self.chosen, self.step, self.stop = reader, how, chosen, step, stop
        self.bad: list[Bad] = []
        self.tally = transcoding.Tally(how.transcode)

    def __iter__(self) -> Iterator[Item]:
        """Raises OSError, workers.StoppedError."""
        for sample in self.chosen:
            self.stop.check()
            try:
                item: Item | None = self.made(sample, sample)
            except BadSampleError as error:
                item = self._instead(sample, str(error))
            self.step(item.row.size if item else 0)
            if item:
                yield item

    def _instead(self, sample: int, reason: str) -> Item | None:
        """The sample's substitute, if it is to have one; it is listed as bad in any case."""
        name = self.reader.name(sample)
        for other in self._others(sample) if self.how.substitute else ():
            self.stop.check()
            try:
                item = self.made(other, sample)
            except BadSampleError:
                continue
            self.bad.append(
                Bad(
                    sample,
                    name,
                    f"{reason}; {self.reader.keys[other]} stands in for it",
                    mended=True,
                )
            )
            return item
        none = "; no other image of its class can stand in for it" if self.how.substitute else ""
        self.bad.append(Bad(sample, name, reason + none))
        return None

    def _others(self, sample: int) -> list[int]:
        same = np.flatnonzero(self.reader.labels == self.reader.labels[sample])
        at = int(np.searchsorted(same, sample))
        return [int(row) for row in np.roll(same, -at)[1 : TRIES + 1]]

    def made(self, sample: int, owner: int) -> Item:
        """What `sample` holds, under the key of `owner`, as it is written.

        Raises BadSampleError.
        """
        how, data, image = self.how, editing.edit(self.reader.read(sample), self.how.edits), None
        if how.transcode:
            image = transcoding.rewrite(data)
            data = image.data
        looked = samples.examine(data, how.check, how.step)
        extras = self.reader.extras(sample) if how.extras else ()
        if not how.edits.none:
            boxed.check_size(extras, looked.facts)
        self.tally.add(image or transcoding.kept(data, looked.coding))
        row = Row(owner, len(data), looked.checksum, looked.facts)
        return Item(
            self.reader.keys[owner],
            int(self.reader.labels[owner]),
            data,
            row,
            extras,
            looked.index,
            looked.reason,
        )
