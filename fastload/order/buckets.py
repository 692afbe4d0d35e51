"""Batches of one height and width each: images of like aspect, over all ranks."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fastload import _native
from fastload.errors import UsageError
from fastload.order import bucket_data, groups, mixture, shapes
from fastload.order.groups import GroupSampler, How, Sized, whole
from fastload.order.ranks import place, place_problems, plain
from fastload.order.samplers import next_epoch
from fastload.order.shapes import Shape
from fastload.spec import Longs

MOST = 4096  # buckets
SHOWN = 3  # of them, in a line


class BucketSampler(GroupSampler):
    """Batches whose images have one height and width: aspect-ratio buckets.

    For `DataLoader(data, batch_sampler=BucketSampler(data, 16))`. Each image goes to the bucket
    with the nearest aspect, and fastload's engines make the pipeline's images of its size.
    docs/buckets.md. The order is a pure function of (seed, epoch). In each step all ranks have the
    same bucket and as many images. Without `set_epoch` each iteration is one epoch further.

    Args:
        data: What `fastload.open` gives, or torchvision's ImageFolder and its like; or the heights
            and widths of all images, int [N, 2], px.
        batch_size: Images of a rank in a step.
        pixels: The most that a bucket may have, height * width.
        step: What heights and widths are multiples of, px.
        max_aspect: The longer side by the shorter one, at most.
        slack: By which share of `pixels` a bucket may be smaller.
        buckets: In place of these four: (height, width) of each, px.
        batch_pixels: In place of batch_size: pixels of a rank in a step. A bucket's batches have as
            many images as fit, at least one. For a budget of tokens: times the patch's pixels.
        shuffle: Whether each epoch has an order of its own; else buckets and images come by number.
        seed: 0 to 2**64 - 1; the same on all ranks.
        num_replicas: Ranks; None asks torch.distributed, 1 without a process group.
        rank: This one's number; None asks torch.distributed, 0 without a process group.
        drop_last: False: the last step of a bucket has fewer images, and repeats some of the
            bucket's where ranks would have unequal numbers (up to num_replicas - 1). True: each
            bucket leaves out what fills no step. Then a bucket without a full step gives its images
            to the one with the nearest aspect.

    Raises:
        UsageError: An argument is out of its range; every such argument is named.
        SourceError: The sizes of the data set's images cannot be found out.

    Example:
        >>> from fastload import BucketSampler
        >>> sizes = [(375, 500)] * 5 + [(500, 375)] * 3 + [(400, 400)] * 2
        >>> batches = BucketSampler(sizes, 2, pixels=256 * 256, step=32, seed=3)
        >>> len(batches), batches.counts
        (6, {(288, 224): 3, (256, 256): 2, (224, 288): 5})
        >>> batches.bucket_of(0)
        (224, 288)
    """

    def __init__(
        self,
        data: Any,
        batch_size: int | None = None,
        *,
        pixels: int = 1024 * 1024,
        step: int = 64,
        max_aspect: float = 2.0,
        slack: float = 0.1,
        buckets: Sequence[Shape] | None = None,
        batch_pixels: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        num_replicas: int | None = None,
        rank: int | None = None,
        drop_last: bool = False,
    ) -> None:
        how = How(shuffle, plain(seed), drop_last, *place("BucketSampler", num_replicas, rank))
        super().__init__(how)
        self.batch_size, self.batch_pixels = batch_size, batch_pixels
        problems = [
            *self._problems(),
            *place_problems(how.seed, how.num_replicas, how.rank),
            *_shape_problems(buckets, pixels, step, max_aspect, slack),
        ]
        if mixture.of_data(data):
            problems.append("data is a mix, whose weights it does not know; bucket its parts")
        if problems:
            raise UsageError("\n".join(f"BucketSampler: {problem}" for problem in problems))
        found = buckets or shapes.shapes(pixels, step, max_aspect, slack)
        if not 1 <= len(found) <= MOST:
            raise UsageError(
                f"BucketSampler: {len(found)} sizes have up to {pixels} px and are multiples of "
                f"{step} px (want 1 to {MOST}); change step, slack or max_aspect"
            )
        self.buckets: tuple[Shape, ...] = tuple((int(one[0]), int(one[1])) for one in found)
        self._sort(bucket_data.sizes(data))

    def _sort(self, sizes: Any) -> None:
        """Put the images into their buckets."""
        self.length = len(sizes)
        bucket = shapes.assigned(sizes, self.buckets)
        if self.drop_last:
            bucket = shapes.merged(bucket, self._together, self.buckets)
        cut = shapes.cut_shares(sizes, bucket, self.buckets)[(sizes > 0).all(axis=1)]
        self.cropped = float(cut.mean()) if len(cut) else 0.0
        self._groups = groups.grouped(bucket, self._together, self.how)
        self._bucket = bucket
        said = repr((self.buckets, self._together.tolist())).encode() + bucket.tobytes()
        self.fingerprint = _native.xxh3(said) >> 1

    @cached_property
    def _together(self) -> Longs:
        """int64 [K]: images of all ranks in one step of each bucket."""
        area = np.array([height * width for height, width in self.buckets], np.int64)
        mine = (
            np.full_like(area, self.batch_size or 1)
            if self.batch_pixels is None
            else np.maximum(self.batch_pixels // area, 1)
        )
        return mine * self.num_replicas

    @property
    def global_batch(self) -> int:
        """Images of all ranks in one full step, of the bucket that has most."""
        return int(self._together.max())

    @property
    def settings(self) -> dict[str, int]:
        """What its order depends on besides the seed: another one's state does not fit."""
        return {
            "global_batch": self.global_batch,
            "drop_last": int(self.drop_last),
            "buckets": self.fingerprint,
        }

    @property
    def counts(self) -> dict[Shape, int]:
        """How many images each bucket has, of those that have any."""
        pairs = zip(self.buckets, self._groups.count.tolist(), strict=True)
        return {shape: count for shape, count in pairs if count}

    @property
    def left_out(self) -> int:
        """Images that an epoch leaves out: none without drop_last."""
        return self._groups.left_out

    def said(self) -> str:
        """Its buckets in one line, as `DataLoader.explain` says them."""
        used = sorted(self.counts.items(), key=lambda pair: -pair[1])
        first = ", ".join(f"{h}x{w} {n / self.length:.0%}" for (h, w), n in used[:SHOWN])
        more = f", {len(used) - SHOWN} more" if len(used) > SHOWN else ""
        out = f"{len(used)} sizes ({first}{more}), {len(self):,} steps of {self.num_replicas} ranks"
        rest = f"{self.left_out:,} images left out, " if self.drop_last else ""
        return f"{out}; {rest}{self.cropped:.1%} of the pixels lie outside of the buckets' aspects"

    def bucket_of(self, index: int) -> Shape:
        """Height and width of the bucket of one image, px. Raises IndexError."""
        return self.buckets[int(self._bucket[index])]

    def __len__(self) -> int:
        """Steps of an epoch, on every rank."""
        return len(self._groups)

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.batches():
            yield batch.samples.tolist()

    def batches(self, first: int = 0) -> Iterator[Sized]:
        """This rank's share of the next epoch's steps, from number `first` on. The epoch begins at
        once, not when the first step is asked for.
        """
        return (
            Sized(share.samples, share.occurrences, self.buckets[share.group])
            for share in self._groups.shares(next_epoch(self), first)
        )

    def _problems(self) -> list[str]:
        given = [
            (name, value)
            for name, value in (
                ("batch_size", self.batch_size),
                ("batch_pixels", self.batch_pixels),
            )
            if value is not None
        ]
        problems = [
            f"{name} is {value!r}, want 1 or more" for name, value in given if not whole(value)
        ]
        if len(given) != 1:
            problems.append(
                f"{len(given)} of batch_size and batch_pixels are given, want exactly one"
            )
        return problems


def _shape_problems(
    buckets: Sequence[Shape] | None, pixels: int, step: int, max_aspect: float, slack: float
) -> list[str]:
    if buckets is not None:
        return shapes.shape_problems(buckets, MOST)
    checks = (
        (whole(pixels), f"pixels is {pixels!r}, want 1 or more"),
        (whole(step), f"step is {step!r}, want 1 or more"),
        (max_aspect >= 1, f"max_aspect is {max_aspect!r}, want 1 or more"),
        (0 <= slack < 1, f"slack is {slack!r}, want 0 or more, below 1"),
    )
    return [text for good, text in checks if not good]
