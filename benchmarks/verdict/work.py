"""What a scenario's loader and step do: they sleep, or burn CPU time, as long as they are told."""

import io
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.utils.data
from PIL import Image, ImageFile
from torchvision.transforms import Compose

import fastload
from benchmarks.verdict.scenarios import IMAGES, Scenario
from fastload.profiler import EmulatedStep
from fastload.profiler.batches import images_in

SIZE = 32  # px, of what the made data sets give
NATIVE_SIZE, NATIVE_IMAGES, NATIVE_BATCH = 96, 24, 8
LONG = 10_000_000  # samples: no epoch ends


_real, _added = time.thread_time, threading.local()
_emulated = False


def emulate(on: bool) -> None:
    """From now on CPU time is played: burning sleeps, and this process's and its workers' clocks of
    CPU time are told.

    So trainings are the same on a machine whose cores others need; neighbours and fastload's own
    loader are real.
    """
    global _emulated  # noqa: PLW0603  one clock per process
    _emulated = on
    time.thread_time = lambda: _real() + getattr(_added, "seconds", 0.0)


def emulating() -> bool:
    return _emulated


def nap(seconds: float) -> None:
    if seconds > 0:
        time.sleep(seconds)


def burn(seconds: float, piece: Callable[[], object] = int) -> None:
    """CPU time of this thread, in pieces."""
    start = time.thread_time()
    if _emulated and seconds > 0:
        began = time.perf_counter()
        time.sleep(seconds)
        _added.seconds = getattr(_added, "seconds", 0.0) + time.perf_counter() - began
    while time.thread_time() - start < seconds:
        piece()


@cache
def jpeg(side: int, seed: int = 0) -> bytes:
    noise = np.random.default_rng(seed).integers(0, 256, (side // 4, side // 3, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).resize((side * 4 // 3, side), Image.Resampling.BICUBIC).save(
        out, "JPEG", quality=90
    )
    return out.getvalue()


class _Decoder(ImageFile.PyDecoder):
    """Of a made-up format: decoding burns as long as it is told."""

    def decode(self, buffer: Any) -> tuple[int, int]:
        burn(float(self.args[0]))
        self.set_as_raw(bytes(3))
        return -1, 0


class Photo(ImageFile.ImageFile):
    """One pixel whose decoding takes `seconds`; PIL's own `load` runs it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(io.BytesIO(b"x"), "x")

    def _open(self) -> None:
        self._size, self._mode = (1, 1), "RGB"
        self.tile = [ImageFile._Tile("fastload_slow", (0, 0, 1, 1), 0, (self.seconds,))]


Image.register_decoder("fastload_slow", _Decoder)


class Blur:
    """Burns in library code."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, image: Any) -> Any:
        burn(self.seconds, lambda: np.sort(np.ones(500)))
        return image


class Loop(Blur):
    """Burns in Python code, which holds the GIL."""

    def __call__(self, image: Any) -> Any:
        burn(self.seconds)
        return image


class Images(torch.utils.data.Dataset[Any]):
    def __init__(self, scenario: Scenario) -> None:
        cost = {name: ms / 1e3 / IMAGES for name, ms in scenario.costs.items()}
        self.cost, self.scenario = cost, scenario
        self.transform = Compose([Blur(cost.get("augment", 0.0)), Loop(cost.get("python", 0.0))])
        size = int(scenario.costs.get("payload", 0.0) * 1e6 / IMAGES)
        self.payload = (
            (torch.zeros(size, dtype=torch.uint8),) if size else ()
        )  # each tensor of a batch costs a transfer of its own

    def __len__(self) -> int:
        return LONG

    def __getitem__(self, index: int) -> Any:
        info = torch.utils.data.get_worker_info()
        if self.scenario.only_worker is None or (
            info is not None and info.id == self.scenario.only_worker
        ):
            nap(self.cost.get("read", 0.0))
            burn(self.cost.get("dataset", 0.0))
            if decode := self.cost.get("decode", 0.0):
                Photo(decode).load()
        if index % (IMAGES * self.scenario.every) == IMAGES * (self.scenario.every - 1):
            nap(IMAGES * self.cost.get("jitter", 0.0))
        return self.transform(torch.zeros(3, SIZE, SIZE)), *self.payload


class Stream(torch.utils.data.IterableDataset[Any]):
    def __init__(self, images: Images) -> None:
        self.images, self.transform = images, images.transform

    def __iter__(self) -> Iterator[Any]:
        return map(self.images.__getitem__, range(LONG))


class Collate:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, samples: Any) -> Any:
        burn(self.seconds)
        return torch.utils.data.default_collate(samples)


def make_loader(scenario: Scenario) -> Any:
    if scenario.loader == "native":
        return native_loader(scenario)
    data: Any = Images(scenario)
    data = Stream(data) if scenario.loader == "iterable" else data
    collate = Collate(scenario.costs.get("collate", 0.0) / 1e3)
    return torch.utils.data.DataLoader(
        data, IMAGES, num_workers=scenario.workers, collate_fn=collate
    )


@cache
def _folder(side: int) -> tuple[tempfile.TemporaryDirectory[str], str]:
    held = tempfile.TemporaryDirectory(prefix="fastload-verdict-")
    for number in range(NATIVE_IMAGES):
        (folder := Path(held.name) / f"class{number % 2}").mkdir(exist_ok=True)
        (folder / f"{number:02d}.jpg").write_bytes(jpeg(side, number % 3))
    return held, held.name


def native_loader(scenario: Scenario) -> Any:
    """Without "decode" the same pixels lie in memory."""
    from torchvision.datasets import CIFAR10, ImageFolder
    from torchvision.transforms import v2

    ops: list[Any] = [v2.RandomResizedCrop(NATIVE_SIZE, scale=(0.9, 1.0))]
    if scenario.costs.get("augment"):
        ops += [
            v2.GaussianBlur(11, sigma=3.0),
            v2.RandomAdjustSharpness(2.0, p=1.0),
            v2.RandomAutocontrast(p=1.0),
        ]
    chain = v2.Compose([*ops, v2.PILToTensor()])
    data: Any = ImageFolder(_folder(scenario.side)[1], chain)
    if not scenario.costs.get("decode"):
        pixels = np.stack([np.asarray(Image.open(path)) for path, _ in data.samples])
        data = CIFAR10.__new__(CIFAR10)
        data.data, data.targets, data.transform, data.target_transform = (
            pixels,
            [0] * len(pixels),
            chain,
            None,
        )
        data.transforms, data.train, data.root = None, True, ""
    from fastload.profiler.batches import Endless

    return fastload.DataLoader(
        data,
        NATIVE_BATCH,
        sampler=Endless(len(data)),
        num_workers=scenario.workers,
        backend="native",
        seek_index="use",
        drop_last=True,
    )


class Step:
    """Sleeps or spins; EmulatedStep is the one that lets the host run ahead."""

    def __init__(self, seconds: float, *, spins: bool = False) -> None:
        self.seconds, self.spins = seconds, spins

    def __call__(self, batch: Any) -> None:
        if self.spins:
            burn(self.seconds)
        else:
            nap(self.seconds)


def make_step(scenario: Scenario) -> Any:
    seconds = scenario.step / 1e3
    if scenario.step_kind == "ahead" and seconds:
        return EmulatedStep(IMAGES / seconds)
    return Step(seconds, spins=scenario.step_kind == "spin")


def make_copy(scenario: Scenario) -> Callable[[Any], Any] | None:
    """What moves a batch to the GPU: the host waits meanwhile, as with memory that is not
    pinned.
    """
    seconds = scenario.costs.get("copy", 0.0) / 1e3

    def copy(batch: Any) -> Any:
        nap(seconds)
        return list(batch)

    return copy if seconds else None


__all__ = ["Compose", "images_in", "make_copy", "make_loader", "make_step"]
