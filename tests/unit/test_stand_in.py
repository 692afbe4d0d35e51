"""Where there is no extension (fastload/_native.py): the reference runs, with the same pixels, and
what is missing is said.
"""

import importlib.util
import json
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fastload
from fastload import _native, transforms
from fastload.errors import BackendError
from tests.conftest import PACKAGE

STAND_IN = Path(fastload.__file__).with_name("_native.py")
OPS = (
    "RandomResizedCrop((16, 24)), RandomHorizontalFlip(), TrivialAugmentWide(), ToTensor(), "
    "RandomErasing(value='random')"
)
CONSTANTS = (
    "INSTRUCTIONS", "ARGUMENTS", "MAX_DEPTH", "MAX_UNIFORMS", "NOISE_LEVELS", "MAX_PIXELS",
    "MARGIN", "LEAST", "SHARE", "OK", "FOREIGN", "FAILED",
)  # fmt: skip
# A process whose Python has neither the extension nor, as on Windows, what POSIX brings.
BARE = """
import hashlib, importlib.util, json, os, sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "grp", "pwd"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name == "fastload._native":
            return importlib.util.spec_from_file_location(name, STAND_IN)
import torch
import numpy as np
sys.meta_path.insert(0, Hidden())
for name in ("O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "geteuid", "sysconf", "pread",
             "preadv", "register_at_fork", "sched_getaffinity", "posix_fadvise", "fchmod"):
    delattr(os, name)
import fastload
from fastload.transforms import *
def epoch(**options):
    data = fastload.open(FOLDER, [OPS])
    loader = fastload.DataLoader(data, 7, shuffle=True, seed=3, **options)
    hashed = hashlib.sha256()
    for images, labels in loader:
        hashed.update(images.numpy().tobytes() + labels.numpy().tobytes())
    return hashed.hexdigest(), loader.explain()
def refused(call):
    try:
        call()
    except fastload.FastloadError as error:
        return f"{type(error).__name__}: {error}"
report = fastload.doctor().facts["native"]
print(json.dumps({
    "torch": epoch(backend="torch")[0], "auto": epoch(),
    "native": refused(lambda: epoch(backend="native")),
    "decode": refused(lambda: fastload._native.decode(b"")), "doctor": report["error"],
}))
"""


@pytest.fixture(scope="module")
def stand_in() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fastload._stand_in", STAND_IN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_the_extensions(stand_in, name):
    assert getattr(stand_in, name) == getattr(_native, name)


def test_random_numbers_are_the_extensions(stand_in):
    assert stand_in.philox([1, 2, 3, 1 << 31], [5, 6]) == _native.philox([1, 2, 3, 1 << 31], [5, 6])
    samples, times = np.array([0, 5, 1 << 47, 3]), np.array([0, 1, 2, 65535])
    got, want = np.empty((4, 11)), np.empty((4, 11))
    for module, out in ((stand_in, got), (_native, want)):
        module.uniforms((1 << 63) + 12345, 77, samples, times, 300, out)
    np.testing.assert_array_equal(got, want)
    levels = [np.empty(10007, np.uint16) for _ in range(2)]
    stand_in.noise_levels(0xDEADBEEF, levels[0])
    _native.noise_levels(0xDEADBEEF, levels[1])
    np.testing.assert_array_equal(*levels)


@pytest.mark.parametrize("n", [1, 2, 50, 1000, 10**12])
def test_orders_are_the_extensions(stand_in, n):
    positions = np.arange(min(n, 1000)) * max(1, n // 1000)
    orders = [np.empty(len(positions), np.int64) for _ in range(2)]
    stand_in.permute(positions, n, (1 << 64) - 1, 9, orders[0])
    _native.permute(positions, n, (1 << 64) - 1, 9, orders[1])
    np.testing.assert_array_equal(*orders)


def test_files_and_checksums_are_the_extensions(stand_in, tmp_path):
    pytest.importorskip("xxhash", reason="xxhash is not installed (pip install xxhash)")
    path = tmp_path / "some"
    path.write_bytes(bytes(range(256)) * 5000)
    ours, theirs = (module.Files([str(path)], True) for module in (stand_in, _native))
    assert ours.read(0, 7, -1) == theirs.read(0, 7, -1)
    assert ours.xxh3(0, 1_200_001) == theirs.xxh3(0, 1_200_001)
    said = []
    for files in (ours, theirs):
        with pytest.raises(OSError, match="ends at byte") as raised:
            files.read(0, 5000, 1 << 21)
        said.append((raised.value.errno, str(raised.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize("planes", [False, True])
def test_arrays_stand_for_files_as_in_the_extension(stand_in, tmp_path, planes):
    path = tmp_path / "some"
    path.write_bytes(b"abcdef")
    array = np.random.default_rng(0).integers(0, 256, (5, 3, 4, 3), np.uint8)
    if planes:
        array = array.transpose(0, 3, 1, 2).copy().transpose(0, 2, 3, 1)
    made = [
        module.Files([str(path), "memory"], True, arrays=[(1, module.PixelArray(array))])
        for module in (stand_in, _native)
    ]
    assert [number for number, _ in made[0].arrays] == [1]
    for first, size in [(0, -1), (0, 36), (35, 2), (100, 80), (179, 1), (180, -1), (200, -1)]:
        want = array.tobytes()[first:][: None if size < 0 else size]
        assert [files.read(1, first, size) for files in made] == [want, want]
    assert [files.read(0, 1, 3) for files in made] == [b"bcd"] * 2
    for files in made:
        with pytest.raises(OSError) as raised:
            files.read(1, 100, 81)
        assert str(raised.value) == "memory: ends at byte 180 (want bytes 100..181)"


def test_lists_are_compared_as_by_the_extension(stand_in):
    a, b = ["a", 1], ["b", 2]
    cases = [([a, b], [a, b]), ([a], [list(a)]), ([a], [["a", 2]]), ([a], [a, b]), ([(1,)], [(1,)])]
    for held, now in cases:
        assert stand_in.same_items(held, now) == _native.same_items(held, now)
    rows = [tuple(a), tuple(b)]
    for now in ([list(a), list(b)], [list(a)], rows, [["a"], list(b)]):
        assert stand_in.same_rows(rows, now) == _native.same_rows(rows, now)


def test_what_is_absent_raises_when_it_is_called(stand_in):
    with pytest.raises(BackendError) as raised:
        stand_in.Pool(2)
    assert str(raised.value) == f"Pool: {stand_in.MISSING}"
    assert not isinstance(3, stand_in.Job)


@pytest.mark.long
def test_without_extension_and_posix_the_reference_gives_the_same_pixels(folder):
    code = f"OPS, FOLDER, STAND_IN = None, {str(folder)!r}, {str(STAND_IN)!r}\n" + BARE
    done = subprocess.run(
        [sys.executable, "-c", code.replace("[OPS]", f"[{OPS}]")],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "PYTHONPATH": str(PACKAGE), "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    machine = f"{sys.platform} {platform.machine()}"
    missing = f"this installation has no native engine (for {machine})"
    advice = 'use backend="torch", which is slow, or build fastload where there is a C++20 compiler'
    refusal = f"backend native cannot run this plan: {missing}; {advice}"
    want = here(folder)
    assert said["torch"] == said["auto"][0] == want
    assert refusal in said["auto"][1]
    assert said["native"].splitlines()[0] == f"BackendError: {refusal}"
    assert said["decode"] == f"BackendError: decode: {missing}; {advice}"
    assert said["doctor"] == missing


def here(folder: str) -> str:
    """The same epoch by the extension."""
    import hashlib

    names = {name: getattr(transforms, name) for name in transforms.__all__}
    data = fastload.open(folder, eval(f"[{OPS}]", names))
    hashed = hashlib.sha256()
    for images, labels in fastload.DataLoader(data, 7, shuffle=True, seed=3, backend="native"):
        hashed.update(images.numpy().tobytes() + labels.numpy().tobytes())
    return hashed.hexdigest()
