"""Batches for the GPU's STORE, and what NumPy makes of them; run on the host here, and by tests/gpu
on a device.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload import _native as native
from fastload import rng as random
from tests.kernels.helpers import stored

DTYPES = {
    "uint8": np.uint8,
    "float16": np.float16,
    "bfloat16": np.uint16,
    "float32": np.float32,
}  # bfloat16: its bits
SIZES = [
    (1, 1),
    (1, 257),
    (13, 7),
    (33, 65),
]  # height, width; px; no multiples of a block of threads
KINDS = {"colour": (0, 0, 0), "noise": (1, 2, 1), "both": (0, 1, 2)}  # of three boxes
CANARY = 0xA5


def any_bits(rng: np.random.Generator, dtype: Any, *shape: int) -> Any:
    """NaNs and infinities must come through as they are."""
    return (
        np.frombuffer(rng.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype)
        .reshape(shape)
        .copy()
    )


def boxes_in(
    rng: np.random.Generator, shape: tuple[int, ...], height: int, width: int
) -> NDArray[np.int32]:
    """int32 [*shape, 4], empty ones too."""
    sizes = np.array([height, width])
    extent = rng.integers(0, sizes + 1, (*shape, 2))
    return np.concatenate([rng.integers(0, sizes - extent + 1), extent], axis=-1).astype(np.int32)


@dataclass
class Case:
    """Images [N, H, W, 3] and what becomes of them; `lists` are DeviceStore's arguments."""

    name: str  # of the type
    count: int
    size: tuple[int, int]
    last: bool = False
    kept: str = ""  # "": everything; "batch", "each", or "rows": own rows, and the same columns
    erased: str = ""
    mixed: bool = False
    images: Any = None
    table: Any = None
    lists: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.count, *self.size])
        self.images = rng.integers(0, 256, (self.count, *self.size, 3), np.uint8)
        self.table = self._values(rng, 3, 256)
        height, width = self.size
        if self.kept:
            counts = [
                self.count if self.kept in names else 1 for names in (("each", "rows"), ("each",))
            ]
            height, width = max(1, height - 3), width + 2  # numbers in any order, and repeated
            sizes = zip(counts, self.size, (height, width), strict=True)
            self.lists["rows"], self.lists["columns"] = (
                rng.integers(0, full, (n, left), np.int32) for n, full, left in sizes
            )
        self.stored = height, width
        if self.erased:
            self.lists["boxes"], self.lists["fills"] = (
                boxes_in(rng, (self.count, 3), height, width),
                self._values(rng, 3, 3),
            )
        if self.erased not in ("", "colour"):
            fillings = np.array(
                [(kind, k % 2) for k, kind in enumerate(KINDS[self.erased])], np.int32
            )
            keys = rng.integers(0, 1 << 32, (self.count, 3), np.uint32)
            self.lists["noise"] = keys, fillings, self._values(rng, 2, 3, native.NOISE_LEVELS)
        if self.mixed:
            self.lists["partners"] = self._partners(rng)

    def _values(self, rng: np.random.Generator, *shape: int) -> Any:
        """What may be mixed is finite."""
        if not self.mixed or self.name == "uint8":
            return any_bits(rng, DTYPES[self.name], *shape)
        values = rng.uniform(-3, 3, shape).astype(np.float32)
        return (
            (values.view(np.uint32) >> 16).astype(np.uint16)
            if self.name == "bfloat16"
            else values.astype(DTYPES[self.name])
        )

    def _partners(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """int32 [N, 7]: blends, boxes, both and neither."""
        out = np.zeros((self.count, 7), np.int32)
        out[:, 0] = rng.integers(0, self.count, self.count)
        out[:, 1:5] = boxes_in(rng, (self.count,), *self.stored)
        out[::3, 3] = 0
        own = rng.random(self.count).astype(np.float32)
        own[::2] = 1
        out[:, 5], out[:, 6] = own.view(np.int32), (1 - own).view(np.int32)
        return out

    @property
    def noise(self) -> Any:
        return self.lists["noise"][2] if "noise" in self.lists else None

    def made(self) -> native.DeviceStore:
        return native.DeviceStore(
            self.count, *self.size, self.name, stored(None, self.last, **self.lists)
        )

    def blank(self) -> Any:
        """Room for the output."""
        return np.zeros(
            (self.count, *self.stored, 3) if self.last else (self.count, 3, *self.stored),
            DTYPES[self.name],
        )

    def want(self) -> Any:
        """The output: by NumPy, or where images are mixed by the CPU's specification of that."""
        images = np.zeros((self.count, *self.stored, 3), np.uint8)
        for n, image in enumerate(images):
            image[...] = self._gathered(n)
        out = self.blank()
        if self.mixed:
            lists = {
                name: self.lists[name]
                for name in ("boxes", "fills", "partners")
                if name in self.lists
            }
            native.store_mixed(images, stored(self.table, self.last, **lists), out, "scalar")
            return out
        values = self.table[np.arange(3), images]
        for n in range(self.count if self.erased else 0):
            for k, (top, left, height, width) in enumerate(self.lists["boxes"][n]):
                values[n, top : top + height, left : left + width] = self._filling(
                    n, k, height, width
                )
        out[...] = values if self.last else values.transpose(0, 3, 1, 2)
        return out

    def _gathered(self, n: int) -> Any:
        if not self.kept:
            return self.images[n]
        rows, columns = (
            lists[n % len(lists)] for lists in (self.lists["rows"], self.lists["columns"])
        )
        return self.images[n][rows][:, columns]

    def _filling(self, n: int, k: int, height: int, width: int) -> Any:
        kind, table = self.lists["noise"][1][k] if "noise" in self.lists else (0, 0)
        if kind == 0:
            return self.lists["fills"][k]
        shape = (height, width, 3) if kind == 1 else (1, 1, 3)
        levels = random.noise_levels(
            int(self.lists["noise"][0][n, k]), int(np.prod(shape))
        ).reshape(shape)
        return self.noise[table][np.arange(3), levels]


def cases(count: int, size: tuple[int, int], name: str) -> list[Case]:
    """Every way to keep with every way to erase, and both with mixing, in both layouts."""
    ways = [
        (kept, erased, mixed)
        for kept in ("", "batch", "each", "rows")
        for mixed in (False, True)
        for erased in ("", *KINDS)
    ]
    ways = [way for way in ways if not (way[2] and way[1] in ("noise", "both"))]
    return [Case(name, count, size, last, *way) for way in ways for last in (False, True)]
