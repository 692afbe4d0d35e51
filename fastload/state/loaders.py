"""What resuming reads of a loader."""

from typing import Protocol

from fastload.order.loaders import OrderedLoader
from fastload.sources import Source


class OwnOptions(Protocol):
    """Those of a loader's own keywords that its states depend on."""

    @property
    def seed(self) -> int | None: ...
    @property
    def snapshot_every_n_steps(self) -> int | None: ...


class FollowedLoader(OrderedLoader, Protocol):
    """A loader whose data set or workers may have a state of their own."""

    @property
    def num_workers(self) -> int: ...
    @property
    def persistent_workers(self) -> bool: ...
    @property
    def _own(self) -> OwnOptions: ...
    @property
    def _source(self) -> Source | None:
        """Of the samples, where fastload reads them; None: PyTorch's own engine does."""
