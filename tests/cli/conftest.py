"""Runs commands as users do: in a process of their own, from somewhere else."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fastload

TREE = Path(__file__).parents[2]  # the checkout: benchmarks and what git knows
PACKAGE = Path(fastload.__file__).parents[1]  # where the fastload under test lies; an installed one is elsewhere
sys.path.append(str(TREE))  # last: for `import benchmarks`, never for another fastload

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """command("-m", "fastload", "--help"): Python with these arguments, in an empty folder."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(PACKAGE), str(TREE)])
        environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache"), "COLUMNS": "100"}
        return subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    return run


@pytest.fixture
def tree() -> Path:
    return TREE
