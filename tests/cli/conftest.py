"""Runs commands as users do: in a process of their own, from somewhere else."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from fastload.cli import parity, profile, recipes, replay, show
from tests.conftest import PACKAGE, TREE

sys.path.append(str(TREE))  # last: for `import benchmarks`, never for another fastload

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def plots(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where Matplotlib keeps its list of the machine's fonts: it takes seconds to make."""
    return str(tmp_path_factory.mktemp("matplotlib"))


@pytest.fixture
def surroundings(tmp_path: Path, plots: str) -> dict[str, Any]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "MPLCONFIGDIR": plots, "COLUMNS": "100"}


@pytest.fixture
def command(program: Command, tmp_path: Path, surroundings: dict[str, Any]) -> Command:
    """command("-m", "fastload", "--help"):

    Python with these arguments, in an empty folder; it has torch imported already.
    """
    return lambda *arguments: program(*arguments, cwd=tmp_path, **surroundings)


@pytest.fixture
def fresh_command(tmp_path: Path, surroundings: dict[str, Any]) -> Command:
    """As `command`, but of an interpreter that has imported nothing."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(TREE)]),
        **surroundings,
    }
    how: dict[str, Any] = {
        "cwd": tmp_path,
        "env": environment,
        "capture_output": True,
        "text": True,
        "timeout": 300,
    }
    return lambda *arguments: subprocess.run([sys.executable, *arguments], check=False, **how)


@pytest.fixture
def run() -> Callable[..., Result]:
    """run("show", PATH, …): a verb in this process; an error of fastload's is in `.exception`."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    for verb in (parity, profile, recipes, replay, show):
        verb.register(app)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def tree() -> Path:
    return TREE
