"""Objects that answer, refuse or record whatever they are asked: mocks, proxies, traps."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch


class TouchedError(Exception):
    """A line of a stranger's code has run."""


class Proxy:
    """Forwards what it does not have, as wrappers of samplers and data sets do."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_inner"], name)

    def __len__(self) -> int:
        return len(self._inner)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._inner)

    def __getitem__(self, index: Any) -> Any:
        return self._inner[index]

    def __call__(self, *arguments: Any) -> Any:
        return self._inner(*arguments)


class Yes(Proxy):
    """Has every attribute, and each is true, has all attributes and can be called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Yes(self.__dict__["_inner"])


class Refusing(Proxy):
    """Fails where it is asked for what it does not have, and not with an AttributeError."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(f"refused: {name}")


class Odd(Proxy):
    """Has no text, no truth, no equal and no hash."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equal")

    __hash__ = None  # type: ignore[assignment]


class Liar(Proxy):
    """Says that it is of a class that it is not of."""

    @property
    def __class__(self) -> Any:
        return torch.utils.data.DistributedSampler


class Unknown(Proxy):
    """Fails where it is asked for its class."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")


class Numbers(Proxy):
    """Has every attribute, and each is a number."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return 3


class Arrays(Proxy):
    """Has every attribute, and each is an array, which is neither true nor false."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return np.arange(3)


def mocked(kind: type[mock.NonCallableMock]) -> Callable[[Any], Any]:
    """A mock that does what a loader needs of the object, and says yes to everything else."""

    def make(inner: Any) -> Any:
        found = kind()
        asked = type(found)
        for name in ("__len__", "__iter__", "__getitem__"):
            if hasattr(inner, name):
                setattr(asked, name, lambda _, *rest, name=name: getattr(inner, name)(*rest))
        if callable(inner):
            found.side_effect = inner
        return found

    return make


STRANGERS: dict[str, Callable[[Any], Any]] = {
    "Mock": mocked(mock.Mock),
    "MagicMock": mocked(mock.MagicMock),
    "Proxy": Proxy,
    "Yes": Yes,
    "Refusing": Refusing,
    "Odd": Odd,
    "Liar": Liar,
    "Unknown": Unknown,
    "Numbers": Numbers,
    "Arrays": Arrays,
}
