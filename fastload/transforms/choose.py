"""AUGMENT: ops made of ops.

Their programs are those of the inner ops, one after the other, with Identity where one is left out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import Params, is_number, probability_problems
from fastload.transforms.mix_choice import MixChoice
from fastload.transforms.programs import MAX_ROWS, Program, where
from fastload.transforms.sampling import order


@dataclass(frozen=True)
class _Group(Program):
    """What they share: `transforms`, all of them ops of AUGMENT."""

    transforms: Any  # Programs; kept as a tuple

    def __post_init__(self) -> None:
        object.__setattr__(self, "transforms", tuple(self.transforms))

    def problems(self, spec: Spec) -> list[str]:
        if not self.transforms:
            return ["transforms is empty; give at least one op"]
        problems = []
        for op in self.transforms:
            name = getattr(op, "name", type(op).__name__)
            if not isinstance(op, Program):
                problems.append(
                    f"holds {name}, want ops of AUGMENT only (colour, blur, policies); put it "
                    "outside"
                )
            elif inner := op.problems(spec):
                problems += [f"{name}: {problem}" for problem in inner]
            elif op.out_spec(spec) != spec:
                problems.append(f"holds {name}, which changes the image's channels; put it outside")
        if not problems and self.rows() > MAX_ROWS:
            problems.append(f"its ops make {self.rows()} steps, want up to {MAX_ROWS}; take fewer")
        return problems

    @property
    def keeps_masks(self) -> bool:
        return all(op.keeps_masks for op in self.transforms)

    def rows(self) -> int:
        return sum(int(op.rows()) for op in self.transforms)

    def draws(self, spec: Spec) -> int:
        return 1 + sum(int(op.draws(spec)) for op in self.transforms)  # whether, or which one

    def parts(self, program: Floats) -> list[tuple[Program, Floats]]:
        out, start = [], 0
        for op in self.transforms:
            out += op.parts(program[..., start : start + op.rows(), :])
            start += op.rows()
        return out

    def _programs(self, u: Floats, sizes: Ints, start: int = 1) -> list[Floats]:
        """Programs of each inner op, as if it always ran. start: of its uniforms, among u."""
        out = []
        for op in self.transforms:
            # Uniforms by op need no spec: AUGMENT ops draw alike for every image.
            count = op.draws(Spec())
            out.append(op.params(u[:, start : start + count], sizes).records)
            start += count
        return out


@dataclass(frozen=True)
class RandomApply(_Group):
    """All of `transforms`, in order, with probability p.

    Args:
        transforms: Ops of AUGMENT; kept as a tuple.
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> T.RandomApply([T.RandomInvert(p=1.0)], p=1.0)(image).getpixel((60, 45))
        (245, 155, 55)
    """

    p: float = 0.5

    torchvision = ("transforms", "p")

    def problems(self, spec: Spec) -> list[str]:
        return probability_problems("p", self.p) + super().problems(spec)

    def params(self, u: Floats, sizes: Ints) -> Params:
        return Params(
            where(u[:, :1] < self.p, np.concatenate(self._programs(u, sizes), axis=1)), sizes
        )


@dataclass(frozen=True)
class RandomChoice(_Group):
    """One of `transforms`, with probabilities in proportion to p (None: all alike).

    Args:
        transforms: Ops of AUGMENT, or mixes of batches; kept as a tuple.
        p: One number per op, from 0 up; None: all alike.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> either = T.RandomChoice([T.RandomInvert(p=1.0), T.Grayscale(3)], p=[1, 0])
        >>> either(image).getpixel((60, 45))
        (245, 155, 55)
    """

    p: Any = None

    torchvision = ("transforms", "p")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", tuple(self.p) if isinstance(self.p, list) else self.p)

    def __call__(self, image: Any, labels: Any = None) -> Any:
        """Apply one op to an image; or one mix to a batch, as `Mix` does.

        Raises PipelineError.
        """
        if labels is None:
            return super().__call__(image)
        return MixChoice(self.transforms, self.p)(image, labels)

    def problems(self, spec: Spec) -> list[str]:
        fits = self.p is None or (isinstance(self.p, tuple) and len(self.p) == len(self.transforms))
        fits = (
            fits
            and all(is_number(v) and v >= 0 for v in self.p or ())
            and (self.p is None or sum(self.p) > 0)
        )
        wanted = f"None or {len(self.transforms)} numbers from 0 up, not all 0"
        return ([] if fits else [f"p is {self.p}, want {wanted}"]) + super().problems(spec)

    def params(self, u: Floats, sizes: Ints) -> Params:
        shares = np.cumsum(np.array(self.p or [1.0] * len(self.transforms), np.float64))
        chosen = np.searchsorted(shares / shares[-1], u[:, 0], side="right")
        programs = [
            where(chosen[:, None] == number, program)
            for number, program in enumerate(self._programs(u, sizes))
        ]
        return Params(np.concatenate(programs, axis=1), sizes)


@dataclass(frozen=True)
class RandomOrder(_Group):
    """All of `transforms`, in a random order.

    Its programs have rows for each op at each turn.

    Args:
        transforms: Ops of AUGMENT; kept as a tuple.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> both = T.RandomOrder([T.RandomInvert(p=1.0), T.RandomInvert(p=1.0)])
        >>> both(image).getpixel((60, 45))
        (10, 100, 200)
    """

    torchvision = ("transforms",)

    def rows(self) -> int:
        return len(self.transforms) * super().rows()

    def draws(self, spec: Spec) -> int:
        return len(self.transforms) - 1 + super().draws(spec)

    def parts(self, program: Floats) -> list[tuple[Program, Floats]]:
        turns, turn = len(self.transforms), super().rows()
        return [
            part
            for at in range(turns)
            for part in super(RandomOrder, self).parts(program[..., at * turn : (at + 1) * turn, :])
        ]

    def params(self, u: Floats, sizes: Ints) -> Params:
        count = len(self.transforms)
        turns, programs = order(u[:, :count]), self._programs(u, sizes, count)
        out = [
            where((turns[:, at] == number)[:, None], program)
            for at in range(count)
            for number, program in enumerate(programs)
        ]
        return Params(np.concatenate(out, axis=1), sizes)
