"""Data of the profiler's own: photographs large enough that decoding them is the work, and a command line to call."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner, Result

from fastload.cli import profile, recipes


def photo(seed: int) -> bytes:
    """A JPEG with as many bits per pixel as ImageNet's."""
    noise = np.random.default_rng(seed).integers(0, 256, (94, 125, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).resize((500, 375), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
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
def empty(tmp_path: Path) -> str:
    (tmp_path / "empty").mkdir()
    return str(tmp_path / "empty")
