"""The images as each peer reads them, and the further sets: PNGs, WebPs, large photos, folders of
many entries.
"""

import os
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

import fastload
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.process import ROOT
from fastload.conversion import job, seek_writer
from fastload.errors import FastloadError

TARS = 8
WRITE_LIMIT = 300  # s: FFCV's writer waits for ever for a worker that failed
SMALL = 96  # longest side of a small PNG, px
LARGE = (4000, 3000)  # px, 12 megapixels
QUALITY = 92  # of large JPEGs, 4:2:0
SOI = b"\xff\xd8"  # how a JPEG begins
COMMENT = b"\xff\xfe\0\6"  # a JPEG's, of 4 bytes (ITU-T T.81, B.2.4.5)


def prepare(
    folder: str, where: Path, peers: Sequence[Peer], pythons: dict[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """What each peer reads, and why it failed, by peer; files go to `where`."""
    paths, failed = {}, {}
    for peer in peers:
        try:
            paths[peer.name] = (
                folder
                if peer.reads == "folder"
                else made(peer.reads, folder, where, pythons[peer.name])
            )
        except (FastloadError, OSError, subprocess.SubprocessError) as error:
            failed[peer.name] = f"{peer.reads}: {_said(error)}"
    return paths, failed


def made(kind: str, folder: str, where: Path, python: str) -> str:
    """The folder as "beton", "tar", "shards" or "layers"; the path."""
    where.mkdir(parents=True, exist_ok=True)
    out = where / kind
    if kind == "tar":
        tars(folder, out)
    elif kind in ("shards", "layers"):
        step = seek_writer.COEFFICIENTS if kind == "layers" else seek_writer.STEP
        job.run(job.prepare(folder, str(out), job.Options(seek_step=step)))
    else:
        command = [python, "-m", "benchmarks.peers.ffcv_write", folder, str(out)]
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(
            command,
            cwd=ROOT,
            env=variables,
            check=True,
            capture_output=True,
            text=True,
            timeout=WRITE_LIMIT,
        )
    return str(out)


def tars(folder: str, out: Path) -> None:
    """Samples dealt in turn to tar files, with the files' own bytes and their class beside them."""
    out.mkdir()
    samples = fastload.open(folder).samples
    with_class = Path(out / "cls")
    for number in range(min(TARS, len(samples))):
        with tarfile.open(out / f"{number}.tar", "w") as tar:
            for at in range(number, len(samples), TARS):
                path, label = samples[at]
                with_class.write_text(str(label))
                suffix = Path(path).suffix.lower().removeprefix(".")
                tar.add(path, f"{at:08}.{suffix if suffix in {'png', 'webp'} else 'jpg'}")
                tar.add(with_class, f"{at:08}.cls")
    with_class.unlink()


def others(folder: str, out: Path, suffix: str, longest: int | None, most: int) -> str:
    """The images as PNGs or WebPs (of Pillow's own quality) in the same classes, at most `longest`
    px long.
    """
    for path, label in _spread(folder, most):
        with Image.open(path) as image:
            pixels = image.convert("RGB")
            if longest is not None:
                pixels.thumbnail((longest, longest))
            pixels.save(_place(out, label, f"{Path(path).stem}.{suffix}"))
    return str(out)


def copies(folder: str, out: Path, times: int) -> str:
    """Each image so many times, with another comment each: who knows images by their bytes has seen
    none of them. In what is no JPEG it stands behind the image.
    """
    for name, label in _spread(folder, 1000):
        path, data = Path(name), Path(name).read_bytes()
        at = len(SOI) if data.startswith(SOI) else len(data)
        for number in range(times):
            made = data[:at] + COMMENT + number.to_bytes(4, "big") + data[at:]
            _place(out, label, f"{path.stem}_{number}{path.suffix}").write_bytes(made)
    return str(out)


def large_photos(folder: str, out: Path, count: int = 16) -> str:
    """JPEGs of 12 megapixels, each many of the images side by side, so that there is detail as in a
    photo.
    """
    paths = [path for path, _ in _spread(folder, 1000)]
    rng = np.random.default_rng(0)
    for number in range(count):
        canvas = Image.new("RGB", LARGE)
        for top in range(0, LARGE[1], 375):
            for left in range(0, LARGE[0], 500):
                with Image.open(paths[rng.integers(len(paths))]) as image:
                    canvas.paste(image.convert("RGB").resize((500, 375)), (left, top))
        canvas.save(_place(out, number % 4, f"{number}.jpg"), quality=QUALITY, subsampling="4:2:0")
    return str(out)


def many(folder: str, out: Path, entries: int, classes: int = 1000) -> str:
    """A folder of so many entries, hard links to the images: what a listing costs, without the
    bytes. `out` is on their file system.
    """
    paths = [path for path, _ in _spread(folder, 1000)]
    for label in range(min(classes, entries)):
        (out / f"{label:04}").mkdir(parents=True)
    for number in range(entries):
        os.link(paths[number % len(paths)], out / f"{number % classes:04}" / f"{number:07}.jpg")
    return str(out)


def _spread(folder: str, most: int) -> list[tuple[str, int]]:
    """At most so many (path, label), from all over the folder."""
    samples = [(str(path), int(label)) for path, label in fastload.open(folder).samples]
    return samples[:: -(-len(samples) // most)]


def _place(out: Path, label: int, name: str) -> Path:
    path = out / f"{label:04}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _said(error: Exception) -> str:
    lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines() or [
        type(error).__name__
    ]
    return str(lines[-1])[:200]
