"""What a user's function makes of an image, while it is followed: pictures, and numbers that are
drawn.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fastload.spec import Json
from fastload.transforms import Grayscale, Op, RandomApply, RandomChoice, RandomInvert, ToImage
from fastload.transforms.kinds import Flip, Warp


class UnclearError(Exception):
    """What is done to an image has no op: the text says what; or `reasons`, those of transforms
    that are called.
    """

    def __init__(self, text: str, reasons: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.reasons = tuple(reasons)


@dataclass(frozen=True, eq=False)
class Step:
    """An op as it runs at one place. Two pictures that share it share what it draws.

    parts: by chance it is one of these.
    """

    op: Op
    parts: tuple["Step", ...] = ()

    def every(self) -> Iterator["Step"]:
        """It, and all that it may be."""
        yield self
        for part in self.parts:
            yield from part.every()


@dataclass(frozen=True, eq=False)
class Picture:
    """The image after these steps."""

    steps: tuple[Step, ...] = ()

    @property
    def ops(self) -> tuple[Op, ...]:
        return tuple(step.op for step in self.steps)

    @property
    def is_tensor(self) -> bool:
        return any(isinstance(op, ToImage) for op in self.ops)

    def then(self, ops: Sequence[Op]) -> "Picture":
        return Picture((*self.steps, *map(Step, ops))) if ops else self

    def rgb(self) -> "Picture":
        """Converted to three channels. Images have them anyway, unless Grayscale has left one.

        Raises UnclearError after other ops on one channel.
        """
        grey = [
            index
            for index, op in enumerate(self.ops)
            if isinstance(op, Grayscale) and op.num_output_channels == 1
        ]
        if grey and grey[-1] != len(self.steps) - 1:
            raise UnclearError("RGB comes after ops on an image of one channel")
        if not grey:
            return self
        return Picture(self.steps[:-1]).then([Grayscale(3)])


class Uniform:
    """A number that is drawn between two others. It may be used once.

    in_tensor: whether it is torch's, a tensor of one element.
    """

    def __init__(self, low: float, high: float, *, in_tensor: bool = False) -> None:
        self.low, self.high, self.in_tensor = low, high, in_tensor
        self._drawn = [False]  # shared by what is computed of it

    def moved(self, factor: float, by: float) -> "Uniform":
        out = Uniform(self.low * factor + by, self.high * factor + by, in_tensor=self.in_tensor)
        out._drawn = self._drawn
        return out

    def item(self) -> "Uniform":
        """Raises UnclearError for a number that is none of torch's."""
        if not self.in_tensor:
            raise UnclearError("it calls item of a number")
        out = self.moved(1.0, 0.0)
        out.in_tensor = False
        return out

    def take(self) -> tuple[float, float]:
        """Raises UnclearError the second time."""
        if self._drawn[0]:
            raise UnclearError("it uses a random number twice")
        self._drawn[0] = True
        return self.low, self.high

    def below(self, bound: float) -> "Chance":
        low, high = self.take()
        if high == low or not all(map(math.isfinite, (low, high, bound))):
            raise UnclearError("it draws of an empty range or an endless one")
        share = (bound - low) / (high - low)
        return Chance(min(1.0, max(0.0, share if high > low else 1 - share)))


class Chance:
    """Something that is true with this probability. It may be asked once: two answers to one draw
    would not be independent.
    """

    def __init__(self, p: float, asked: list[bool] | None = None) -> None:
        self.p = p
        self._asked = [False] if asked is None else asked  # shared with what is said of it

    def negated(self) -> "Chance":
        return Chance(1 - self.p, self._asked)

    def take(self) -> "Chance":
        """Raises UnclearError the second time."""
        if self._asked[0]:
            raise UnclearError("it uses a random number twice")
        self._asked[0] = True
        return self


def joined(chance: Chance, yes: object, no: object) -> object:
    """What is `yes` with a probability, and else `no`. Raises UnclearError."""
    if not isinstance(yes, Picture) or not isinstance(no, Picture):
        if type(yes) is type(no) and isinstance(yes, (bool, int, float, str)) and yes == no:
            return yes
        if yes is None and no is None:
            return None
        raise UnclearError("it makes different things by chance")
    mine, other = yes.ops, no.ops
    least = min(len(mine), len(other))
    before = next((n for n in range(least) if mine[n] != other[n]), least)
    room = least - before
    after = next((n for n in range(room) if mine[-1 - n] != other[-1 - n]), room)
    first, second = yes.steps[before : len(mine) - after], no.steps[before : len(other) - after]
    middle = _either(chance.p, *(tuple(step.op for step in steps) for steps in (first, second)))
    return Picture(
        (
            *map(_one, yes.steps[:before], no.steps[:before]),
            *(Step(op, (*first, *second)) for op in middle),
            *map(_one, yes.steps[len(mine) - after :], no.steps[len(other) - after :]),
        )
    )


def _one(yes: Step, no: Step) -> Step:
    """Of two steps with the same op."""
    return yes if yes is no else Step(yes.op, (yes, no))


def _either(p: float, yes: tuple[Op, ...], no: tuple[Op, ...]) -> list[Op]:
    if not yes and not no:
        return []
    if not no:
        return maybe(yes, p)
    if not yes:
        return maybe(no, 1 - p)
    return [RandomChoice((as_one(yes), as_one(no)), (p, 1 - p))]


def maybe(ops: tuple[Op, ...], p: float) -> list[Op]:
    """All of them with probability p, or none."""
    only = ops[0] if len(ops) == 1 else None
    if isinstance(only, (Flip, Warp)) and hasattr(only, "p"):
        changes: Json = {"p": only.p * p}  # whether to, twice
        return [replace(only, **changes)]
    return [RandomApply(ops, p)]


def as_one(ops: tuple[Op, ...]) -> Op:
    """Ops as one of a group's: nothing is what is never done."""
    return ops[0] if len(ops) == 1 else RandomApply(ops or (RandomInvert(),), float(bool(ops)))
