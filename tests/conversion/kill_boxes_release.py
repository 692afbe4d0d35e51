"""The release's check that objects are kept whatever happens: `convert --boxes` killed by SIGKILL
at random moments, half of them aimed at the commit, and continued by --resume. Takes minutes.

    python -m tests.conversion.kill_boxes_release [KILLS]

COCO-, VOC- and YOLO-like sets go to shards, tars and Parquet files. After each kill the target is
absent, or the old data set, or whole; --resume makes it the same bytes as a conversion that nobody
kills, and the targets of these are the source's.
"""

import itertools
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.conversion.kill_release import COMMIT, Moment, contents, killed
from tests.detection.kept_helpers import TO, Made, coco, convert, equal, voc, yolo

IMAGES = 24
MAKERS = (coco, voc, yolo)


def converted(made: Made, out: Path, to: str, **more: Any) -> int:
    """How many samples were there already."""
    resumed: int = convert(made.source, out, to, boxes=made.boxes, workers=2, **more).resumed
    return resumed


def whole(made: Made, out: Path, to: str) -> tuple[dict[str, bytes], float]:
    """A conversion that nobody kills, with the source's targets: its files, and its time in s."""
    begin = time.perf_counter()
    converted(made, out, to)
    took = time.perf_counter() - begin
    assert equal(out, made.opened(keys=made.keys)), f"{out}: its targets are not the source's"
    return contents(out), took


def check(kills: int, root: Path, seed: int = 0, images: int = IMAGES) -> Counter[str]:
    """Kill so often conversions of so many images; what was found.

    Raises AssertionError at the first state that should not be.
    """
    draw, found = random.Random(seed), Counter[str]()
    made = {make.__name__: make(root / make.__name__, images) for make in MAKERS}
    kinds = list(itertools.product(made, TO))
    draw.shuffle(kinds)
    want: dict[tuple[str, str], tuple[dict[str, bytes], float]] = {}
    for number in range(kills):
        name, to = kinds[number % len(kinds)]
        if (name, to) not in want:
            want[name, to] = whole(made[name], root / "whole" / name / to, to)
        files, took = want[name, to]
        when = (
            Moment(None, draw.randrange(1, COMMIT))
            if number // len(kinds) % 2
            else Moment(draw.uniform(0, took), 0)
        )
        found += one(f"kill {number}, {name} to {to}", made[name], root / "run", to, when, files)
        shutil.rmtree(root / "run", ignore_errors=True)
    return found


def one(
    what: str, made: Made, root: Path, to: str, when: Moment, files: dict[str, bytes]
) -> Counter[str]:
    """Kill once, of `when` parity over an older data set."""
    out, old = root / "out", dict[str, bytes]()
    root.mkdir(parents=True)
    if replacing := when.call % 2 == 1:
        converted(made, out, to, subset="5")
        old = contents(out)
    died = killed(lambda: converted(made, out, to, overwrite=replacing), when)
    there = contents(out)
    states = {"absent": {}, "old": old, "whole": files}
    state = next((name for name, content in states.items() if there == content), None)
    assert state is not None, f"{what}: {sorted(there)} is neither absent nor whole"
    found = Counter({state: 1, "died": int(died)})
    if state != "whole":
        found["resumed"] = converted(made, out, to, overwrite=replacing, resume=True) > 0
        assert contents(out) == files, f"{what}: what was resumed has other bytes"
    assert equal(out, made.opened(keys=made.keys)), f"{what}: its targets are not the source's"
    return found


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 180
    with tempfile.TemporaryDirectory() as folder:
        found = check(kills, Path(folder))
    died = found.pop("died")
    print(
        f"{kills} kills, {died} of them before the end: "
        + ", ".join(f"{count} {name}" for name, count in found.most_common())
    )


if __name__ == "__main__":
    main()
