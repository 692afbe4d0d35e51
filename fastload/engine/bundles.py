"""An epoch of small batches of pixels: several are made as one, and handed out one by one.

An image of few pixels takes some microseconds, and Python's part of a batch as long as dozens of
them. Draws are keyed by the sample, so the pixels are the same. Where anything in a bundle is
irregular, its batches are made once more, each alone, with its own error or report.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, groupby, islice, pairwise
from typing import cast

import numpy as np
import torch

from fastload.backends.base import Batch, Known, WorkOrError
from fastload.engine import tensors
from fastload.engine.epoch import Threaded
from fastload.engine.flight import BatchMaker, Begun, Ready, StartedOrError, come
from fastload.engine.inline import FOREVER
from fastload.plan.bad_samples import Report
from fastload.plan.plan import Plan
from fastload.sources.seek_views import View
from fastload.spec import Array, Work

IMAGES = 512  # of a bundle, at most


def size(plan: Plan, images: int | None, together: int) -> int:
    """Batches of a bundle; 1 where there are none.

    images: of a batch; together: small batches that are asked for at once.
    """
    several = min(together, IMAGES // (images or IMAGES))
    if several < 2 or plan.mix or plan.masks or _draws_for_batches(plan):
        return 1
    if any(picture.out.dtype == "bfloat16" for picture in plan.pictures):  # NumPy has none
        return 1
    source = plan.source
    raw = len(source) > 0 and source.locate(np.zeros(1, np.int64)).is_raw.all()
    return several if raw else 1


def _draws_for_batches(plan: Plan) -> bool:
    """Whether anything is drawn for a whole batch, of which a bundle has one."""
    steps = (step for one in (*plan.pictures, *plan.by_part) for step in one.steps)
    # Of the other modes, each size has an op for finished batches
    return plan.size_mode != "decode" or any(step.op.per_batch for step in steps)


class Bundled(Threaded):
    """As Threaded; what is under way are bundles of `size` batches."""

    def __init__(self, engine: BatchMaker, works: Known, seek: View, size: int) -> None:
        self.size = size
        self.bundles: deque[list[Work]] = deque()  # under way
        self.left: deque[Batch | Work] = deque()  # of the last one; a work is still to be made
        self.done = 0  # batches of other bundles that were done when it was taken
        super().__init__(engine, self._joined(works), seek, 0)

    def _joined(self, works: Known) -> Iterator[WorkOrError]:
        while several := list(islice(works, self.size)):
            for kind, run in groupby(several, _kind):
                alike = list(run)
                self.bundles.append([] if kind is None else cast("list[Work]", alike))
                yield alike[0] if kind is None else _one(self.bundles[-1])

    def _under_way(self) -> int:
        bundles = 1 + -(-self.engine.depth // self.size)
        self.depth = (bundles + 1) * self.size - 1  # with those of the last one
        return bundles

    @property
    def ready(self) -> int:
        """Batches that are done. Raises BackendError in a child of fork."""
        if not self.left or self.engine.forked:
            self.done = self.size * super().ready
        return self.done + len(self.left)

    def __next__(self) -> Batch:
        if not self.left:
            super().__next__()
        try:
            item = self.left.popleft()
        except IndexError:  # another thread has ended the epoch meanwhile
            raise StopIteration from None
        if not isinstance(item, Work):
            return item
        try:
            return self._alone(item)
        except KeyboardInterrupt:  # it costs no batch
            self.left.appendleft(item)
            raise

    def _finished(self, item: StartedOrError | Ready) -> Batch:
        """The bundle's batches go to `left`."""
        while len(self.bundles) > self.pending + 1:  # a signal's exception has taken a bundle
            self.bundles.popleft()
        works, bad = self.bundles.popleft(), list[Report]()
        if not works:
            try:
                return super()._finished(item)
            finally:
                del item  # a traceback holds this frame
        whole: Batch = []
        if not isinstance(item, Exception):
            with suppress(Exception):  # it is raised again, by the batch that it is of
                whole = self.engine.finish(item, bad.append)
        self.left.extend(works if bad or not whole else _parts(whole, works))
        return whole

    def close(self) -> None:
        """Ends the epoch, and its threads."""
        super().close()  # first: else the next bundle would come in place of what is left
        self.left.clear()

    def _alone(self, work: Work) -> Batch:
        """One batch, in the caller's thread."""
        engine = self.engine
        come(engine, work, FOREVER)
        location = engine.runner.plan.source.locate(work.samples)
        job = engine.runner.begin(engine.pool, work, location, self.feed.seek)
        return engine.finish(engine.start(Begun(job, work, None)), self.on_bad)


def _kind(work: WorkOrError) -> object:
    """Batches of one kind may be made as one; None: an error in the place of one."""
    return (work.size, work.valid is None) if isinstance(work, Work) else None


def _one(works: Sequence[Work]) -> Work:
    """All their samples in one batch."""
    samples, occurrences = (
        np.concatenate([getattr(work, name) for work in works])
        for name in ("samples", "occurrences")
    )
    valid = [work.valid for work in works if work.valid is not None]
    return works[0].batch(
        works[0].step, samples, occurrences, None, np.concatenate(valid) if valid else None
    )


def _parts(whole: Batch, works: Sequence[Work]) -> list[Batch]:
    """The batches, each with tensors of its own."""
    bounds = list(pairwise(accumulate(map(len, works), initial=0)))

    def cut(
        tensor: torch.Tensor, made: Callable[[Array], torch.Tensor] = torch.from_numpy
    ) -> list[torch.Tensor]:
        array = tensor.numpy()
        return [made(array[first:end]) for first, end in bounds]

    pictures, *others = whole
    with torch.inference_mode(False):  # the caller may be in it now, and not at the next batch
        columns = [cut(cast("torch.Tensor", one), tensors.own) for one in others]
        images: list[torch.Tensor] | list[list[torch.Tensor]]
        if isinstance(pictures, list):
            images = [list(several) for several in zip(*map(cut, pictures), strict=True)]
        else:
            images = cut(pictures)
    return [list(several) for several in zip(images, *columns, strict=True)]
