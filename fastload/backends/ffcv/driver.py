"""FFCV's loader, driven batch by batch: it compiles the loop, and runs it in a thread of its own
per epoch.

Import `imports.load()` first. FFCV takes an epoch's order at once and numbers of samples; here a
batch is ordered when it is wanted, and its numbers are positions in a lent job, which knows the
samples, their records and where their pixels go. So order, sizes that change and every draw stay
ours, and one compiled loop serves all epochs.
Nothing is mapped, as FFCV would: the job reads.
"""

import ctypes
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

import numpy as np
from ffcv.fields.rgb_image import SimpleRGBImageDecoder
from ffcv.loader import Loader
from ffcv.loader.epoch_iterator import EpochIterator
from ffcv.memory_managers import MemoryContext
from ffcv.pipeline.compiler import Compiler
from ffcv.pipeline.state import State

from fastload import _native
from fastload.backends.ffcv import imports
from fastload.sources.beton import BetonSource
from fastload.spec import Array, Json, Longs

# Some of Numba's thread pools end the process when two threads use them at once.
ONE_AT_A_TIME = threading.Lock()
MAKE_SAMPLE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64)(
    _native.CALLS["make_sample"]
)


class Loop:
    """One compiled loop over one file, for all epochs of a loader."""

    def __init__(self, source: BetonSource, threads: int) -> None:
        # The address of the batch that runs. Where this array lies is compiled in.
        self.job = np.zeros(1, np.int64)
        image, _ = source.chosen
        pipelines: Json = dict.fromkeys(source.file.names)
        pipelines[image] = [Make(self.job)]
        with imports.threads_kept():
            self.loader = Loader(
                source.where,
                batch_size=1,
                num_workers=threads,
                os_cache=True,
                pipelines=pipelines,
                drop_last=False,
            )
        self.loader.memory_manager.context = NoMemory()

    def start(
        self, jobs: Iterator[_native.Job], failed: Callable[[BaseException], None]
    ) -> threading.Thread:
        """Make the samples of each job, in a thread of their own that asks for the next job when
        one is made.

        failed: gets what is raised there, jobs' own errors too.
        """
        with imports.threads_kept():
            return Epoch(self, jobs, failed)


class NoMemory(MemoryContext):  # type: ignore[misc]
    """In place of FFCV's mapping of its file, which ends the process (SIGBUS) where that is cut off
    while it is read.
    """

    state = ()  # what the compiled loop is given

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class Epoch(EpochIterator):  # type: ignore[misc]
    """FFCV's thread, with batches that are ordered one by one, and an end even where something is
    raised.
    """

    def __init__(
        self, loop: Loop, jobs: Iterator[_native.Job], failed: Callable[[BaseException], None]
    ) -> None:
        self.loop, self.jobs, self.failed = loop, jobs, failed
        super().__init__(loop.loader, np.zeros(0, np.int64))

    def start(self) -> None:
        self.iter_ixes = self._places()
        self.output_queue = self  # FFCV's would keep the thread waiting for a consumer who has gone
        super().start()

    def _places(self) -> Generator[Longs, None, None]:
        """Places in each batch; it has run when the next one is asked for."""
        for job in self.jobs:
            with ONE_AT_A_TIME:
                self.loop.job[0] = job.address
                try:
                    yield np.arange(len(job))
                finally:
                    self.loop.job[0] = 0

    def put(self, item: object, block: bool = True, timeout: float | None = None) -> None:
        """What FFCV hands out is dropped: the job has everything."""

    def run(self) -> None:
        try:
            super().run()
        except BaseException as error:  # noqa: BLE001  handed to the consumer, whole
            self.failed(error)
        finally:
            self.iter_ixes.close()


class Make(SimpleRGBImageDecoder):  # type: ignore[misc]
    """In place of FFCV's decoder, which drops the return code of its JPEG library: the native
    engine makes each sample whole.
    """

    def __init__(self, job: Array) -> None:
        super().__init__()
        self.job = job

    def declare_state_and_memory(self, previous_state: State) -> tuple[State, None]:
        return replace(previous_state, jit_mode=True, shape=(1,), dtype=np.dtype(np.int64)), None

    def generate_code(self) -> Callable[[Longs, object, object, object], Longs]:
        address, make, iterate = self.job.ctypes.data, MAKE_SAMPLE, Compiler.get_iterator()

        def decode(batch: Longs, memory: object, metadata: object, storage: object) -> Longs:
            for position in iterate(len(batch)):
                make(address, batch[position])
            return batch

        decode.is_parallel = True  # type: ignore[attr-defined]
        return decode
