"""MIX: one of several mixes for each batch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload.spec import Floats
from fastload.transforms.base import is_number
from fastload.transforms.mix_records import MixRecords
from fastload.transforms.mixing import Mix


@dataclass(frozen=True)
class MixChoice(Mix):
    """RandomChoice of mixes: one of `transforms` for each batch, with probabilities in proportion
    to p (None: all alike).
    """

    transforms: tuple[Any, ...]
    p: Any = None

    @property
    def name(self) -> str:
        return "RandomChoice"

    @property
    def classes(self) -> int | None:
        known = (mix.classes for mix in self.transforms if isinstance(mix, Mix))
        return next((count for count in known if count is not None), None)

    def problems(self) -> list[str]:
        foreign = [
            f"holds {type(mix).__name__}, want MixUp, CutMix and the like only"
            for mix in self.transforms
            if not isinstance(mix, Mix)
        ]
        if foreign:
            return foreign
        problems = [
            f"{mix.name}: {problem}" for mix in self.transforms for problem in mix.problems()
        ]
        fits = self.p is None or (isinstance(self.p, tuple) and len(self.p) == len(self.transforms))
        fits = (
            fits
            and all(is_number(v) and v >= 0 for v in self.p or ())
            and (self.p is None or sum(self.p) > 0)
        )
        if not fits:
            problems.append(
                f"p is {self.p}, want None or {len(self.transforms)} numbers from 0 up, not all 0"
            )
        counts = {mix.classes for mix in self.transforms} - {None}
        if len(counts) > 1:
            problems.append(
                f"num_classes are {' and '.join(map(str, sorted(counts)))}, want the same for all"
            )
        return problems

    def draws(self, count: int) -> int:
        return 1 + sum(int(mix.draws(count)) for mix in self.transforms)

    def gammas(self, count: int) -> tuple[tuple[slice, float], ...]:
        out, start = [], 1
        for mix in self.transforms:
            its = mix.gammas(count)
            out += [(slice(start + at.start, start + at.stop), alpha) for at, alpha in its]
            start += mix.draws(count)
        return tuple(out)

    def records(self, u: Floats, count: int, height: int, width: int) -> MixRecords:
        shares = np.cumsum(np.array(self.p or [1.0] * len(self.transforms), np.float64))
        chosen = int(np.searchsorted(shares / shares[-1], u[0], side="right"))
        start = 1 + sum(mix.draws(count) for mix in self.transforms[:chosen])
        mix: Mix = self.transforms[chosen]
        return mix.records(u[start : start + mix.draws(count)], count, height, width)
