"""Batches whose length follows the images' size."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import torch.utils.data

from fastload import progressive, rng
from fastload.errors import PipelineError, UsageError
from fastload.order.samplers import next_epoch


class PixelBatchSampler(torch.utils.data.Sampler[list[int]]):
    """Batches of about equal numbers of pixels: the smaller the images, the more of them.

    For `DataLoader(batch_sampler=PixelBatchSampler(...), size_schedule=schedule)`, with the same
    schedule in both. Without `set_epoch` each iteration is one epoch further.

    Args:
        sampler: The order of the samples; its set_epoch, if it has one, is called by this one's.
        schedule: What size_schedule takes; it must not count steps, whose number would depend on
            this.
        full: Side in px that the pipeline gives, before the schedule.
        batch_size: Images of that size in a batch. At `size` px there are
            batch_size * (full / size)**2 of them, rounded down to a multiple of `multiple` (but
            not below batch_size where the images are smaller), up to `largest`.
        drop_last: Whether a last batch that is shorter is left out.
        multiple: What the numbers of images are multiples of.
        largest: The most images in a batch; None: no bound.

    Raises:
        UsageError: An argument is no whole number in its range, or the schedule counts steps.
        PipelineError: The schedule is impossible for images of `full` px.

    Example:
        >>> from fastload import PixelBatchSampler, ProgressiveResize
        >>> schedule = ProgressiveResize(total_epochs=10)
        >>> batches = PixelBatchSampler(range(1000), schedule, full=224, batch_size=64)
        >>> [batches.at(epoch) for epoch in (0, 6, 9)]
        [256, 144, 64]
    """

    def __init__(
        self,
        sampler: Iterable[int],
        schedule: Any,
        full: int,
        batch_size: int,
        *,
        drop_last: bool = False,
        multiple: int = 8,
        largest: int | None = None,
    ) -> None:
        limits = (
            ("full", full, 1),
            ("batch_size", batch_size, 1),
            ("multiple", multiple, 1),
            ("largest", largest, batch_size),
        )
        for name, value, least in limits:
            if value is not None and (
                not isinstance(value, int) or isinstance(value, bool) or value < least
            ):
                raise UsageError(
                    f"PixelBatchSampler: {name} is {value!r}, want a whole number from {least}"
                )
        self.sampler, self.full = sampler, full
        self.batch_size, self.drop_last = batch_size, drop_last
        self.multiple, self.largest = multiple, largest
        checked = progressive.schedule(schedule)
        if checked is None or checked.counts_steps:
            raise UsageError(
                "PixelBatchSampler: schedule gives no size per epoch (want one that counts "
                "epochs); use total_epochs"
            )
        if problems := progressive.schedule_problems(checked, full):
            raise PipelineError(problems)
        self.schedule, self.epoch = checked, -1

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, from 0. Raises UsageError."""
        self.epoch = rng.checked_epoch("PixelBatchSampler.set_epoch", epoch) - 1
        if callable(tell := getattr(self.sampler, "set_epoch", None)):
            tell(epoch)

    def at(self, epoch: int) -> int:
        """Images in a batch of `epoch`."""
        size = progressive.checked_size(self.schedule, self.full, epoch, 0, 0)
        if size is None:
            return self.batch_size
        wanted: int = max(1, self.batch_size * self.full**2 // size**2)
        even = wanted // self.multiple * self.multiple or wanted
        return min(max(even, self.batch_size) if size < self.full else even, self.largest or even)

    def begun(self) -> int:
        """Begins the next epoch: images in its batches."""
        return self.at(next_epoch(self))

    def __len__(self) -> int:
        """Batches in the next epoch."""
        samples, batch = len(self.sampler), self.at(self.epoch + 1)  # type: ignore[arg-type]
        return samples // batch if self.drop_last else -(-samples // batch)

    def __iter__(self) -> Iterator[list[int]]:
        batch, samples = self.begun(), iter(self.sampler)
        while indices := list(islice(samples, batch)):
            if len(indices) == batch or not self.drop_last:
                yield indices
