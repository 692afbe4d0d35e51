"""Stands in for the extension where it is not built, so that the reference (backend "torch") runs
there: what that needs, in Python, with the same random numbers and checksums. Where there is an
extension, Python imports that instead. `_native.pyi` says what everything is.

What is not here can be named, and raises BackendError when it is called.
"""

import io
import os
import platform
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload.errors import BackendError

MISSING = (
    f"this installation has no native engine (for {sys.platform} {platform.machine()}); use "
    'backend="torch", which is slow, or build fastload where there is a C++20 compiler'
)

OK, FOREIGN, FAILED = 0, 1, 2
cuda_built, cuda_architectures = False, ()
NOISE_LEVELS, MAX_PIXELS = 4096, ((1 << 31) - 1) // 3
MARGIN, LEAST, SHARE = 64 << 20, 16 << 20, 64 << 20
MAX_DEPTH, MAX_UNIFORMS = 256, 1 << 18
CALLS: dict[str, int] = {}

# kernels/augment/program.h: of each argument its name, lowest and highest value, and whether it is
# a whole number.
_FACTOR = (("factor", -1e6, 1e6, False),)
_THRESHOLD = ("threshold", -1e9, 1e9, False)
_BOX = tuple((name, 0.0, 32767.0, True) for name in ("top", "left", "height", "width"))
_WEIGHT = (("weight", -1e6, 1e6, False),)
_ALL: dict[str, tuple[tuple[str, float, float, bool], ...]] = {
    "Identity": (),
    "Brightness": _FACTOR,
    "Posterize": (("bits", 0.0, 8.0, True),),
    "Solarize": (_THRESHOLD,),
    "SolarizeAdd": (("addition", -255.0, 255.0, True), _THRESHOLD),
    "Invert": (),
    "Contrast": _FACTOR, "Color": _FACTOR, "Sharpness": _FACTOR,
    "AutoContrast": (), "Equalize": (),
    "Affine": tuple((f"coefficient {i}", -1e15, 1e15, False) for i in range(6)),
    "Perspective": tuple((f"coefficient {i}", -1e15, 1e15, False) for i in range(8)),
    "Grayscale": (), "FlipX": (), "FlipY": (),
    "GaussianBlur": (
        ("taps across", 1.0, 255.0, True), ("taps down", 1.0, 255.0, True),
        ("sigma across", 1e-6, 1e6, False), ("sigma down", 1e-6, 1e6, False),
    ),
    "Hue": (("turn", 0.0, 255.0, True),),
    "BoxBlur": (
        ("radius across", 0.0, 127.0, False), ("radius down", 0.0, 127.0, False),
        ("repetitions", 1.0, 16.0, True),
    ),
    "Border": (("kind", 0.0, 3.0, True), *_BOX),
    "Start": (), "Add": _WEIGHT, "Sum": (), "Mix": _WEIGHT, "Blend": _WEIGHT,
    "Custom": (("function", 0.0, 1e9, True), ("key", 0.0, 4294967295.0, True)),
}  # fmt: skip
INSTRUCTIONS, ARGUMENTS = tuple(_ALL), tuple(_ALL.values())
# What the reference draws is drawn by NumPy: nothing is recorded.
DRAW_STEPS = DRAW_MATH = ()


class _Absent:
    def __init__(self, *given: object, **named: object) -> None:
        raise BackendError(f"{type(self).__name__}: {MISSING}")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    globals()[name] = type(name, (_Absent,), {})
    return globals()[name]


def targets() -> list[str]:
    return []


def versions() -> dict[str, str]:
    return {}


def exchange_capture_mode(mode: int) -> int:
    return mode


# --- random numbers: kernels/body/philox.h, keyed.h and permute.h ---

_32 = np.uint64(0xFFFFFFFF)
_Words = NDArray[np.uint64]


def _philox(counter: Sequence[_Words], key: Sequence[int]) -> list[_Words]:
    c0, c1, c2, c3 = counter
    k0, k1 = key
    half = np.uint64(32)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        first, third = (p1 >> half) ^ c1 ^ np.uint64(k0), (p0 >> half) ^ c3 ^ np.uint64(k1)
        c0, c1, c2, c3 = first, p1 & _32, third, p0 & _32
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [c0, c1, c2, c3]


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    words = [np.array([word], np.uint64) for word in counter]
    return [int(word[0]) for word in _philox(words, key)]


def _draws(
    seed: int, epoch: int, samples: _Words, occurrences: _Words, op: int, blocks: _Words
) -> NDArray[np.uint64]:
    """[N, 4 * blocks] words of each sample."""
    sample, occurrence = samples[:, None], occurrences[:, None]
    counter = (
        blocks[None] | np.uint64(op << 16),
        sample & _32,
        (sample >> np.uint64(32)) | (occurrence << np.uint64(16)),
        np.uint64(epoch),
    )
    words = _philox(np.broadcast_arrays(*counter), (seed & 0xFFFFFFFF, seed >> 32))
    return np.stack(words, axis=-1).reshape(len(samples), -1)


def uniforms(
    seed: int,
    epoch: int,
    samples: NDArray[np.int64],
    occurrences: NDArray[np.int64],
    op: int,
    out: NDArray[np.float64],
) -> None:
    blocks = np.arange(-(-out.shape[1] // 4), dtype=np.uint64)
    words = _draws(
        seed, epoch, samples.astype(np.uint64), occurrences.astype(np.uint64), op, blocks
    )
    out[:] = words[:, : out.shape[1]] / 4294967296.0


def noise_levels(key: int, out: NDArray[np.uint16]) -> None:
    block = np.arange(-(-len(out) // 8), dtype=np.uint64)
    words = _draws_below(key, block)
    halves = np.stack([words & np.uint64(0xFFFF), words >> np.uint64(16)], axis=-1).reshape(-1)
    out[:] = (halves >> np.uint64(4))[: len(out)]


def _draws_below(key: int, block: _Words) -> _Words:
    zero = np.zeros_like(block)
    counter = (
        (block & np.uint64(0xFFFF)) | np.uint64((1 << 15) - 2 << 16),
        (block >> np.uint64(16)) & _32,
        block >> np.uint64(48),
        zero,
    )
    return np.stack(_philox(counter, (key, 0)), axis=-1)


def permute(
    positions: NDArray[np.int64], n: int, seed: int, epoch: int, out: NDArray[np.int64]
) -> None:
    half = 1
    while (n - 1) >> (2 * half):
        half += 1
    zero = np.zeros(1, np.uint64)
    words = _draws(seed, epoch, zero, zero, (1 << 15) - 1, np.arange(2, dtype=np.uint64))[0]
    values, todo = positions.astype(np.uint64), np.ones(len(positions), np.bool_)
    while todo.any():
        values[todo] = _network(values[todo], half, words[:6])
        todo &= values >= np.uint64(n)
    out[:] = values.astype(np.int64)


def _network(values: _Words, half: int, keys: _Words) -> _Words:
    mask, by = np.uint64((1 << half) - 1), np.uint64(half)
    left, right = values >> by, values & mask
    for key in keys:
        x = right + (key << np.uint64(32))
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        left, right = right, left ^ ((x ^ (x >> np.uint64(31))) & mask)
    return (left << by) | right


# --- files, checksums and headers ---


def xxh3(data: Any) -> int:
    hashed = Xxh3()
    hashed.update(data)
    return hashed.digest()


class Xxh3:
    def __init__(self) -> None:
        try:
            import xxhash
        except ImportError:
            raise BackendError("xxh3: needs the package xxhash; pip install xxhash") from None
        self._state = xxhash.xxh3_64()

    def update(self, data: Any) -> None:
        self._state.update(memoryview(data).cast("B"))

    def digest(self) -> int:
        return int(self._state.intdigest())


class PixelArray:
    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        self.pixels = pixels


class Files:
    packed = ()  # parquet_page, which finds them, is not here
    place = staticmethod(lambda *place: place[1:])

    def __init__(self, paths: Any, keep_open: bool, packed: Any = (), arrays: Any = ()) -> None:
        self._paths, self.arrays = [os.fsdecode(path) for path in paths], list(arrays)

    def __len__(self) -> int:
        return len(self._paths)

    def path(self, file: int) -> str:
        return self._paths[file]

    def read(self, file: int, offset: int, size: int) -> bytes:
        array = dict(self.arrays).get(file)
        path = self._paths[file]
        with io.BytesIO(array.pixels.tobytes()) if array else open(path, "rb") as opened:
            opened.seek(offset)
            data = opened.read(size)
        if size >= 0 and len(data) < size:
            why = f"ends at byte {offset + len(data)} (want bytes {offset}..{offset + size})"
            raise OSError(f"{path}: {why}")
        return data

    def xxh3(self, file: int, size: int) -> int:
        hashed = Xxh3()
        for at in range(0, size, 1 << 20):
            hashed.update(self.read(file, at, min(size - at, 1 << 20)))
        return hashed.digest()


def probe(data: bytes) -> tuple[int, int, int, int, str]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            form, bands = (image.format or "unknown").lower(), len(image.getbands())
            return FOREIGN, image.height, image.width, bands, form
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return FOREIGN, 0, 0, 0, "unknown"


# --- what is asked of memory and lists: here memory is not counted ---


class Claim:
    def __init__(self, bytes: int) -> None:
        self.bytes = bytes

    def drop(self) -> None:
        self.bytes = 0


def admit(bytes: int) -> None:
    """Always granted."""


def claims_most(bytes: int = 0) -> int:
    return bytes


def memory_groups(folders: list[str]) -> None:
    """Not looked at."""


def same_items(held: list[Any], now: list[Any]) -> bool:
    return len(held) == len(now) and all(
        mine is theirs
        or (type(mine) is list and type(theirs) is list and _same_objects(mine, theirs))
        for mine, theirs in zip(held, now, strict=True)
    )


def same_rows(held: list[tuple[Any, ...]], now: list[Any]) -> bool:
    return len(held) == len(now) and all(
        type(b) is list and _same_objects(a, b) for a, b in zip(held, now, strict=True)
    )


def _same_objects(held: Sequence[Any], now: Sequence[Any]) -> bool:
    return len(held) == len(now) and all(map(lambda a, b: a is b, held, now))
