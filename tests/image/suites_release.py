"""The release's check of lazy images by the tests of other projects: each test says the same with
lazy images as without.

    python -m tests.image.suites_release [--pillow DIR] [--torchvision DIR] [--timm DIR]
                                         [--tests FILE…] [--only WORDS]

DIR is a project's unpacked source, best of the version that is installed: Pillow's and timm's
source distributions on PyPI have their tests, torchvision's is on GitHub and in Debian
(`apt-get source pytorch-vision`). --tests are files in DIR, in place of those that have images.
Each suite runs twice, in processes of its own: with PIL, torchvision.io and OpenCV as fastload's
workers have them, and as they are. Exits 1 where a test differs, or where no image was lazy.
docs/internals/suites.md says what was found.

Most of Pillow's tests take one picture, a PPM. They run once more with it as a JPEG, so that images
are lazy in them too. Some tests then fail in both ways, because they know the PPM's pixels.
"""

import argparse
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

import fastload

PLUGIN = Path(__file__).parent / "plugin"
PACKAGE = Path(fastload.__file__).parents[1]
PICTURE = Path("Tests", "images", "hopper.ppm")  # of most of Pillow's tests


class Suite(NamedTuple):
    folder: str  # of its tests
    tests: tuple[str, ...]  # those that have images


SUITES = {
    "pillow": Suite("Tests", ("Tests",)),
    "torchvision": Suite(
        "test",
        tuple(
            f"test/test_{name}.py"
            for name in ("datasets", "datasets_utils", "image", "transforms", "utils")
        ),
    ),
    "timm": Suite(
        "tests",
        tuple(
            f"tests/test_{name}.py"
            for name in ("data", "dataset_info", "multilabel", "naflex_dataset", "reader_wds")
        ),
    ),
}


def ran(root: Path, tests: tuple[str, ...], words: str, lazy: str) -> dict[str, Any]:
    """What became of the tests of a project, by their names, and what was lazy."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        paths = [str(PLUGIN), str(PACKAGE), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "XDG_CACHE_HOME": folder,
        }
        options = ["-q", "-p", "lazy_plugin", "-p", "no:cacheprovider", "-p", "no:randomly"]
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", *options, *(["-k", words] if words else []),
                f"--lazy-images={lazy}", f"--lazy-report={report}", *tests,
            ],
            cwd=root, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not report.exists():
            sys.exit(f"{root}: pytest ended with {done.returncode}\n{done.stdout}{done.stderr}")
        found: dict[str, Any] = json.loads(report.read_text())
        return found


def differing(off: dict[str, Any], on: dict[str, Any]) -> list[str]:
    """A line for each test whose outcome is not the same."""
    lines = []
    for name in sorted({**off, **on}):
        (was, said), (now, says) = off.get(name, ("missing", "")), on.get(name, ("missing", ""))
        if was != now:
            lines.append(f"  {name}: {was} without, {now} with lazy images: {says or said}")
    return lines


def as_jpeg(root: Path) -> None:
    """Make a JPEG of the picture of Pillow's tests; Pillow does not look at its name."""
    with Image.open(root / PICTURE) as image:
        image.load()
    image.save(root / PICTURE, "JPEG", quality=95, subsampling="4:4:4")


def compared(name: str, root: Path, tests: tuple[str, ...], words: str) -> bool:
    """Whether each test says the same, and images were lazy."""
    off, on = (ran(root, tests, words, lazy) for lazy in ("off", "on"))
    lines, counts = differing(off["tests"], on["tests"]), on["counts"]
    outcomes = [outcome for outcome, _ in off["tests"].values()]
    said = ", ".join(f"{outcomes.count(one):,} {one}" for one in sorted(set(outcomes)))
    print(f"{name}: {len(outcomes):,} tests ({said}), {len(lines)} differ")
    print(
        f"  {len(on['lazy']):,} of them had {counts.get('opened', 0):,} lazy images, of which "
        f"{counts.get('decoded', 0):,} parts were decoded natively; {counts.get('arrays', 0):,} "
        "arrays for torchvision.io and OpenCV",
        flush=True,
    )
    print(*lines, sep="\n")
    return bool(on["lazy"]) and not lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in SUITES:
        parser.add_argument(f"--{name}", type=Path, metavar="DIR")
    parser.add_argument("--tests", nargs="+", default=())
    parser.add_argument("--only", default="", help="words of tests, as pytest's -k takes them")
    args = parser.parse_args()
    good = []
    for name, suite in SUITES.items():
        source = getattr(args, name)
        if source is None:
            continue
        title = f"{source.resolve().name}, {name} {importlib.metadata.version(name)} installed"
        tests = tuple(args.tests) or suite.tests
        with tempfile.TemporaryDirectory() as folder:
            # Apart from the project's package, which is not the one that is installed
            root = Path(folder)
            shutil.copytree(source / suite.folder, root / suite.folder)
            good.append(compared(title, root, tests, args.only))
            if name == "pillow":
                as_jpeg(root)
                good.append(compared(f"{title}, its picture a JPEG", root, tests, args.only))
    if not good:
        parser.error("name a suite")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
