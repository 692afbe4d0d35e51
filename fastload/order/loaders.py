"""What an epoch's order is read from: a loader's own attributes, which PyTorch names, and whose
objects may be of anybody's classes.
"""

from typing import Protocol


class OrderedLoader(Protocol):
    """A loader, as far as the order of its samples is concerned."""

    @property
    def dataset(self) -> object: ...
    @property
    def sampler(self) -> object: ...
    @property
    def batch_sampler(self) -> object: ...


def length(sized: object) -> int:
    """Raises TypeError for what has no length."""
    return len(sized)  # type: ignore[arg-type]  # only the object itself knows whether it has one
