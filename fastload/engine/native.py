"""What is shared by all epochs of a loader: native threads, slots, placements. epoch.py runs one
epoch.
"""

import threading
from collections.abc import Callable, Iterator

import torch
import torch.utils.data

from fastload import _native
from fastload.backends import masks
from fastload.backends.base import Batch, Engine, WorkOrError
from fastload.backends.native import gpu_decode
from fastload.backends.native import runner as native
from fastload.engine.epoch import Inline, Threaded
from fastload.engine.feeding import Orders, Results, feeder
from fastload.engine.flight import Going, Ready, Started, images_of, kept_of
from fastload.engine.pace import Pace
from fastload.engine.slots import Ring
from fastload.engine.uploading import Decoded, Gpu, Uploader
from fastload.errors import BackendError, DeviceMemoryError
from fastload.plan.bad_samples import Report, Trouble
from fastload.plan.placement import HOST, Chooser, Placement
from fastload.plan.plan import targets
from fastload.sources.collect import Indexes
from fastload.sources.seek_views import View
from fastload.spec import Array, Longs, Work
from fastload.system import devices, room
from fastload.system.threads import Threads

# Threads, where there are any, that only read: they wait for the disk or the network, and need no
# core
READERS = 8


class NativeEngine(Engine):
    """Threads, slots and counters of one loader; lives as long as it, over all epochs."""

    retries_on_host = True  # a batch is made again by the CPU after the GPU had no memory for it

    def __init__(
        self,
        runner: native.Runner,
        threads: int,
        depth: int,
        seek: Indexes,
        *,
        pinned: bool,
        gpu: Gpu | None = None,
    ) -> None:
        self.runner, self.depth, self.seek, self.gpu = runner, depth, seek, gpu
        # Told of a batch's bad samples that did not raise.
        self.on_bad: Callable[[Report], object] = bool
        self.runners: dict[tuple[int | None, Placement], native.Runner] = {}  # by the work's size
        self.pool = _pool(threads)
        self.uploader = Uploader(runner.pictures, gpu.device, pinned=pinned) if gpu else None
        self.chooser = (
            self.uploader.chooser(gpu.places, depth if threads else 0)
            if self.uploader and gpu
            else Chooser([HOST])
        )
        self.rings = [Ring(depth + 2, pinned=pinned) for _ in runner.pictures]
        self.mask_threads = (
            Threads(threads, "fastload-masks") if threads and runner.plan.masks else None
        )

    @property
    def forked(self) -> bool:
        """Whether this process is a child of the one that has the threads."""
        return self.pool.forked

    def again(self) -> "NativeEngine":
        """The same without threads, for a child of fork whose parent goes on with this one."""
        devices.check_process(self.gpu.asked if self.gpu else None)
        return NativeEngine(self.runner, 0, self.depth, self.seek, pinned=self.rings[0].pinned)

    def indexes(self) -> Indexes:
        return self.seek

    def placements(self) -> Chooser:
        return self.chooser

    def stats(self) -> dict[str, tuple[int, int, int]]:
        return {} if self.forked else self.pool.stats()

    def ways(self) -> dict[str, int]:
        return {} if self.forked else self.pool.ways()

    def running(self) -> list[tuple[str, str, float]]:
        """What each busy thread does, as `_native.Pool.running`."""
        return self.pool.running() + (self.mask_threads.running() if self.mask_threads else [])

    def epoch(self, works: Iterator[WorkOrError], timeout: float = 0) -> Inline | Threaded:
        """Batches of `works`, in order.

        timeout: s that a batch may take, where there are threads; 0: any time.
        """
        seek = self.view = self.seek.epoch()
        self.chooser.begin()
        return (
            Inline(self, works, seek)
            if self.pool.threads == 0
            else Threaded(self, works, seek, timeout)
        )

    def feeder(
        self, seek: View, orders: Orders, started: Results, pace: Pace, stopped: threading.Event
    ) -> threading.Thread:
        """The thread of an epoch, running."""
        return feeder(self, seek, orders, started, pace, stopped)

    def start(self, job: _native.Job, work: Work) -> Started:
        """Draw the records and start decoding into a slot."""
        place, asked = self.chooser.place(work.size), work
        runner = self._runner(work.size, place)
        trouble = Trouble(runner.plan.on_error, work)
        drawn, work = runner.draw(job, work, trouble)
        outs = [
            ring.take(picture.host_shape(len(work)), picture.host_dtype)
            for ring, picture in zip(self.rings, runner.pictures, strict=True)
        ]
        sizes = job.sizes
        late = job.late.any()
        prepared = (
            self.uploader.prepare(job, drawn) if self.uploader and place.decode == "gpu" else None
        )
        runner.start(job, drawn, outs)
        if late:  # large images that Pillow decodes: here, where nobody waits for them
            drawn, work = runner.finish(job, work, drawn, outs, trouble)
        # Masks are begun at once, where there are threads for them.
        target = (
            None
            if runner.plan.masks is None
            else masks.begin(runner.plan, work, sizes, self.mask_threads)
        )
        return Started(runner, place, asked, work, job, drawn, outs, target, trouble, prepared)

    def _runner(self, size: int | None, place: Placement) -> native.Runner:
        if (size, place) not in self.runners:
            runner = self.runner.placed(place)
            self.runners[size, place] = runner if size is None else runner.at(size)
        return self.runners[size, place]

    def enter(self) -> None:
        """For the threads that make batches, when they begin."""
        if self.uploader:
            self.uploader.streams.enter()

    def complete(self, started: Started) -> Ready:
        """Wait for the pixels and wrap them, or send them to the GPU. Any thread."""
        return self.settle(self.launch(started))

    def launch(self, started: Started) -> Ready | Going:
        """The first half of it: waits for the host's part, not for the GPU."""
        runner, trouble = started.runner, started.trouble
        drawn, work = runner.finish(started.job, started.work, started.drawn, started.outs, trouble)
        if self.uploader:
            try:
                decoded = (
                    None
                    if started.prepared is None
                    else self.uploader.decode(started.prepared, started.outs)
                )
                ready = self._sent(self.uploader, started, drawn, work, decoded)
            except DeviceMemoryError as error:
                return self._made_again(started, error)
            return Going(started, work, drawn, decoded, ready) if decoded else ready
        target, kept, valid = self._beside(started, drawn, work)
        parts = [
            images_of(picture, out)
            for picture, out in zip(runner.pictures, started.outs, strict=True)
        ]
        if kept is not None:
            parts, target = [kept_of(part, kept) for part in parts], kept_of(target, kept)
        if self.rings[0].pinned:
            target = target.pin_memory()
        return Ready(parts, target, valid, None, started.place, work, trouble.report())

    def settle(self, going: Ready | Going) -> Ready:
        """The second half: waits for the GPU's decoder.

        With images that it has flagged, which the host makes, the batch is sent again.
        """
        if isinstance(going, Ready):
            return going
        started, work, drawn, decoded, ready = going
        again = gpu_decode.recall(started.job, decoded.launched)
        if not len(again) or not self.uploader:
            return ready
        started.runner.start(started.job, drawn, started.outs)
        drawn, work = started.runner.finish(started.job, work, drawn, started.outs, started.trouble)
        try:
            self.uploader.mend(started.outs, decoded.crops, again)
            return self._sent(self.uploader, started, drawn, work, decoded)
        except DeviceMemoryError as error:
            return self._made_again(started, error)

    def _sent(
        self,
        to: Uploader,
        started: Started,
        drawn: list[native.Drawn],
        work: Work,
        decoded: Decoded | None,
    ) -> Ready:
        """On its way to the GPU."""
        target, kept, valid = self._beside(started, drawn, work)
        sent = to.send(
            started.runner.pictures,
            started.outs,
            target,
            drawn,
            kept,
            decoded.crops if decoded else None,
        )
        return Ready(
            sent.images, sent.target, valid, sent, started.place, work, started.trouble.report()
        )

    def _made_again(self, started: Started, error: DeviceMemoryError) -> Ready:
        """By the host, where its place takes more memory than there is, and may be changed.

        Else raises the error.
        """
        if (
            started.place == HOST
            or not self.retries_on_host
            or not self.chooser.drop(started.place, str(error))
        ):
            raise error
        asked = started.asked
        job = self.runner.begin(
            self.pool, asked, self.runner.plan.source.locate(asked.samples), self.view
        )
        return self.complete(self.start(job, asked))

    def _beside(
        self, started: Started, drawn: list[native.Drawn], work: Work
    ) -> tuple[torch.Tensor, Longs | None, torch.Tensor | None]:
        """Of the batch: the target, the places that are handed out (None: all), and `Work.valid` of
        these.
        """
        target = (
            started.target.tensor()
            if started.target
            else _own(targets(started.runner.plan, work, drawn[0].mixed))
        )
        kept, valid = (
            started.trouble.kept(len(work)),
            None if work.valid is None else _own(work.valid),
        )
        return target, kept, valid if valid is None or kept is None else kept_of(valid, kept)

    def finish(self, started: Started | Ready, on_bad: Callable[[Report], object]) -> Batch:
        """The batch, in the caller's thread. on_bad: this epoch's; others may be under way."""
        made = started if isinstance(started, Ready) else self.complete(started)
        on_bad(made.report)
        self.seek.warn()
        if made.sent and self.uploader and self.gpu:
            devices.same(self.gpu.device, self.gpu.asked)
            with self.uploader.streams.relaxed():
                mark = self.uploader.hand(made.sent)
            self.chooser.handed(made.work.size, made.place, len(made.work), mark)
        images = made.parts if self.runner.plan.views else made.parts[0]
        return [images, made.target] if made.valid is None else [images, made.target, made.valid]


def _own(array: Array) -> torch.Tensor:
    """A tensor in torch's own memory, which a program may resize."""
    return torch.from_numpy(array).clone()


def _pool(threads: int) -> _native.Pool:
    """Raises HostMemoryError, and BackendError where something else than memory forbids threads."""
    if threads:
        room.check(f"{threads} threads", (threads + READERS) * room.THREAD)
    try:
        return _native.Pool(threads, READERS)
    except (MemoryError, RuntimeError, OSError) as error:
        what = f"{threads} threads cannot be started ({error})"
        raise BackendError(
            f"loader: {what}; take fewer workers, or raise the limits of the process"
        ) from error
