"""ImageNet-like JPEGs made from a seed: what `fastload demo` works on, on any machine and without a
download.

Sizes, bytes, quality, chroma sampling, Huffman tables and DCT statistics follow 1,000 ImageNet
train files (GitHub, EliSchwartz/imagenet-sample-images; "the sample" below). It holds two kinds of
picture: two thirds are 500 px long, 4:4:4 and of quality 96; the rest have any size and mostly
lower quality. Each picture here is 1/f noise over a scene of flat shapes; hue and shape of the
largest one, and the direction of the grain, tell the class.
"""

import json
import multiprocessing
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path

from fastload.demo_images.files import (
    JFIF_END,
    Info,
    draw_info,
    encode,
    metadata,
    random,
)
from fastload.demo_images.painting import paint
from fastload.errors import ConversionError, UsageError
from fastload.system.hearing import unheard

AnyPath = str | os.PathLike[str]
Report = Callable[[int], object]  # gets the number of images just made
Job = tuple[Path, int, int, int, int]  # folder, first and last image (not included), seed, classes

VERSION = 1  # of the pictures: raise it when a change here changes their bytes
MARKER = "demo.json"  # in the finished folder: what it was made from
JOB_IMAGES = 20  # images that a worker makes between two reports


@dataclass(frozen=True, kw_only=True)
class MadeFrom:
    """What decides the bytes of a folder, as MARKER holds it."""

    made_by: str = "fastload demo"
    version: int = VERSION
    count: int
    classes: int
    seed: int


def make_folder(
    root: AnyPath,
    count: int = 2000,
    classes: int = 20,
    seed: int = 0,
    workers: int | None = None,
    on_done: Report = lambda _: None,
) -> None:
    """Write ROOT/class_00/000000.JPEG and so on, or keep a finished folder of the same count,
    classes and seed.

    workers: processes, None for one per CPU; the bytes do not depend on it, only on the releases of
        Pillow and NumPy.
    A run that is killed leaves ROOT.partial-…, never ROOT.
    """
    _check(count, classes, seed, workers)
    root = Path(root).absolute()
    made_from = MadeFrom(count=count, classes=classes, seed=seed)
    if _finished(root, made_from):
        return
    try:
        _make(root, made_from, workers or _cpus(), on_done)
    except OSError as error:
        raise ConversionError(
            f"{root}: cannot be written ({error.strerror or error}); give a folder that you can "
            "write to"
        ) from error


def _make(root: Path, made_from: MadeFrom, workers: int, on_done: Report) -> None:
    """Write all images to a folder beside it, which gets the name of `root` when it is whole."""
    count, classes, seed = made_from.count, made_from.classes, made_from.seed
    partial = root.with_name(f"{root.name}.partial-{secrets.token_hex(4)}")
    try:
        for label in range(classes):
            _path(partial, label, classes).parent.mkdir(parents=True)
        jobs = [
            (partial, k, min(k + JOB_IMAGES, count), seed, classes)
            for k in range(0, count, JOB_IMAGES)
        ]
        _run(jobs, workers, on_done)
        text = json.dumps(asdict(made_from)) + "\n"
        (partial / MARKER).write_text(text, encoding="utf-8")
        _publish(partial, root, made_from)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def one_image(index: int, seed: int, classes: int = 20) -> tuple[bytes, Info]:
    """JPEG file number `index` of the set of `seed`; its class is index % classes."""
    rng = random(seed, index)
    info = draw_info(rng, index % classes)
    planes = paint(rng, info, seed)
    try:
        jpeg = encode(planes, info)
    except OSError:
        # Pillow's buffer for optimised tables holds 8 bits per pixel (16 from quality 95). This
        # image has more.
        info = replace(info, optimized=False)
        jpeg = encode(planes, info)
    return jpeg[:JFIF_END] + metadata(rng, info) + jpeg[JFIF_END:], info


def _check(count: int, classes: int, seed: int, workers: int | None) -> None:
    wrong = (
        (classes < 1, f"too few classes (got {classes}, want at least 1); ask for more"),
        (
            count < classes,
            f"too few images (got {count}, want at least {classes}, one per class); ask for more",
        ),
        (
            not 0 <= seed < 1 << 64,
            f"seed is out of range (got {seed}, want 0 to 2^64 - 1); give another seed",
        ),
        (
            workers is not None and workers < 1,
            f"too few workers (got {workers}, want at least 1); ask for more",
        ),
    )
    if problems := [f"demo: {text}" for is_wrong, text in wrong if is_wrong]:
        raise UsageError("\n".join(problems))


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _finished(root: Path, made_from: MadeFrom) -> bool:
    """Whether the wanted set exists already. False if there is nothing, or an empty folder."""
    try:
        if not os.path.lexists(root) or (root.is_dir() and not os.listdir(root)):
            return False
        existing = json.loads((root / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(
            f"{root}: is there, but has no readable {MARKER}; give a folder that does not exist"
        ) from None
    if existing != asdict(made_from):
        raise UsageError(
            f"{root}: is another set (got {existing}, want {asdict(made_from)}); remove it or give "
            "another folder"
        )
    return True


def _publish(partial: Path, root: Path, made_from: MadeFrom) -> None:
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
    # A fork would copy whatever locks torch's threads hold
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_follow_parent)
    try:
        with unheard():
            results = pool.map(_write, jobs)
        for done in results:
            on_done(done)
    except BrokenProcessPool as error:
        raise ConversionError(
            "demo: a worker process died before its images were made; try again, with fewer workers"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """Leave Ctrl-C to the parent, and end when it has ended, even by a kill: the pool alone would
    wait for ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if parent := multiprocessing.parent_process():
        threading.Thread(
            target=lambda: os._exit(bool(wait([parent.sentinel]))), daemon=True
        ).start()


def _write(job: Job) -> int:
    folder, first, last, seed, classes = job
    for index in range(first, last):
        jpeg, info = one_image(index, seed, classes)
        _path(folder, info.label, classes, index).write_bytes(jpeg)
    return last - first


def _path(folder: Path, label: int, classes: int, index: int = 0) -> Path:
    digits = max(2, len(str(classes - 1)))  # so that the classes sort by number
    return folder / f"class_{label:0{digits}}" / f"{index:06}.JPEG"


# --- what a file is like ---


# --- painting, in Y, Cb, Cr (0..255) ---
