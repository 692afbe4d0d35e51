"""Fixtures that many tests share.

Every image is made here or in the test itself; none is square unless a test says so.
"""

import gc
import importlib
import importlib.abc
import io
import itertools
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Before torch is imported, for programs too: the cores are busy with other tests, and OpenMP's
# threads would spin while they wait for one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload.system.machine import usable_cores
from tests import orphans
from tests.zygote import Zygote

# A busy machine takes longer for an example, and a suite says the same twice.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")

orphans.end_with_parent()

TREE = Path(__file__).parents[1]  # the checkout: benchmarks, tests and what git knows
needs_numba = pytest.mark.skipif(
    not find_spec("numba"), reason="Numba is not installed (pip install numba)"
)
needs_checkout = pytest.mark.skipif(
    not (TREE / "fastload").exists(), reason="needs a checkout: a wheel is tested without fastload/"
)
PACKAGE = Path(fastload.__file__).parents[
    1
]  # where the fastload under test lies; an installed one is elsewhere


class _NoTorchvision(importlib.abc.MetaPathFinder):
    """Skips what imports torchvision, where its wheel does not fit the torch that is installed (a
    CPU one, a newer one).
    """

    def __init__(self, error: Exception) -> None:
        self.error = error

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torchvision":
            pytest.skip(
                f"needs torchvision, whose import fails here: {self.error}", allow_module_level=True
            )


try:
    importlib.import_module("torchvision")
except (ImportError, RuntimeError) as error:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    sys.meta_path.insert(0, _NoTorchvision(error))

# Workers that are no forks of the tests: torch is there already, as it takes seconds to import, and
# fastload is not, so they come to it as those do that are spawned.
multiprocessing.set_forkserver_preload([n for n in ("torch", "torchvision") if n in sys.modules])

# Files with the longest tests (--durations=50 tells them): they begin first, so that nobody waits
# for one at the end.
LONG = (
    "cli/test_benchmark_train.py", "cli/test_demo.py", "cli/test_benchmarks.py",
    "cli/test_benchmark_peers.py", "profiler/test_attach.py",
    "life/test_life.py", "conversion/test_crash.py", "conversion/test_formats_crash.py",
    "backends/test_custom.py",
)  # fmt: skip
FOLDERS = itertools.count()  # numbers of those that tests have had
SIZES = ((37, 53), (64, 48), (21, 90), (70, 33), (45, 45))  # height, width; px


def textured(height: int, width: int, seed: int) -> np.ndarray:
    """uint8 [H, W, 3]: smooth colour waves with some noise, unlike in every direction and
    channel.
    """
    y, x = np.mgrid[:height, :width].astype(np.float64)
    rng = np.random.default_rng(seed)
    waves = [
        np.sin(x / (3 + c) + seed) + np.cos(y / (5 - c) + 2 * seed) + x / width for c in range(3)
    ]
    pixels = 128 + 50 * np.stack(waves, axis=-1) + rng.normal(0, 12, (height, width, 3))
    return np.clip(pixels, 0, 255).astype(np.uint8)


def encoded(pixels: np.ndarray, kind: str = "JPEG", **options: object) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind, **options)
    return out.getvalue()


# What imports a package that not every Python can have
IMPORTS = {
    "timm": (
        "frameworks/test_timm.py", "loader/mutations/test_mutations.py",
        "loader/mutations/test_patches.py", "lowering/test_dataset_reasons.py",
        "lowering/test_datasets.py", "lowering/test_timm_loader.py",
        "lowering/test_timm_transforms.py", "unit/test_definitions.py", "unit/test_timm_strings.py",
    ),
    "numba": ("backends/test_custom_rules.py",),
}  # fmt: skip
LEFT = {name: paths for name, paths in IMPORTS.items() if not find_spec(name)}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """None: others decide."""
    out = {TREE / "tests" / path for paths in LEFT.values() for path in paths}
    return True if collection_path in out else None


def pytest_report_header() -> list[str]:
    return [f"not installed, so left out: {name}: {', '.join(LEFT[name])}" for name in LEFT]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {TREE / "tests" / name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path, len(LONG)))


def pytest_collection_finish() -> None:
    """What was imported and collected stays: neither this process nor its forks look through it
    again for what may go.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """`-n auto`: one more than cores, because tests of programs and loaders wait a third of the
    time.
    """
    return usable_cores() + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """-n N keeps the tests of a file together, which shares what they have in common, until a
    worker has nothing left to do.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest's, which reads the names of all folders that thousands of tests before this one
    have had.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(FOLDERS)}", numbered=False)


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Paths of folders that are not there."""
    root = tmp_path_factory.mktemp("caches")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def cache(
    request: pytest.FixtureRequest, caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The user's cache, where loaders collect seek indexes: each test has its own, in its folder
    if it has one.
    """
    has_folder = "tmp_path" in request.fixturenames
    path = request.getfixturevalue("tmp_path") / "cache" if has_folder else next(caches)
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))
    return path


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt: what a shell runs in the background is started with it
    ignored, and Python leaves that so.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def chi_square(counts: np.ndarray, shares: np.ndarray) -> float:
    """The probability that counts [K] as far from shares [K] (which sum to 1) come from them by
    chance.
    """
    counts, shares = np.asarray(counts, float), np.asarray(shares, float)
    assert abs(shares.sum() - 1) < 1e-9
    assert not counts[shares == 0].any()
    counts, shares = counts[shares > 0], shares[shares > 0]
    wanted = counts.sum() * shares
    statistic = ((counts - wanted) ** 2 / wanted).sum()
    half = torch.tensor([(len(counts) - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


@pytest.fixture
def p_value() -> Callable[..., float]:
    return chi_square


@pytest.fixture
def make_image() -> Callable[..., np.ndarray]:
    return textured


@pytest.fixture
def encode() -> Callable[..., bytes]:
    return encoded


@pytest.fixture(scope="session")
def forker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    made = Zygote(tmp_path_factory.mktemp("programs"), os.pathsep.join([str(PACKAGE), str(TREE)]))
    yield made
    made.close()


@pytest.fixture(scope="session")
def program(forker: Zygote) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """program("-c", code, …, cwd=…, NAME=value):

    Python in a process of its own, which has torch imported already.
    """
    return forker.run


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """A conversion keeps Ctrl-C away up to the end of its program; here the program goes on."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """ROOT/CLASS/NAME.jpg: 3 classes, 40 JPEGs of many sizes and samplings."""
    root = tmp_path_factory.mktemp("folder")
    for number in range(40):
        height, width = SIZES[number % len(SIZES)]
        path = root / f"class{number % 3}" / f"{number:03d}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(
            encoded(textured(height, width, number), quality=90, subsampling=number % 3)
        )
    return str(root)


@pytest.fixture
def bad_folder(tmp_path: Path) -> Callable[..., str]:
    """A folder with one good JPEG and the given files: bad_folder({"name.jpg": b"…"})."""

    def make(files: dict[str, bytes]) -> str:
        (tmp_path / "data" / "a").mkdir(parents=True)
        (tmp_path / "data" / "a" / "0good.jpg").write_bytes(encoded(textured(40, 60, 1)))
        for name, content in files.items():
            (tmp_path / "data" / "a" / name).write_bytes(content)
        return str(tmp_path / "data")

    return make
