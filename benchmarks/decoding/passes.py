"""One pass of one decoder over the images of a workload: nanoseconds by `_native.time_crop`, or by
the clock on several cores.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from benchmarks.decoding.images import Workload
from fastload import _native
from fastload.conversion.seek_writer import COEFFICIENTS
from fastload.errors import BackendError
from fastload.measure import Sample
from fastload.spec import Ints, Longs, Pixels

STOPPING = ("headers", "entropy", "planes")  # routes that make no pixels
PIXELS = "pixels"  # a route of our own: only the resize, of pixels that were decoded before


@dataclass(frozen=True)
class Way:
    """How an image is decoded: the arguments of `_native.time_crop`."""

    route: str
    # Of the seek index; COEFFICIENTS: a coefficient layer; None: none is used
    step: int | None = None
    target: str = "best"
    limit: str = ""  # instruction set, see `_native.limit_targets`


@dataclass(frozen=True)
class Passes:
    """One variant; each call is a pass over all images, and its times are kept."""

    work: Workload
    way: Way
    indexes: Sequence[bytes | None]  # one per image
    times: list[Longs] = field(
        default_factory=list
    )  # int64 [N, 2]: ns of decoding and of the resize

    def __call__(self) -> float:
        """Images per second of one pass."""
        results = one_pass(self.work, self.way, self.indexes)
        self.times.append(results)
        return float(rates(results[None]).median)

    def hashes(self) -> list[int] | None:
        """XXH3 of each image's pixels, in a pass whose times are dropped; None where no pixels are
        made.
        """
        results: list[int] = []
        one_pass(self.work, self.way, self.indexes, lambda out: results.append(_native.xxh3(out)))
        return None if self.way.route in STOPPING else results


def indexes(work: Workload, step: int | None) -> list[bytes | None]:
    if step is None:
        return [None] * len(work.images.jpegs)
    if step == COEFFICIENTS:
        return [_native.jpeg_layer(jpeg) for jpeg in work.images.jpegs]
    return [_native.jpeg_index(jpeg, step) for jpeg in work.images.jpegs]


def layer_share(passes: Passes) -> float:
    """Bytes of what the images are decoded by, to those of the images."""
    held = sum(len(index or b"") for index in passes.indexes)
    return round(held / sum(map(len, passes.work.images.jpegs)), 4)


def one_pass(
    work: Workload,
    way: Way,
    indexes: Sequence[bytes | None],
    on_made: Callable[[Pixels], object] = lambda _: None,
) -> Longs:
    """int64 [N, 2]: nanoseconds of decoding and of the resize of every image."""
    out = np.empty((work.size, work.size, 3), np.uint8)
    results = np.empty((len(indexes), 2), np.int64)
    _native.limit_targets(way.limit)
    try:
        for image, (jpeg, index, crop) in enumerate(
            zip(work.images.jpegs, indexes, work.crops, strict=True)
        ):
            results[image] = time_one(jpeg, index, crop, out, way)
            on_made(out)
    finally:
        _native.limit_targets("")
    return results


def time_one(
    jpeg: bytes, index: bytes | None, crop: Ints, out: Pixels, way: Way
) -> tuple[int, int]:
    if way.route != PIXELS:
        return _native.time_crop(jpeg, index, crop, out, way.route, way.target)
    pixels = _native.decode(jpeg)
    start = time.perf_counter_ns()
    _native.crop_resize(pixels, crop, out, "bilinear", way.target)
    return 0, time.perf_counter_ns() - start


def check_pixels(name: str, passes: Passes, expected: dict[str, list[int]]) -> None:
    """Run the pass that is dropped; raise BackendError where a variant's pixels differ from the
    first variant's of this workload.
    """
    results = passes.hashes()
    if results is None:
        return
    first = expected.setdefault(passes.work.name, results)
    wrong = [image for image, (a, b) in enumerate(zip(results, first, strict=True)) if a != b]
    if wrong:
        what = (
            f"{len(wrong)} of {len(results)} images have other pixels than libjpeg-turbo's, the "
            f"first is image {wrong[0]}"
        )
        raise BackendError(f"decode: {name}: {what}; report this")


def rates(times: Longs) -> Sample:
    """Images per second of each pass: times int64 [passes, N, …], ns."""
    nanoseconds = times.reshape(*times.shape[:2], -1).sum(axis=(1, 2))
    return Sample(tuple(times.shape[1] * 1e9 / nanoseconds))


# --- several cores, by the clock ---


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """The calling thread stays on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def pinned_threads(cores: Sequence[int]) -> ThreadPoolExecutor:
    """One thread on each of the cores."""
    left = iter(cores)
    return ThreadPoolExecutor(len(cores), initializer=lambda: os.sched_setaffinity(0, {next(left)}))


def clock_rate(passes: Passes, threads: Executor, count: int) -> float:
    """Images per second by the clock: `count` threads take one image after the other."""
    left = iter(range(len(passes.indexes)))

    def run() -> None:
        work, out = passes.work, np.empty((passes.work.size, passes.work.size, 3), np.uint8)
        for image in left:
            time_one(
                work.images.jpegs[image], passes.indexes[image], work.crops[image], out, passes.way
            )

    start = time.perf_counter()
    for task in [threads.submit(run) for _ in range(count)]:
        task.result()
    return len(passes.indexes) / (time.perf_counter() - start)
