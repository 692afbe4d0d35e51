"""Data of the profiler's own: photographs large enough that decoding them is the work, a command
line to call, and scripts that train.
"""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner, Result

from fastload.attach import patience
from fastload.cli import profile, recipes
from fastload.measure import Sample
from fastload.profiler import attached, ladder
from fastload.profiler.evidence import Rungs
from tests.zygote import Zygote

HEAD = """
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

def burn(seconds):
    start = time.thread_time()
    while time.thread_time() - start < seconds:
        pass

class Images(Dataset):
    transform = None
    def __len__(self):
        return 100_000
    def __getitem__(self, index):
        item(index)
        return torch.zeros(3, 4, 5), 0

def item(index):
    pass

def collate(samples):
    return torch.utils.data.default_collate(samples)

def train(step, loader, epochs=1):
    weights = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weights], 0.1)
    weights.grad = torch.ones(1)
    for _ in range(epochs):
        for images, labels in loader:
            step()
            optimizer.step()
"""


def photo(seed: int) -> bytes:
    """A JPEG with as many bits per pixel as ImageNet's."""
    noise = np.random.default_rng(seed).integers(0, 256, (94, 125, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).resize((500, 375), Image.Resampling.BICUBIC).save(
        out, "JPEG", quality=90
    )
    return out.getvalue()


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> str:
    """ROOT/CLASS/NAME.jpg: 2 classes, 24 JPEGs of 375x500 px."""
    root = tmp_path_factory.mktemp("photos")
    for label in range(2):
        (root / f"class{label}").mkdir()
        for number in range(12):
            (root / f"class{label}" / f"{number:02d}.jpg").write_bytes(photo(number % 3))
    return str(root)


@pytest.fixture
def run() -> Callable[..., Result]:
    """run("profile", "--quick", …); an error of fastload's is in `.exception`."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    profile.register(app)
    recipes.register(app)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """rates(step, loader, training): images/s that the rungs are taken to have had. They do run,
    but what they measured says more of the machine's other work than of the loader."""
    turns = ladder.Ladder._turns

    def set_rates(step: float, loader: float, training: float) -> None:
        def taken(self: ladder.Ladder, *given: Any) -> Rungs:
            turns(self, *given)
            return Rungs(*(Sample((found,)) for found in (step, loader, training)))

        monkeypatch.setattr(ladder.Ladder, "_turns", taken)

    return set_rates


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of time.perf_counter, in a list of one; sleeping moves it."""
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now


@pytest.fixture
def empty(tmp_path: Path) -> str:
    (tmp_path / "empty").mkdir()
    return str(tmp_path / "empty")


@pytest.fixture
def fresh_script(tmp_path: Path) -> Callable[..., list[str]]:
    """The command of a script: HEAD (without, if it is plain) and `body`."""

    def write(body: str, *, plain: bool = False) -> list[str]:
        path = tmp_path / "train.py"
        path.write_text(body if plain else HEAD + body)
        return [sys.executable, str(path)]

    return write


@pytest.fixture
def script(
    fresh_script: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, forker: Zygote
) -> Callable[..., list[str]]:
    """It is started where torch is imported already; fastload's `sitecustomize` runs there as in a
    fresh interpreter. Its end is waited for: on a busy machine it takes as long as it takes.
    """
    for limit in ("WORK_S", "IDLE_S", "MOST_S"):
        monkeypatch.setattr(patience, limit, 3600.0)
    monkeypatch.setattr(
        attached,
        "subprocess",
        SimpleNamespace(Popen=forker.start, TimeoutExpired=subprocess.TimeoutExpired),
    )
    return fresh_script
