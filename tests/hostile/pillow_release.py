"""The release's check against other versions of Pillow: what the native engine decodes by itself,
each of them takes, to the bit.

    python -m tests.hostile.pillow_release PYTHON... [--files N] [--images DIR] [--seed S]

PYTHON: interpreters with a Pillow and nothing else, such as `python -m venv p10 && p10/bin/pip
install pillow==10.0.0` makes. Files are those of verdict_release. Exits 1 where a Pillow refuses a
file that is certain, or has other pixels than the native decoders.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from fastload import _native
from tests.hostile.verdict_release import drawn, images

JUDGE = Path(__file__).with_name("judge.py")
OWN = (
    "baseline",
    "restart-marked",
)  # what the own decoder covers: damaged bits elsewhere are not even looked at
ANY = "ok"


def expected(data: bytes) -> str:
    """ "ok DIGEST" of what is decoded natively, ANY for what may be decoded in part, or nothing:

    Pillow is asked.
    """
    status, height, width, _, _ = _native.probe(data)
    if status != _native.OK:
        return ""
    pixels, _ = _native.jpeg_region(data, (0, 0, height, width), None, "best")
    if pixels is None:
        try:
            pixels = _native.decode(data)
        except ValueError:
            return ANY if _native.jpeg_coding(data) in OWN else ""
    size = repr((width, height)).encode()
    digest = hashlib.blake2b(np.ascontiguousarray(pixels).tobytes() + size, digest_size=16)
    return f"ok {digest.hexdigest()}"


def main(args: argparse.Namespace) -> int:
    kinds, files = drawn(images(args.images), range(args.files), args.seed)
    wanted, wrong = [expected(data) for data in files], 0
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(files):
            (Path(folder) / f"{number:06}").write_bytes(data)
        for python in args.pythons:
            version = subprocess.run(
                [python, "-c", "import PIL; print(PIL.__version__)"],
                capture_output=True,
                text=True,
                check=True,
            )
            said = subprocess.run(
                [python, str(JUDGE), folder], capture_output=True, text=True, check=True
            ).stdout.splitlines()
            other = [
                n
                for n, (got, want) in enumerate(zip(said, wanted, strict=True))
                if want and not got.startswith(want)
            ]
            bad, own = sum(line.startswith("bad") for line in said), sum(map(bool, wanted))
            print(
                f"Pillow {version.stdout.strip()}: {len(files):,} files, {bad:,} bad; {own:,} "
                f"native ones, {len(other)} differ",
                flush=True,
            )
            for number in other:
                print(f"  file {number} ({kinds[number]}): {said[number]}, want {wanted[number]}")
            wrong += len(other)
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pythons", nargs="+")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--images", help="a folder of JPEGs; default: made ones")
    parser.add_argument("--seed", type=int, default=0)
    sys.exit(main(parser.parse_args()))
