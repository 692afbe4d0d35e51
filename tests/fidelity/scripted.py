"""torchvision's random numbers replaced by fastload's, so that both draw the same parameters."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from fastload import transforms as T
from fastload.spec import Floats


def _method(answer: Any) -> Any:
    return lambda tensor, low=0.0, high=1.0: answer(tensor, low, high)


class Script:
    """Answers what torch's generators are asked for, one uniform in [0, 1) after the other."""

    def __init__(self, values: Any, order: Any = None) -> None:
        self.values: Iterator[float] = iter([float(v) for v in values])
        self.order = order

    def uniform_(self, tensor: torch.Tensor, low: Any = 0.0, high: Any = 1.0) -> torch.Tensor:
        """float32 as torch's: 24 bits, a rounded difference, and product and sum rounded once."""
        start, end = torch.tensor(float(low)), torch.tensor(float(high))
        step = torch.tensor(next(self.values), dtype=torch.float64).mul(2**24).floor().div(2**24)
        found = step * (end - start).double() + start.double()
        return tensor.copy_(found.float().expand_as(tensor))

    def rand(self, *size: Any, **_: Any) -> torch.Tensor:
        given = size[0] if size and not isinstance(size[0], int) else size
        return torch.tensor(next(self.values)).expand(given).clone()

    def randint(self, *ends: Any, size: Any = None, **_: Any) -> torch.Tensor:
        if size is None:
            *ends, size = ends
        low, high = (0, *ends)[-2:]
        return torch.full(tuple(size), low + int(next(self.values) * (high - low)))

    def randperm(self, count: int, **_: Any) -> torch.Tensor:
        return torch.tensor(self.order)

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.Tensor, "uniform_", _method(self.uniform_))
        for name in ("rand", "randint", "randperm"):
            monkeypatch.setattr(torch, name, getattr(self, name))


class Boxes(Script):
    """Tries [K, 4] of a box: area and ratio of each, and top and left of the one that is taken."""

    def __init__(self, tries: Floats, first: Any = ()) -> None:
        super().__init__(first)
        self.tries, self.asked, self.placed = tries.reshape(-1, 4), 0, 0

    def uniform_(self, tensor: torch.Tensor, low: Any = 0.0, high: Any = 1.0) -> torch.Tensor:
        self.values = iter([float(self.tries[self.asked // 2, self.asked % 2])])
        self.asked += 1
        return super().uniform_(tensor, low, high)

    def randint(self, *ends: Any, **named: Any) -> torch.Tensor:
        self.values = iter([float(self.tries[(self.asked - 1) // 2, 2 + self.placed])])
        self.placed += 1
        return super().randint(*ends, **named)


def script(op: Any, u: Floats) -> Script:
    """What torchvision is to draw where fastload's `op` draws by the uniforms u."""
    if isinstance(op, T.ColorJitter):
        given = (op.brightness, op.contrast, op.saturation, op.hue)
        used = [place for place, ends in enumerate(given) if ends is not None]
        turns = np.argsort(u[: len(used)], kind="stable")
        unused = sorted(set(range(4)) - set(used))
        return Script(u[len(used) :], [*(used[turn] for turn in turns), *unused])
    if isinstance(op, T.RandomAffine):
        moves, shears = op.translate is not None, op.shear is not None
        wanted = [True, moves, moves, op.scale is not None, shears, len(op.shear or ()) == 4]
        return Script(u[:6][wanted])
    if isinstance(op, T.RandomResizedCrop):
        return Boxes(u)
    if isinstance(op, T.RandomErasing):
        return Boxes(u[3:], u[:1])
    return Script(u)
