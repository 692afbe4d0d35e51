"""ImageNet-like JPEGs made from a seed: what `fastload demo` works on, on any machine and without a download.

Sizes, bytes, quality, chroma sampling, Huffman tables and DCT statistics follow 1,000 ImageNet train files (GitHub,
EliSchwartz/imagenet-sample-images; "the sample" below). It holds two kinds of picture: two thirds are 500 px long,
4:4:4 and of quality 96; the rest have any size and mostly lower quality. Each picture here is 1/f noise over a scene of
flat shapes; hue and shape of the largest one, and the direction of the grain, tell the class.
"""

import functools
import io
import json
import math
import multiprocessing
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from fastload.errors import ConversionError, UsageError
from fastload.spec import Pixels

Field = NDArray[np.float32]
Random = np.random.Generator
AnyPath = str | os.PathLike[str]
Report = Callable[[int], object]  # gets the number of images just made
Job = tuple[Path, int, int, int, int]  # folder, first and last image (not included), seed, classes

VERSION = 1  # of the pictures: raise it when a change here changes their bytes
MARKER = "demo.json"  # in the finished folder: what it was made from
JOB_IMAGES = 20  # images that a worker makes between two reports

UNIFORM_SHARE, UNIFORM_QUALITY = 0.665, 96  # the sample's first kind of picture
OTHER_QUALITY = {61: 9, 69: 22, 75: 58, 80: 48, 85: 40, 86: 22, 90: 32, 92: 38, 94: 26, 96: 18, 99: 10, 100: 6}  # and their weights
GREY, FULL, HALF, QUARTER = "grey", "4:4:4", "4:2:2", "4:2:0"  # Pillow cannot write 4:4:0, 0.1 % of the sample
JFIF_END = 20  # bytes: SOI and the APP0 block that Pillow writes

FIELD_SIDE = 1024  # px, of a noise field; it repeats without a seam
FIELD_KEY = 1 << 63  # Philox keys of noise fields start here, above every image index
ANGLES = 6  # grain directions, 30 degrees apart
SLOPES = {"even": 1.0, "tint": 1.5, "patches": 1.6, "grain": 0.8}  # amplitude = frequency ^ -slope; photographs: about 1
LOWEST = {"even": 1 / 64, "tint": 1 / 64, "patches": 1 / 512, "grain": 1 / 64}  # cycles per px; the scene has what is below
CORNERS = ((3, 1.0), (4, 1.0), (10, 0.5), (16, 0.7))  # of a polygon, and the radius of every other one; shape 0 is an ellipse


@dataclass(frozen=True)
class Info:
    """What one image is."""

    label: int  # 0..classes-1
    height: int  # px
    width: int  # px
    quality: int  # libjpeg's scale, 1..100
    sampling: str  # GREY, FULL, HALF or QUARTER
    optimized: bool  # has Huffman tables of its own, not the standard's


def make_folder(
    root: AnyPath, count: int = 2000, classes: int = 20, seed: int = 0, workers: int | None = None, on_done: Report = lambda _: None
) -> None:
    """Write ROOT/class_00/000000.JPEG and so on, or keep a finished folder of the same count, classes and seed.

    workers: processes, None for one per CPU; the bytes do not depend on it, only on the releases of Pillow and NumPy.
    A run that is killed leaves ROOT.partial-…, never ROOT.
    """
    _check(count, classes, seed, workers)
    root = Path(root).absolute()
    made_from = {"made_by": "fastload demo", "version": VERSION, "count": count, "classes": classes, "seed": seed}
    if _finished(root, made_from):
        return
    partial = root.with_name(f"{root.name}.partial-{secrets.token_hex(4)}")
    try:
        for label in range(classes):
            _path(partial, label, classes).parent.mkdir(parents=True)
        jobs = [(partial, k, min(k + JOB_IMAGES, count), seed, classes) for k in range(0, count, JOB_IMAGES)]
        _run(jobs, workers or _cpus(), on_done)
        (partial / MARKER).write_text(json.dumps(made_from) + "\n", encoding="utf-8")
        _publish(partial, root, made_from)
    except OSError as error:
        raise ConversionError(f"{root}: cannot be written ({error.strerror or error}); give a folder that you can write to") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def one_image(index: int, seed: int, classes: int = 20) -> tuple[bytes, Info]:
    """JPEG file number `index` of the set of `seed`; its class is index % classes."""
    rng = _random(seed, index)
    info = _draw_info(rng, index % classes)
    planes = _paint(rng, info, seed)
    try:
        jpeg = _encode(planes, info)
    except OSError:  # Pillow's buffer for optimised tables holds 8 bits per pixel (16 from quality 95), this picture has more
        info = replace(info, optimized=False)
        jpeg = _encode(planes, info)
    return jpeg[:JFIF_END] + _metadata(rng, info) + jpeg[JFIF_END:], info


def _check(count: int, classes: int, seed: int, workers: int | None) -> None:
    wrong = (
        (classes < 1, f"too few classes (got {classes}, want at least 1); ask for more"),
        (count < classes, f"too few images (got {count}, want at least {classes}, one per class); ask for more"),
        (not 0 <= seed < 1 << 64, f"seed is out of range (got {seed}, want 0 to 2^64 - 1); give another seed"),
        (workers is not None and workers < 1, f"too few workers (got {workers}, want at least 1); ask for more"),
    )
    if problems := [f"demo: {text}" for is_wrong, text in wrong if is_wrong]:
        raise UsageError("\n".join(problems))


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _finished(root: Path, made_from: dict[str, Any]) -> bool:
    """Whether the wanted set stands there already; False if there is nothing, or an empty folder."""
    try:
        if not os.path.lexists(root) or (root.is_dir() and not os.listdir(root)):
            return False
        found = json.loads((root / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(f"{root}: is there, but has no readable {MARKER}; give a folder that does not exist") from None
    if found != made_from:
        raise UsageError(f"{root}: is another set (got {found}, want {made_from}); remove it or give another folder")
    return True


def _publish(partial: Path, root: Path, made_from: dict[str, Any]) -> None:
    try:
        os.rename(partial, root)
    except OSError:
        if not _finished(root, made_from):  # else a run beside this one was faster
            raise


def _run(jobs: Sequence[Job], workers: int, on_done: Report) -> None:
    workers = min(workers, len(jobs))
    if workers == 1:
        for job in jobs:
            on_done(_write(job))
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would copy whatever locks torch's threads hold
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_follow_parent)
    try:
        for done in pool.map(_write, jobs):
            on_done(done)
    except BrokenProcessPool as error:
        raise ConversionError("demo: a worker process died before its images were made; try again, with fewer workers") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """Leave Ctrl-C to the parent, and end when it has ended, even by a kill: the pool alone would wait for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if parent := multiprocessing.parent_process():
        threading.Thread(target=lambda: os._exit(bool(wait([parent.sentinel]))), daemon=True).start()


def _write(job: Job) -> int:
    folder, first, last, seed, classes = job
    for index in range(first, last):
        jpeg, info = one_image(index, seed, classes)
        _path(folder, info.label, classes, index).write_bytes(jpeg)
    return last - first


def _path(folder: Path, label: int, classes: int, index: int = 0) -> Path:
    digits = max(2, len(str(classes - 1)))  # so that the classes sort by number
    return folder / f"class_{label:0{digits}}" / f"{index:06}.JPEG"


def _random(seed: int, key: int) -> Random:
    return np.random.Generator(np.random.Philox(key=np.array([seed, key], np.uint64)))


# --- what a file is like ---


def _draw_info(rng: Random, label: int) -> Info:
    if rng.random() < UNIFORM_SHARE:
        long, quality, sampling = 500, UNIFORM_QUALITY, FULL
        short = int(rng.choice([375, 333, 334, 332, int(rng.integers(281, 501))], p=[0.41, 0.22, 0.05, 0.04, 0.28]))
    else:
        long = round(min(1800.0, max(72.0, 448 * math.exp(rng.laplace(0, 0.38)))))
        short = max(48, round(long / rng.choice([4 / 3, 3 / 2, 1.0, rng.uniform(1, 2.2)], p=[0.5, 0.14, 0.11, 0.25])))
        quality = int(rng.choice(np.repeat(list(OTHER_QUALITY), list(OTHER_QUALITY.values()))))
        quarter = 0.95 if quality < 80 else 0.58
        low = str(rng.choice([QUARTER, HALF, FULL], p=[quarter, 0.04, 0.96 - quarter]))
        sampling = low if quality < UNIFORM_QUALITY else FULL
    if rng.random() < 0.023:
        sampling = GREY
    height, width = (short, long) if rng.random() < 0.73 else (long, short)
    return Info(label, height, width, quality, sampling, optimized=bool(rng.random() < 0.979))


def _metadata(rng: Random, info: Info) -> bytes:
    """28 % of the files carry a block of about 7 KB that readers must skip, as others do a colour profile or a thumbnail."""
    if rng.random() >= 0.28:
        return b""
    size = min(45_000, info.height * info.width // 4, int(rng.lognormal(math.log(5_500), 0.8)))
    return b"\xff\xed" + (size + 2).to_bytes(2, "big") + rng.bytes(size)  # APP13


def _encode(planes: Pixels, info: Info) -> bytes:
    mode, pixels, sampling = ("L", planes[..., 0], FULL) if info.sampling == GREY else ("YCbCr", planes, info.sampling)
    image, out = Image.frombytes(mode, (info.width, info.height), pixels.tobytes()), io.BytesIO()
    image.save(out, "JPEG", quality=info.quality, optimize=info.optimized, subsampling=sampling)
    return out.getvalue()


# --- painting, in Y, Cb, Cr (0..255) ---


def _paint(rng: Random, info: Info, seed: int) -> Pixels:
    """uint8 [H, W, 3]: the scene plus noise, which is as strong as the scene's 4th plane says."""
    height, width = info.height, info.width
    scene = _scene(rng, info)
    noise = _window(rng, _field(seed, "even"), height, width)
    noise += 0.7 * _window(rng, _field(seed, "grain", info.label % ANGLES), height, width)
    noise *= _window(rng, _field(seed, "patches"), height, width)
    noise *= scene[..., 3]
    noise *= 0.1 * math.exp(0.64 * rng.standard_normal()) * (1.0 if info.quality == UNIFORM_QUALITY else 0.65)
    tint = 0.18 * np.abs(noise) * _window(rng, _field(seed, "tint"), height, width)
    scene[..., 0] += noise
    scene[..., 1] += rng.normal(0, 0.1) * noise + tint
    scene[..., 2] += rng.normal(0, 0.1) * noise - tint
    return scene[..., :3].clip(0, 255).astype(np.uint8)


def _scene(rng: Random, info: Info) -> Field:
    """float32 [H, W, 4]: Y, Cb, Cr and noise strength (0..255) of a soft background, clutter and the object of the class."""
    height, width = info.height, info.width
    small = bytes(value for _ in range(12) for value in _colour(rng))
    image = Image.frombytes("CMYK", (4, 3), small)  # any four planes, without an alpha that rules the others
    image = image.resize((2 * width, 2 * height), Image.Resampling.BICUBIC)  # twice as large: smooth edges in the end
    draw = ImageDraw.Draw(image)
    short = 2 * min(height, width)
    for _ in range(rng.integers(5, 14)):
        centre = rng.uniform(0, 2 * height), rng.uniform(0, 2 * width)
        _shape(draw, rng, int(rng.integers(5)), centre, rng.uniform(0.05, 0.4) * short, _colour(rng))
    centre = rng.uniform(0.7, 1.3) * height, rng.uniform(0.7, 1.3) * width
    _shape(draw, rng, info.label % 5, centre, rng.uniform(0.25, 0.45) * short, _colour(rng, hue=info.label * 0.618 % 1))
    return np.asarray(image.reduce(2)).astype(np.float32)


def _colour(rng: Random, hue: float | None = None) -> tuple[int, ...]:
    """Y, Cb, Cr and noise strength; with a hue (0..1) a strong colour close to it, else any, mostly pale."""
    if hue is None:
        luma, angle, chroma = rng.uniform(20, 235), rng.uniform(0, 2 * math.pi), rng.normal(0, 18)
    else:
        luma, angle, chroma = rng.uniform(80, 180), 2 * math.pi * hue + rng.normal(0, 0.08), rng.uniform(40, 60)
    strength = 0.0 if rng.random() < 0.05 else rng.lognormal(math.log(50), 1.2)
    return tuple(int(min(255, max(0, v))) for v in (luma, 128 + chroma * math.cos(angle), 128 + chroma * math.sin(angle), strength))


def _shape(draw: ImageDraw.ImageDraw, rng: Random, kind: int, centre: tuple[float, float], radius: float, fill: tuple[int, ...]) -> None:
    y, x = centre
    turn = rng.uniform(-0.3, 0.3)
    if kind == 0:
        flat = radius * (0.85 + turn / 2)
        draw.ellipse((x - radius, y - flat, x + radius, y + flat), fill=fill)
        return
    corners, inner = CORNERS[kind - 1]
    polar = [(radius * (inner if k % 2 else 1), turn + 2 * math.pi * k / corners) for k in range(corners)]
    draw.polygon([(x + r * math.sin(a), y - r * math.cos(a)) for r, a in polar], fill=fill)


@functools.lru_cache(maxsize=len(SLOPES) + ANGLES - 1)
def _field(seed: int, kind: str, angle: int = 0) -> Field:
    """float32 [FIELD_SIDE, FIELD_SIDE]: 1/f noise of unit variance; "grain" runs in one direction; "patches" is a factor > 0."""
    rng = _random(seed, FIELD_KEY + ANGLES * list(SLOPES).index(kind) + angle)
    fy, fx = np.meshgrid(np.fft.fftfreq(FIELD_SIDE), np.fft.rfftfreq(FIELD_SIDE), indexing="ij")
    f = np.hypot(fy, fx)
    f[0, 0] = 1e-9
    amplitude = np.where(f < LOWEST[kind], 0, f ** -SLOPES[kind])
    if kind == "grain":
        across = (fx * math.cos(math.pi * angle / ANGLES) + fy * math.sin(math.pi * angle / ANGLES)) / f
        amplitude *= np.exp(-((across / 0.35) ** 2))
    field = np.fft.irfft2(amplitude * np.exp(2j * np.pi * rng.random(f.shape)), s=(FIELD_SIDE, FIELD_SIDE))
    even: Field = np.asarray(field / field.std(), np.float32)
    return np.exp(even) if kind == "patches" else even


def _window(rng: Random, field: Field, height: int, width: int) -> Field:
    top, left = rng.integers(0, FIELD_SIDE, 2)
    rows, columns = np.arange(top, top + height) % FIELD_SIDE, np.arange(left, left + width) % FIELD_SIDE
    window: Field = field[rows[:, None], columns]
    return window
