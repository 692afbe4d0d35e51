"""What a loader holds besides PyTorch's attributes: its options, its route, and where it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import torch.utils.data
from torch.utils.data.dataloader import _BaseDataLoaderIter

from fastload import lowering
from fastload.attach.looking import Routed
from fastload.backends.base import Engine
from fastload.engine import make as engines
from fastload.engine.stacks import Stacks
from fastload.loader.options import LoaderOptions
from fastload.lowering import loaders
from fastload.plan.bad_samples import BadSamples
from fastload.plan.plan import Plan
from fastload.sources import Source
from fastload.state.progress import Progress
from fastload.system.meter import Meter
from fastload.system.opening import Opening

T_co = TypeVar("T_co", covariant=True)

if TYPE_CHECKING:
    # Each option is an attribute of the loader, too, as PyTorch's arguments are: the types of
    # these attributes are those of LoaderOptions, and say so nowhere else.
    _Attributes = LoaderOptions
else:
    _Attributes = object


@dataclass(frozen=True)
class Route(Routed):
    """Who runs a data set, and why."""

    plan: Plan | None  # None: likewise
    reasons: tuple[str, ...]  # why not natively
    marks: lowering.Marks  # what it was found for
    why: str = ""  # of the backends that can, why this one


class BaseLoader(torch.utils.data.DataLoader[T_co], _Attributes):
    """The attributes of a `DataLoader`, for the functions that read them."""

    # fastload's own keywords. Attributes have their values, too, for frameworks that look for
    # arguments there; but a subclass may have other things under such names.
    _own: LoaderOptions
    _route: Route
    _engine: Engine | None  # made when the first epoch begins
    _epoch: int  # of the next iter()
    _progress: Progress  # of the last iter()
    _pending: Progress | None  # loaded, for the next iter()
    _early: _BaseDataLoaderIter | None  # begun by state_dict(), for the next iter()
    _meter: Meter
    _opening: Opening
    _stacks: Stacks
    _bad: BadSamples  # of the last epoch that an engine of fastload's ran
    _sizes: set[int]  # of the size schedule, px: those that were found possible
    _steps: int  # batches in an epoch, where the size schedule must know

    @property
    def _source(self) -> Source | None:
        """Of the samples, where fastload reads them; None: PyTorch's own engine does."""
        return None if self._route.plan is None else self._route.plan.source

    def _watched(self) -> Iterator[object]:
        """What the route and the engine depend on, and programs may change later."""
        yield from lowering.watched(self.dataset)
        yield lowering.Equal(loaders.patched(self.collate_fn))
        yield from (
            self.collate_fn,
            self.worker_init_fn,
            self.timeout,
            self.num_workers,
            self.prefetch_factor,
            self.pin_memory,
        )

    def _make_engine(self, route: Route) -> Engine:
        assert route.backend is not None
        assert route.plan is not None
        return engines.make(self, route.backend, route.plan)
