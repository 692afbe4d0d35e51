"""Shells complete verbs, options and the words that options take."""

import os
import shutil
import subprocess
import sys

import pytest

from fastload import cli, recipes
from fastload.files.formats import WRITERS
from fastload.recipes import rates
from tests.conftest import PACKAGE


@pytest.fixture
def complete(monkeypatch, capsys):
    """complete("fastload pro"): what bash is offered for the last word."""

    def run(line):
        words = line.split(" ")
        monkeypatch.setenv("_FASTLOAD_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        monkeypatch.setattr("sys.argv", ["fastload"])
        with pytest.raises(SystemExit):
            cli.main()
        return capsys.readouterr().out.split()

    return run


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("fastload pro", ["profile"]),
        ("fastload ", [*(verb for verb in cli.VERBS if verb != "recipes"), "recipes"]),
        ("fastload recipes ", ["list", "show", "diff"]),
        ("fastload show x --ba", ["--batch-size", "--backend"]),
        ("fastload show x --recipe ", list(recipes.names())),
        ("fastload recipes diff hot timm-a", ["timm-a1", "timm-a2", "timm-a3"]),
        ("fastload convert a b --to ", list(WRITERS)),
        ("fastload convert a b --from pa", ["parquet", "pairs"]),
        ("fastload convert a b --on-error s", ["skip", "substitute"]),
        ("fastload profile --backend d", ["dali", "dali-own"]),
        ("fastload profile --assume ", list(rates.gpus())),
        ("fastload profile --fail-if c", ["cpu-bound"]),
    ],
)
def test_words_that_are_offered(complete, line, offered):
    assert complete(line) == offered


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    return tmp_path


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
def test_bash_completes_what_it_has_installed(home, fresh_command):
    done = fresh_command(
        "-c", "import sys; sys.argv[0] = 'fastload'; from fastload.cli import main; main()",
        "--install-completion", "bash",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (script,) = (home / ".bash_completions").iterdir()
    assert f"source '{script}'" in (home / ".bashrc").read_text()
    program = home / "fastload"  # what the script calls to ask for words
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m fastload "$@"\n')
    program.chmod(0o755)
    ask = (
        f"source '{script}'; COMP_WORDS=(fastload recipes sh); COMP_CWORD=2; "
        f"_fastload_completion '{program}'; echo ${{COMPREPLY[@]}}; complete -p fastload"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    shown = subprocess.run(
        ["bash", "--norc", "-c", ask], capture_output=True, text=True, check=True, env=environment
    )
    offered, registered = shown.stdout.splitlines()
    assert offered == "show"
    assert "-F _fastload_completion fastload" in registered
