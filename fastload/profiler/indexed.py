"""What a seek index would gain on a folder of images, tars or MDS shards: some of the images, with
and without one.
"""

import os
import shlex
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import torch.utils.data

from fastload.files import cache
from fastload.loader import DataLoader
from fastload.profiler.batches import Twice, begun, few
from fastload.profiler.remedies import Alternative, Priced, in_turns
from fastload.sources import Source, collect, seek_said
from fastload.sources.base import FileSource
from fastload.sources.mapped import SpanSource
from fastload.sources.views import Subset

NATIVE = "native"
COST = "one pass over the images (else fastload's first epoch makes it)"


class Make(Protocol):
    """A loader by its `seek_index` and its sampler."""

    def __call__(
        self, *, seek: str, sampler: torch.utils.data.Sampler[int]
    ) -> DataLoader[object]: ...


def folder_of(source: Source) -> str | None:
    """The folder that a source reads, and that can be indexed; None where it is something else."""
    whole = source.base if isinstance(source, Subset) else source
    spans = isinstance(whole, SpanSource) and os.path.isdir(whole.where)
    return whole.where if spans or isinstance(whole, FileSource) else None


def price(
    source: Source, make: Make, seconds: float, on_done: Callable[[], None]
) -> tuple[Priced, ...]:
    """Nothing where there is no folder to index, or it has an index. Nothing is written.

    seconds: of each replicate.
    """
    folder = folder_of(source)
    if folder is None or seek_said.having(source, collect.make("use", source)):
        return ()
    how = f"fastload index {shlex.quote(folder)}"
    what = Alternative(f"index the folder ({how})", COST, NATIVE, (), how=how)
    with cache.nowhere(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no cache, as is meant
        picked = few(len(source))
        feeds = [begun(make(seek=seek, sampler=Twice(picked))) for seek in ("auto", "off")]
        return (replace(in_turns(what, feeds[1], feeds[0], seconds, on_done), computed=True),)
