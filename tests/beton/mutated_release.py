"""The release's check of damaged FFCV files: each is refused with a typed error, or its batches
come, or its samples are named as bad.

    python -m tests.beton.mutated_release [FILES] [SEED]

Files are made in chunks, each read by a process of its own, so that a crash or a hang is seen and
says its chunk; 10,000 take minutes.
"""

import collections
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

import fastload
from fastload import transforms as T
from fastload.errors import PipelineError, SampleError, SourceError
from tests.beton.layout import PAGE, Writer
from tests.conftest import encoded, textured

CHUNK, SECONDS = 2000, 3000  # files of one process, and how long it may take
SAMPLES, BATCH = 6, 2
FIELDS = [
    ("image", "image"),
    ("label", "int"),
    ("note", "bytes"),
    ("box", "array", "float32", (2, 3)),
    ("meta", "json"),
]
OPS = [T.RandomResizedCrop((13, 17)), T.RandAugment(2, 9), T.ToImage()]
NUMBERS = (0, 1, 2, 255, 2**16 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
WAYS = ("bytes", "number", "cut", "longer", "zeros", "swap")
EXPECTED = (SourceError, PipelineError, SampleError)


def whole() -> bytes:
    """A good file: JPEGs, raw images, and a field of every other kind of payload."""
    rows = []
    for number in range(SAMPLES):
        pixels = textured(20 + number, 31 - number, number)
        image = (
            ("raw", pixels)
            if number % 2
            else ("jpg", encoded(pixels, quality=85), *pixels.shape[:2])
        )
        rows.append([image, number % 3, bytes(number), bytes(24), {"id": number}])
    return Writer(FIELDS, rows).bytes()


def interesting(good: bytes) -> list[int]:
    """Places of everything that is read before the pixels, and of the pixels."""
    start = 24 + 1041 * len(FIELDS)
    table = int.from_bytes(good[16:24], "little")
    writer = Writer(FIELDS, [])
    rows = range(start, start + writer.row()[0] * SAMPLES)
    payload = range(PAGE, PAGE + 12_000, 7)
    return [*range(24), *range(24, start, 17), *rows, *range(table, len(good)), *payload]


def damaged(good: bytes, places: list[int], rng: random.Random) -> tuple[str, bytes]:
    """How, and the file."""
    way, out = rng.choice(WAYS), bytearray(good)
    at = rng.choice(places)
    if way == "bytes":
        for place in rng.sample(places, rng.randint(1, 4)):
            out[place] = rng.randrange(256)
    elif way == "number":
        size = rng.choice((2, 4, 8))
        number = rng.choice((*NUMBERS, len(good), len(good) - 1, rng.getrandbits(64)))
        out[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
    elif way == "cut":
        del out[rng.choice((at, rng.randrange(len(good)))) :]
    elif way == "longer":
        out += rng.randbytes(rng.choice((1, 24, 4096)))
    elif way == "zeros":
        size = rng.choice((64, 4096, 1 << 16))
        out[at : at + size] = bytes(len(out[at : at + size]))
    else:
        other, size = rng.choice(places), rng.choice((8, 24, 64))
        out[at : at + size], out[other : other + size] = (
            out[other : other + size],
            out[at : at + size],
        )
    return way, bytes(out)


def read(path: str) -> str:
    """What became of one file. What is raised and not EXPECTED ends the process."""
    try:
        loader = fastload.DataLoader(fastload.open(path, OPS), BATCH, shuffle=True, seed=1)
        batches = iter(loader)
    except EXPECTED as error:
        return (
            "refused"
            if all(line.startswith(path) for line in str(error).splitlines())
            else f"refused without its path: {error}"
        )
    done, bad = 0, 0
    for _ in range(len(loader)):
        try:
            done += len(next(batches)[1])
        except SampleError as error:
            bad += str(error).startswith(f"{path}[")
    if done + bad * BATCH < len(loader.dataset):  # type: ignore[arg-type]  # it has a length
        return "not read, and nobody says why"
    return "with bad samples" if bad else "read"


def chunk(first: int, count: int, seed: int) -> None:
    """Print how often what happened to the files `first` to `first + count`."""
    good, found = whole(), collections.Counter[str]()
    places = interesting(good)
    Image.MAX_IMAGE_PIXELS = None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.beton")
        for number in range(first, first + count):
            way, content = damaged(good, places, random.Random(f"{seed} {number}"))
            Path(path).write_bytes(content)
            try:
                found[f"{way}: {read(path)}"] += 1
            except BaseException:
                print(f"file {number}, {way}", file=sys.stderr)
                raise
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(*(f"{what}={times}" for what, times in found.items()), f"peak MiB={peak}", sep="\n")


def main(files: int, seed: int) -> int:
    total, failed = collections.Counter[str](), 0
    for first in range(0, files, CHUNK):
        count = min(CHUNK, files - first)
        command = [sys.executable, "-m", "tests.beton.mutated_release"]
        command += [str(first), str(count), str(seed)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            failed, done = failed + 1, None
            print(f"files {first} to {first + count - 1}: not done after {SECONDS} s", flush=True)
            continue
        if done.returncode:
            failed += 1
            print(
                f"files {first} to {first + count - 1}: ended with "
                f"{done.returncode}\n{done.stderr[-2000:]}",
                flush=True,
            )
        for line in done.stdout.splitlines():
            what, _, number = line.partition("=")
            total[what] = (
                max(total[what], int(number)) if what == "peak MiB" else total[what] + int(number)
            )
    for what, number in sorted(total.items()):
        print(f"{number:7} {what}")
    silent = sum(
        number
        for what, number in total.items()
        if "without its path" in what or "nobody says" in what
    )
    print(f"{failed} chunks failed, {silent} files were not read and not named")
    return 1 if failed or silent else 0


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    if len(given) == 3:
        chunk(*given)
    else:
        sys.exit(main(*(*given, *(10_000, 5)[len(given) :])))
