"""What is shared by all epochs of a loader: native threads, slots, placements. epoch.py runs one
epoch.
"""

import threading
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.utils.data

from fastload.backends import masks, mending
from fastload.backends.base import Batch, Engine, Known, WorkOrError
from fastload.backends.native import gpu_decode
from fastload.backends.native import runner as native
from fastload.engine import pools, tensors
from fastload.engine.bundles import Bundled
from fastload.engine.epoch import Threaded
from fastload.engine.feeding import feeder
from fastload.engine.flight import Begun, Feed, Launched, Ready, Started
from fastload.engine.inline import Inline
from fastload.engine.slots import Ring
from fastload.engine.uploading import Decoded, Gpu, Uploader
from fastload.errors import DeviceMemoryError
from fastload.plan.bad_samples import Report
from fastload.plan.batch import targets
from fastload.plan.placement import HOST, Chooser, Placement
from fastload.sources.base import Location, remote
from fastload.sources.collect import Indexes
from fastload.sources.seek_views import View
from fastload.spec import Array, Longs, Size, Work
from fastload.system import devices
from fastload.system.openmp import one_thread
from fastload.system.threads import Threads


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
        together: int = 1,
        bundle: int = 1,
    ) -> None:
        self.runner, self.seek, self.gpu = runner, seek, gpu
        self.depth, self.together, self.bundle = depth, together, bundle
        # Told of a batch's bad samples that did not raise.
        self.on_bad: Callable[[Report], object] = bool
        self.runners: dict[tuple[Size | None, Placement], native.Runner] = {}  # by the work's size
        self.pool = pools.made(threads)
        self.own = tensors.Owned() if threads else tensors.own  # in the caller's modes of torch
        self.uploader, self.chooser = None, Chooser([HOST])
        if gpu:
            self.uploader = Uploader(runner.pictures, gpu.device, pinned=pinned)
            self.chooser = self.uploader.chooser(gpu.placements, depth if threads else 0)
        ring = partial(Ring, depth + together + 1, pinned=pinned, lent=not gpu)
        self.rings = [ring() for _ in runner.pictures]
        # Whether the caller gets images that are made of a slot's, which have to be there first
        self.copied = any(map(tensors.copied, runner.pictures))
        self.covered = not (pinned or self.copied)
        masked = threads and runner.plan.masks
        self.mask_threads = Threads(threads, "fastload-masks", one_thread) if masked else None

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
        """Waits for a store are reading, which holds up every thread."""
        stats = {} if self.forked else self.pool.stats()
        if "read" in stats and (far := remote(self.runner.plan.source)) is not None:
            samples, wall, cpu = stats["read"]
            waited = far.access.store.traffic.waited_s * max(1, self.pool.threads)
            stats["read"] = samples, wall + int(waited * 1e9), cpu
        return stats

    def ways(self) -> dict[str, int]:
        return {} if self.forked else self.pool.ways()

    def running(self) -> list[tuple[str, str, float]]:
        """What each busy thread does, as `_native.Pool.running`."""
        return self.pool.running() + (self.mask_threads.running() if self.mask_threads else [])

    def epoch(self, works: Iterator[WorkOrError], timeout: float = 0) -> Inline | Threaded:
        """Batches of `works`, in order. timeout: as of `Engine.epoch`, where there are threads."""
        seek = self.view = self.seek.epoch()
        self.chooser.begin()
        if self.pool.threads == 0:
            return Inline(self, works, seek)
        if self.bundle > 1 and not timeout and isinstance(works, Known):
            return Bundled(self, works, seek, self.bundle)
        return Threaded(self, works, seek, timeout)

    def feeder(self, feed: Feed) -> threading.Thread:
        """The thread of an epoch, running."""
        return feeder(self, feed)

    def begin(self, work: Work, location: Location, seek: View) -> Begun:
        """Start reading, and let the job go on by itself where it can."""
        job = self.runner.begin(self.pool, work, location, seek)
        if self.uploader or not self.pool.threads:
            return Begun(job, work, None)
        runner = self._runner(work.size, HOST)
        return Begun(job, work, runner.ahead(job, work, partial(self._outs, runner, work)))

    def _outs(self, runner: native.Runner, work: Work) -> native.Outs:
        """Memory for a batch, and tensors over it where these can be made before the pixels."""
        if not self.covered:
            return native.Outs(self._slots(runner, work), None)
        pairs = zip(self.rings, runner.pictures, strict=True)
        covers = [ring.cover(picture, len(work)) for ring, picture in pairs]
        return native.Outs([one.array for one in covers], [one.images for one in covers])

    def _slots(self, runner: native.Runner, work: Work) -> list[Array]:
        """Memory for a batch, of each picture."""
        return [
            ring.take(picture.host_shape(len(work)), picture.host_dtype)
            for ring, picture in zip(self.rings, runner.pictures, strict=True)
        ]

    def promise(self, begun: Begun) -> Started:
        """A batch whose job goes on by itself, as it will be if nothing of it is irregular."""
        batch, work = begun.ahead, begun.work
        assert batch is not None
        ready = None if self.copied else self._wrapped(batch, HOST)
        return Started(batch, HOST, work, None, None, ready, [])

    def start(self, begun: Begun) -> Started:
        """Draw the records and start decoding into a slot."""
        job, work, ahead = begun
        if ahead and job.drawn:
            return self.promise(begun)
        placement = self.chooser.choose(work.size)
        runner = self._runner(work.size, placement)
        batch = runner.draw(job, work)
        count, sizes = len(batch.work), job.sizes
        outs = ahead.outs if ahead and count == len(work) else self._slots(runner, batch.work)
        late, prepared = job.late.any(), None
        if self.uploader and placement.decode == "gpu":
            prepared = self.uploader.prepare(job, batch.drawn)
        batch.start(outs)
        if late:  # large images that Pillow decodes: here, where nobody waits for them
            batch.finish()
        # Masks are begun at once, where there are threads for them.
        beside = None
        if runner.plan.masks is not None:
            beside = masks.begin(runner.plan, batch.work, sizes, self.mask_threads)
        return Started(batch, placement, work, beside, prepared)

    def _runner(self, size: Size | None, placement: Placement) -> native.Runner:
        if (size, placement) not in self.runners:
            runner = self.runner.placed(placement)
            self.runners[size, placement] = runner if size is None else runner.at(size)
        return self.runners[size, placement]

    def enter(self) -> None:
        """For the threads that make batches, when they begin."""
        if self.uploader:
            self.uploader.streams.enter()

    def complete(self, started: Started) -> Ready:
        """Wait for the pixels and wrap them, or send them to the GPU. Any thread."""
        if started.ready is not None and started.batch.whole():  # as nearly always
            return started.ready
        return self.settle(self.launch(started))

    def launch(self, started: Started) -> Ready | Launched:
        """The first half of it: waits for the host's part, not for the GPU."""
        batch = started.batch
        batch.finish()
        if self.uploader:
            try:
                decoded = (
                    None
                    if started.prepared is None
                    else self.uploader.decode(started.prepared, batch.outs)
                )
                ready = self._sent(self.uploader, started, decoded)
            except DeviceMemoryError as error:
                return self._on_host(started, error)
            return Launched(started, decoded, ready) if decoded else ready
        return self._wrapped(batch, started.placement, started.masks)

    def _wrapped(
        self, batch: native.DrawnBatch, placement: Placement, beside: masks.Begun | None = None
    ) -> Ready:
        """The batch as tensors, where nothing of it goes to a GPU."""
        target, kept, valid = self._labels(batch, beside)
        images = batch.images
        if images is None:
            pairs = zip(batch.runner.pictures, batch.outs, strict=True)
            images = [tensors.images(picture, out) for picture, out in pairs]
        if kept is not None:
            index = torch.from_numpy(kept)
            target, *images = [mending.at(one, index) for one in (target, *images)]
        if self.rings[0].pinned:
            target = target.pin_memory()
        return Ready(images, target, valid, None, placement, batch.work, batch.trouble.report())

    def settle(self, launched: Ready | Launched) -> Ready:
        """The second half: waits for the GPU's decoder.

        With images that it has flagged, which the host makes, the batch is sent again.
        """
        if isinstance(launched, Ready):
            return launched
        started, decoded, ready = launched
        batch = started.batch
        flagged = gpu_decode.recall(batch.job, decoded.launched)
        if not len(flagged) or not self.uploader:
            return ready
        batch.start(batch.outs)
        batch.finish()
        try:
            self.uploader.mend(batch.outs, decoded.crops, flagged)
            return self._sent(self.uploader, started, decoded)
        except DeviceMemoryError as error:
            return self._on_host(started, error)

    def _sent(self, uploader: Uploader, started: Started, decoded: Decoded | None) -> Ready:
        """On its way to the GPU."""
        batch = started.batch
        target, kept, valid = self._labels(batch, started.masks)
        crops = decoded.crops if decoded else None
        sent = uploader.send(batch.runner.pictures, batch.outs, target, batch.drawn, kept, crops)
        report = batch.trouble.report()
        return Ready(sent.images, sent.target, valid, sent, started.placement, batch.work, report)

    def _on_host(self, started: Started, error: DeviceMemoryError) -> Ready:
        """The batch by the host, where its placement takes more memory than there is, and may be
        changed.

        Else raises the error.
        """
        if (
            started.placement == HOST
            or not self.retries_on_host
            or not self.chooser.drop(started.placement, str(error))
        ):
            raise error
        work = started.requested
        location = self.runner.plan.source.locate(work.samples)
        job = self.runner.begin(self.pool, work, location, self.view)
        return self.complete(self.start(Begun(job, work, None)))

    def _labels(
        self, batch: native.DrawnBatch, beside: masks.Begun | None
    ) -> tuple[torch.Tensor, Longs | None, torch.Tensor | None]:
        """Of the batch: the target, the positions that are handed out (None: all), and `Work.valid`
        of these.
        """
        work = batch.work
        target = (
            beside.tensor()
            if beside
            else self.own(targets(batch.runner.plan, work, batch.drawn[0].mix))
        )
        kept = batch.trouble.kept(len(work))
        valid = None if work.valid is None else tensors.own(work.valid)
        return (
            target,
            kept,
            valid if valid is None or kept is None else mending.at(valid, torch.from_numpy(kept)),
        )

    def finish(self, started: Started | Ready, on_bad: Callable[[Report], object]) -> Batch:
        """The batch, in the caller's thread. on_bad: this epoch's; others may be under way."""
        ready = started if isinstance(started, Ready) else self.complete(started)
        if ready.report.errors:
            on_bad(ready.report)
        self.seek.warn()
        if ready.sent and self.uploader and self.gpu:
            devices.same(self.gpu.device, self.gpu.asked)
            with self.uploader.streams.relaxed():
                mark = self.uploader.hand(ready.sent)
            self.chooser.handed(ready.work.size, ready.placement, len(ready.work), mark)
        images = ready.images if self.runner.plan.views else ready.images[0]
        return [images, ready.target, *([] if ready.valid is None else [ready.valid])]
