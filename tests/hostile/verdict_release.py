"""The release's check of verdicts: 10,000 damaged JPEGs are the same good and bad ones everywhere,
and Pillow's.

    python -m tests.hostile.verdict_release [--files N] [--images DIR] [--backends
    native,torch,ffcv,dali] [--seed S]

Per cell (source, backend, crop): how many files it says something else of than Pillow, or gives
other pixels of. Exits 1 if there are any. Files are damaged from DIR's JPEGs (without it, from made
ones): one in four at its own size, the others at 200 px.
They are read in chunks, each by a process of its own. 10,000 take an hour of one core.
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image

from fastload import _native
from tests.hostile.damage import damaged
from tests.hostile.verdict import BACKENDS, BAD, differences
from tests.kernels.helpers import jpeg, scene

CHUNK, SECONDS = 1000, 5400  # files of one process, and how long it may take
SIDE, MOST = 200, 16_000_000  # px; a header that says more than MOST is another test's


def images(folder: str | None) -> list[bytes]:
    if folder is None:
        return [
            jpeg(scene(90 + 7 * n, 150 - 5 * n, n), ("4:2:0", "4:4:4", "4:2:2")[n % 3])
            for n in range(12)
        ]
    paths = sorted(
        path for path in Path(folder).rglob("*") if path.suffix.lower() in (".jpg", ".jpeg")
    )
    return [path.read_bytes() for path in paths]


def smaller(data: bytes) -> bytes:
    out = BytesIO()
    with Image.open(BytesIO(data)) as image:
        image.thumbnail((SIDE, SIDE))
        image.convert("RGB").save(
            out, "JPEG", quality=random.Random(len(data)).choice((75, 90, 95))
        )
    return out.getvalue()


def drawn(good: list[bytes], numbers: range, seed: int) -> tuple[list[str], list[bytes]]:
    """What was done to each file, and the files."""
    kinds, files = [], []
    for number in numbers:
        data = good[number * 7 % len(good)]
        kind, data = damaged(data if number % 4 == 0 else smaller(data), number, seed)
        _, height, width, _, _ = _native.probe(data)
        if height * width > MOST:
            kind, data = "too large", b"too large"
        kinds.append(kind)
        files.append(data)
    return kinds, files


def chunk(numbers: range, args: argparse.Namespace) -> None:
    """Print a line of JSON: the cells, how many files are bad, and every difference with what was
    done to the file.
    """
    kinds, files = drawn(images(args.images), numbers, args.seed)
    with tempfile.TemporaryDirectory() as root:
        os.environ["XDG_CACHE_HOME"] = f"{root}/cache"
        cells, found = differences(files, Path(root), args.backends.split(","))
    rows = [(one.cell, kinds[one.number], numbers[one.number], one.got, one.want) for one in found]
    print(json.dumps({"cells": cells, "found": rows}))


def report(total: "collections.Counter[str]", found: list[tuple[str, str, int, str, str]]) -> None:
    """Print all that was seen."""
    for cell, files in sorted(total.items()):
        mine = [one for one in found if one[0] == cell]
        verdicts = sum((one[3] == BAD) != (one[4] == BAD) for one in mine)
        if cell != BAD:
            print(
                f"{cell}: {files:,} files, {verdicts} other verdicts, {len(mine) - verdicts} other "
                "pixels"
            )
        for _, kind, number, got, want in mine:
            print(f"  file {number} ({kind}): got {got or 'an image'}, want {want or 'an image'}")
    print(f"{total[BAD]:,} files are bad by Pillow; {len(found)} differences")


def main(args: argparse.Namespace) -> int:
    total, found, failed = collections.Counter[str](), [], 0
    for first in range(0, args.files, CHUNK):
        command = [
            sys.executable,
            "-m",
            "tests.hostile.verdict_release",
            *sys.argv[1:],
            "--chunk",
            str(first),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            failed += 1
            print(f"files from {first} on: not done after {SECONDS} s", flush=True)
            continue
        if done.returncode:
            failed += 1
            print(
                f"files from {first} on: ended with {done.returncode}\n{done.stderr[-2000:]}",
                flush=True,
            )
            continue
        said = json.loads(done.stdout.splitlines()[-1])
        total.update(said["cells"])
        found += [tuple(one) for one in said["found"]]
        print(
            f"files {first} to {min(args.files, first + CHUNK) - 1}: {len(said['found'])} "
            "differences",
            flush=True,
        )
    report(total, found)
    print(f"{failed} chunks failed")
    return 1 if failed or found else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--images", help="a folder of JPEGs; default: made ones")
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--chunk", type=int, help="only the files from this one on, as the main process asks"
    )
    given = parser.parse_args()
    if given.chunk is None:
        sys.exit(main(given))
    chunk(range(given.chunk, min(given.chunk + CHUNK, given.files)), given)
