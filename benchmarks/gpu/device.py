"""On the GPU:

STORE against PyTorch's own operators, and the copy to the device. CUDA events; the L2 cache is
flushed before each step.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch

from benchmarks.loaders.child import MEAN, STD
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload import _native
from fastload.errors import BackendError
from fastload.measure import interleaved

COUNT, SIDE = 256, 224  # images; px
STEPS, LONGEST = 20, 0.3  # per repetition, and s after which no further step is begun
FLUSH = 256 << 20  # bytes written between steps; more than any L2 cache
DTYPES = (torch.uint8, torch.float16, torch.float32)
Step = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """Variants that do the same, the first one is the reference; bytes moved by one step, counted
    once each way.
    """

    settings: dict[str, Any]
    variants: Mapping[str, Callable[[], object]]
    moved: Mapping[str, int]


def run(
    repetitions: int,
    further: Callable[[], Iterator[Case]] = lambda: iter(()),
    keep: Callable[[list[Row]], object] = bool,
) -> list[Row]:
    """Rows of all cases and of further ones; keep is given each case's.

    Raises BackendError without a GPU or without our kernels.
    """
    if not torch.cuda.is_available():
        raise BackendError("gpu: torch sees no GPU; run this on a machine with one")
    if not _native.cuda_built:
        raise BackendError("gpu: this build has no CUDA kernels; build with -DFASTLOAD_CUDA=ON")
    common = facts.common()
    rows: list[Row] = []
    for case in chain(stores(), (copies(),), further()):
        results = list(measure(case, repetitions, common))
        keep(results)
        rows += results
    return rows


def measure(case: Case, repetitions: int, common: dict[str, Any]) -> Iterator[Row]:
    flush = torch.empty(FLUSH, dtype=torch.uint8, device="cuda")
    runs = {name: partial(rate, step, flush) for name, step in case.variants.items()}
    for warm_up in runs.values():
        warm_up()
    results = interleaved(runs, repetitions)
    reference = next(iter(runs))
    for name, sample in results.items():
        against = None if name == reference else results[reference]
        gigabytes = {"gigabytes_per_s": sample.median / COUNT * case.moved[name] / 1e9}
        yield Row(
            benchmark="gpu", variant=name, settings=case.settings,
            reference=None if against is None else reference, page_cache="not used",
            data={}, also=gigabytes, **measured(sample, against), **common,
        )  # fmt: skip


def rate(step: Callable[[], object], flush: torch.Tensor) -> float:
    """Images per second of the device's own time, over STEPS steps or fewer."""
    pairs: list[Any] = []
    began = time.perf_counter()
    while len(pairs) < STEPS and time.perf_counter() - began < LONGEST:
        flush.zero_()
        event = partial(torch.cuda.Event, enable_timing=True)
        start, end = event(), event()
        start.record()
        step()
        end.record()
        pairs.append((start, end))
    torch.cuda.synchronize()
    milliseconds: float = sum(start.elapsed_time(end) for start, end in pairs)
    return COUNT * len(pairs) / milliseconds * 1e3


# --- STORE ---


def stores() -> Iterator[Case]:
    images = torch.from_numpy(
        np.random.default_rng(0).integers(0, 256, (COUNT, SIDE, SIDE, 3), np.uint8)
    ).cuda()
    for dtype in DTYPES:
        for last in (False, True):
            name = str(dtype).removeprefix("torch.")
            yield Case(
                {
                    "step": "store",
                    "dtype": name,
                    "layout": "NHWC" if last else "NCHW",
                    "images": COUNT,
                    "size": SIDE,
                },
                {
                    "PyTorch operators": eager(images, dtype, last=last),
                    "fastload STORE": ours(images, dtype, last=last),
                },
                dict.fromkeys(
                    ("PyTorch operators", "fastload STORE"), images.numel() * (1 + dtype.itemsize)
                ),
            )


def eager(images: torch.Tensor, dtype: torch.dtype, *, last: bool) -> Callable[[], torch.Tensor]:
    """What people write: to float, normalise, to the model's type and layout."""
    mean, std = (
        torch.tensor(values, device="cuda").view(1, 3, 1, 1) * 255 for values in (MEAN, STD)
    )
    layout = torch.channels_last if last else torch.contiguous_format

    def step() -> torch.Tensor:
        planes = images.permute(0, 3, 1, 2)
        done = (
            planes.clone(memory_format=layout)
            if dtype == torch.uint8
            else ((planes.float() - mean) / std).to(dtype)
        )
        return done.contiguous(memory_format=layout)

    return step


def ours(images: torch.Tensor, dtype: torch.dtype, *, last: bool) -> Callable[[], None]:
    return partial(storer(dtype, last=last), images)


def storer(dtype: torch.dtype, *, last: bool) -> Callable[[torch.Tensor], None]:
    """STORE of COUNT images, into the same output each time."""
    table = torch.arange(256, dtype=torch.uint8).repeat(3, 1)
    if dtype != torch.uint8:
        table = (
            ((table.float() / 255) - torch.tensor(MEAN)[:, None]) / torch.tensor(STD)[:, None]
        ).to(dtype)
    there = table.contiguous().cuda()
    out = torch.empty(COUNT * SIDE * SIDE * 3, dtype=dtype, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    how = _native.DeviceStore(
        COUNT,
        SIDE,
        SIDE,
        str(dtype).removeprefix("torch."),
        _native.StoreRecords(channels_last=last),
    )

    def step(images: torch.Tensor) -> None:
        how.launch(images.data_ptr(), there.data_ptr(), 0, 0, out.data_ptr(), stream)

    return step


# --- host to device ---


def copies() -> Case:
    """Pinned batches: as float32, as uint8."""
    shape = (COUNT, SIDE, SIDE, 3)
    steps: dict[str, Callable[[], object]] = {}
    moved: dict[str, int] = {}
    for dtype in (torch.float32, torch.uint8):
        host = torch.zeros(shape, dtype=dtype).pin_memory()
        there = torch.empty(shape, dtype=dtype, device="cuda")
        name = f"{str(dtype).removeprefix('torch.')}, pinned"
        steps[name] = partial(there.copy_, host, non_blocking=True)
        moved[name] = host.nbytes
    return Case({"step": "copy to the device", "images": COUNT, "size": SIDE}, steps, moved)
