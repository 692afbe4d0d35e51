"""The most memory that a loader takes over images that are large in memory: what
docs/reliability.md says, with any threads.
"""

import json
from pathlib import Path

import PIL
import pytest

from fastload import _native
from fastload.backends.foreign import HELD
from fastload.plan import preflight
from tests.hostile import giants
from tests.hostile.giants import KINDS

MIB = 1 << 20
PILLOW = tuple(map(int, PIL.__version__.split(".")[:2]))
MEGAPIXELS = 21
MOST = 200 * MIB  # what claims may add up to
BATCH, SLOT = 5, 24 * 32 * 3 * 4
NAMES = [
    "baseline.jpg", "long.jpg", "progressive.jpg", "promised progressive.jpg", "cmyk.jpg",
    "cut.jpg", "flat.png", "alpha.png",
    "16 bits.png", "lossless.webp", "deflate.tiff", "flat.gif",
]  # fmt: skip
BESIDES = 48 * MIB  # stacks, arenas of the heap, Python

PROGRAM = """
import re, sys, warnings, torch
import fastload
from fastload import _native, transforms as T
from fastload.errors import SampleError
torch.set_num_threads(1)
warnings.simplefilter("ignore")
folder, threads, backend, most = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
_native.claims_most(most)
def status(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
data = fastload.open(folder, [T.Resize((24, 32)), T.ToTensor()])
loader = fastload.DataLoader(data, 5, num_workers=threads, backend=backend)
before, files = status("VmRSS"), status("RssFile")
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
batches, came = iter(loader), [0, 0]
while True:
    try:
        next(batches)
        came[0] += 1
    except StopIteration:
        break
    except SampleError as error:
        came[1] += 1
        del error
del batches
code = status("RssFile") - files  # of libraries, as it is first run: the page cache's memory
print([status("VmHWM") - before - code, *came])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("giants") / "a"
    where.mkdir()
    for number, name in enumerate(NAMES * 2):
        to = where / f"{number:02} {name}"
        to.write_bytes(KINDS[name](MEGAPIXELS)) if number < len(NAMES) else to.hardlink_to(
            where / f"{number - len(NAMES):02} {name}"
        )
    return str(where.parent)


def formula(folder: str, threads: int) -> int:
    """Bytes, as docs/reliability.md has it."""
    depth = min(8, 2 * max(1, threads))
    files = sum(path.stat().st_size for path in Path(folder).rglob("*.*"))
    one = MEGAPIXELS * 10**6
    foreign = one * 18 + 16 * MIB  # a WebP by Pillow: the largest claim
    images = max(1, threads) * 2 * _native.SHARE + max(MOST, one * preflight.COEFFICIENTS, foreign)
    pixels = (
        3 * one + depth * HELD
    )  # of the foreign image that is made into what is asked for; of those that wait for it
    older = 0 if PILLOW >= (13, 0) else 3 * one  # what these keep of an image, as measured
    return images + pixels + older + (depth + 2) * BATCH * SLOT + files + BESIDES


@pytest.mark.long
@pytest.mark.parametrize("threads", [0, 1, 2, 4, 8])
def test_the_peak_is_within_the_formula(folder: str, program, threads: int) -> None:
    done = program("-c", PROGRAM, folder, str(threads), "native", str(MOST))
    assert (done.returncode, done.stderr) == (0, "")
    peak, batches, errors = json.loads(done.stdout)
    assert batches + errors == 5
    assert errors >= 2
    print(f"{threads} threads: {peak / MIB:.0f} of {formula(folder, threads) / MIB:.0f} MiB")
    assert peak <= formula(folder, threads)


def test_what_is_large_is_small_on_the_disk() -> None:
    for name, make in KINDS.items():
        assert len(make(1.0)) < 60_000, name
    assert giants.baseline(37, 53)[-2:] == b"\xff\xd9"
