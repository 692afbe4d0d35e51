"""What a plan knows of images and targets that are transformed together."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from fastload.sources import Source
from fastload.spec import Array, Longs

# Keys of targets: no step moves captions; a mask of classes is the only value of its target.
CAPTIONS, CLASSES = "captions", "mask"


class Described(Protocol):
    """A step of `fastload.joint`."""

    @property
    def words(self) -> str:
        """Itself, in one line."""


@dataclass(frozen=True)
class Partners:
    """The samples that a step may mix with another one.

    Args:
        source: They are all of it.
        rows: As of `Joint`, of this source.
    """

    source: Source
    rows: Longs | None = None

    def row(self, sample: int) -> int:
        """The sample's number in the data set."""
        return sample if self.rows is None else int(self.rows[sample])


@dataclass(frozen=True)
class Joint:
    """A sample's target, and the steps that move it with its image. In place of ops and labels.

    Args:
        where: The data set's class, for messages.
        target: Of a sample's number in that data set, and its image's height and width, px: a
            dictionary, as torchvision's wrapper makes it.
        steps: fastload.joint's, in order; each says itself in `words`.
        kind: The class of the image's tensor.
        table: float32 [3, 256], what each level of a channel becomes; None: it stays uint8.
        rows: int64 [N]: of each sample of the source, its number in the data set; None: the same.
        alone: The key of the only value, which a sample has in place of the dictionary; None: it
            has the dictionary.
        partners: What its steps may mix a sample with; None: no step mixes.
    """

    where: str
    target: Callable[[int, tuple[int, int]], dict[str, object]]
    steps: tuple[Described, ...]
    kind: type
    table: Array | None
    rows: Longs | None = None
    alone: str | None = None
    partners: Partners | None = None

    def at(self, indices: Longs) -> "Joint":
        """Of a data set that has these samples of it."""
        return replace(self, rows=indices if self.rows is None else self.rows[indices])

    def row(self, sample: int) -> int:
        """The sample's number in the data set."""
        return sample if self.rows is None else int(self.rows[sample])

    def given(self, target: dict[str, object]) -> object:
        """What a sample has of its target."""
        return target if self.alone is None else target[self.alone]

    def explain(self) -> list[str]:
        """What is done to each sample, as DataLoader.explain says it."""
        lines = [f"  JOINT   {step.words}" for step in self.steps]
        kind = "uint8" if self.table is None else "float32"
        lines.append(f"  STORE   {kind} [3, H, W] of each image's own size")
        moved = "" if self.alone == CAPTIONS else ", moved by torchvision's own functions"
        lines.append(f"  target  that of {self.where}{moved}")
        if self.partners is not None:
            lines.append(f"  partners of mixes: any of {len(self.partners.source)} samples")
        return lines
