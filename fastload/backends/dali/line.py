"""A pipeline of DALI as the engine uses it, and where its batches come from."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch


class Output(Protocol):
    """One output of a run: what DALI calls a tensor list."""

    def as_tensor(self) -> object: ...  # has __dlpack__


class Pipeline(Protocol):
    """What the engine uses of DALI's Pipeline."""

    def build(self) -> None: ...
    def reset(self) -> None: ...
    def schedule_run(self) -> None: ...
    def outputs(self, stream: torch.cuda.Stream | None, /) -> Sequence[Output]: ...


class Source:
    """A pipeline's callback for all epochs that it runs."""

    def __init__(self, feed: Callable[[], tuple[object, ...]]) -> None:
        self.feed: Callable[[], tuple[object, ...]] | None = feed

    def __call__(self) -> tuple[object, ...]:
        if self.feed is None:
            raise StopIteration
        return self.feed()


class Line(NamedTuple):
    """A pipeline, and where its batches come from."""

    pipeline: Pipeline
    source: Source
    limit: int  # samples of a batch
