"""The toy package, installed."""

import os
from pathlib import Path

import pytest

from tests import distributions
from tests.conftest import PACKAGE, TREE


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that it is installed in, in this process and for programs."""
    folder = distributions.write_toy(tmp_path / "site")
    distributions.install(monkeypatch, folder)
    path = os.pathsep.join(map(str, (folder, PACKAGE, TREE)))
    monkeypatch.setenv("PYTHONPATH", path)
    return folder


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution whose entry points cannot be loaded, in all groups."""
    kinds = ("sources", "readers", "writers", "backends")
    groups = {f"fastload.{kind}": {"broken": "broken_toy:FORMAT"} for kind in kinds}
    folder = tmp_path / "broken"
    distributions.write(folder, "broken-toy", groups, {"broken_toy": "1 / 0\n"})
    distributions.install(monkeypatch, folder)
