"""The release's check that no flipped bit of a converted data set passes: each one is put on disk,
and met by a real open or read.

    python -m tests.conversion.flips_release [FLIPS]

Every bit of the index's header (magic and schema) and of the file with its checksums; FLIPS of its
body; FLIPS of images, as a loader and as fastload.open read them; FLIPS of seek indexes, which may
cost speed, never a pixel. verify names the place of FLIPS / 20 of each.
"""

import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import fastload
from fastload import _native
from fastload.conversion import verify
from fastload.conversion.job import Options, prepare, run
from fastload.errors import SampleError, SourceError
from fastload.sources import open_source, shards
from tests.conftest import encoded, textured

IMAGES, SHARE = 24, 20  # images; one flip in SHARE is also looked for by verify


def make(root: Path) -> Path:
    """A converted data set of small JPEGs of every sampling, in several shards."""
    for number in range(IMAGES):
        path = root / "in" / f"class{number % 3}" / f"{number:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            encoded(
                textured(40 + number, 56 + 2 * number, number), quality=85, subsampling=number % 3
            )
        )
    run(
        prepare(
            str(root / "in"), str(root / "out"), Options(workers=1, shard_bytes=40_000, seek_step=2)
        )
    )
    return root / "out"


@contextmanager
def flipped(path: Path, at: int, bit: int) -> Iterator[None]:
    """The file with one other bit."""
    with open(path, "r+b", buffering=0) as file:
        byte = os.pread(file.fileno(), 1, at)[0]
        os.pwrite(file.fileno(), bytes([byte ^ 1 << bit]), at)
        try:
            yield
        finally:
            os.pwrite(file.fileno(), bytes([byte]), at)


def header_bytes(path: Path) -> int:
    """Of the index: the magic with its padding, and the schema's message (Arrow's columnar format,
    IPC file format).
    """
    data = path.read_bytes()
    if data[:8] != b"ARROW1\0\0" or data[8:12] != b"\xff\xff\xff\xff":
        raise AssertionError(f"{path}: does not begin as an Arrow file does")
    return 16 + int.from_bytes(data[12:16], "little")


def located(out: Path, name: str, at: int) -> None:
    """verify names this byte, and no other file."""
    damages = verify.verify(verify.prepare(str(out)), 1).damages
    assert damages, f"{name}, byte {at}: verify finds nothing"
    assert {os.path.basename(damage.file) for damage in damages} == {name}, (
        f"{name}, byte {at}: verify names {damages}"
    )
    assert any(damage.start <= at < damage.end for damage in damages), (
        f"{name}, byte {at}: verify names {damages}"
    )


def refused(out: Path, name: str, at: int) -> None:
    """The data set does not open."""
    try:
        shards.load(str(out))
    except SourceError:
        return
    raise AssertionError(f"{name}, byte {at}: the data set opens")


def check_index(out: Path, flips: int, draw: random.Random, found: Counter[str]) -> None:
    index, sums = out / "index.arrow", out / "index.arrow.xxh3"
    header, size = header_bytes(index), index.stat().st_size
    places = {
        "bits of the index's header": (
            index,
            [(at, bit) for at in range(header) for bit in range(8)],
        ),
        "bits of its checksums": (
            sums,
            [(at, bit) for at in range(sums.stat().st_size) for bit in range(8)],
        ),
        "flips of its body": (
            index,
            [(draw.randrange(header, size), draw.randrange(8)) for _ in range(flips)],
        ),
    }
    for what, (path, bits) in places.items():
        for number, (at, bit) in enumerate(bits):
            with flipped(path, at, bit):
                refused(out, path.name, at)
                if path == index and number % (SHARE * 20) == 0:
                    located(out, path.name, at)
            found[what] += 1


def check_images(out: Path, flips: int, draw: random.Random, found: Counter[str]) -> None:
    """By the native engine's read, and for some by indexing too."""
    source, pool = open_source(str(out)), _native.Pool(1)
    for number in range(flips):
        sample = draw.randrange(len(source))
        place = source.locate(np.array([sample]))
        at = int(place.offset[0]) + draw.randrange(int(place.size[0]))
        path = out / source.index.shards[int(place.file[0])].name
        with flipped(path, at, draw.randrange(8)):
            job = pool.fetch(source.files, place.file, place.offset, place.size, place.checksum)
            job.wait_fetched()
            assert job.status[0] == _native.FAILED, (
                f"sample {sample}, byte {at} of {path.name}: is read"
            )
            assert "checksum" in job.message(0)
            if number % SHARE == 0:
                raises(out, sample)
                located(out, path.name, at)
        found["flips of images"] += 1


def raises(out: Path, sample: int) -> None:
    try:
        fastload.open(str(out))[sample]
    except SampleError:
        return
    raise AssertionError(f"sample {sample}: fastload.open gives an image")


def check_seeks(out: Path, flips: int, draw: random.Random, found: Counter[str]) -> None:
    """Half of the image, by the damaged index: refused, or the very pixels."""
    source = open_source(str(out))
    for number in range(flips):
        sample = draw.randrange(len(source))
        place = source.locate(np.array([sample]))
        data = source.files.read(int(place.file[0]), int(place.offset[0]), int(place.size[0]))
        start, size = int(place.seek.offset[0]), int(place.seek.size[0])
        at = start + draw.randrange(size)
        path = out / source.index.sidecars[int(place.file[0])].name
        with flipped(path, at, draw.randrange(8)):
            index = path.read_bytes()[start : start + size]
            _, why = _native.jpeg_region(data, (9, 11, 20, 25), index, "best")
            assert why.startswith("index refused: "), (
                f"sample {sample}, byte {at} of {path.name}: {why or 'is used'}"
            )
            if number % SHARE == 0:
                located(out, path.name, at)
        found["flips of seek indexes"] += 1


def check(flips: int, root: Path, seed: int = 0) -> Counter[str]:
    """Flip so many; what was flipped and found. Raises AssertionError at the first that was not."""
    draw, found = random.Random(seed), Counter[str]()
    out = make(root)
    for part in (check_index, check_images, check_seeks):
        part(out, flips, draw, found)
    assert verify.verify(verify.prepare(str(out)), 1).damages == ()
    return found


def main() -> None:
    flips = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        found = check(flips, Path(folder))
    print("found: " + ", ".join(f"{count:,} {what}" for what, count in found.items()))


if __name__ == "__main__":
    main()
