"""What every verb prints and writes, whatever names and numbers are in it."""

import json
import os
import subprocess
import sys

import pytest
from rich.text import Text

from fastload import cli
from fastload.cli import attached, output
from fastload.errors import UsageError
from fastload.forecast import page
from tests.forecast import made


@pytest.fixture
def printed(capsys, monkeypatch):
    """What `put` gives to a terminal of 80 columns, or to a pipe."""
    return lambda item: (output.put(item), capsys.readouterr().out)[1]


def test_json_has_no_number_that_is_none(tmp_path):
    path = tmp_path / "out.json"
    found = {"a": float("nan"), "b": [1.5, float("-inf"), (2, None)], "c": {"d": float("inf")}}
    output.emit(found, str(path))
    assert (
        path.read_text()
        == json.dumps({"a": None, "b": [1.5, None, [2, None]], "c": {"d": None}}, indent=2) + "\n"
    )


def test_a_name_changes_no_terminal(printed):
    name = "a\x1b[31m\tb\x9bd\udcff\u00e9"
    shown = "a\ufffd[31m\ufffdb\ufffdd\\xff\u00e9\n"
    assert printed(Text(name)) == printed(name) == shown
    assert printed(output.table(["name"], [[name]])).endswith(shown)


def test_a_page_holds_no_control_characters(tmp_path):
    path, whole = tmp_path / "a.html", page.write(made.forecast())
    attached.save(str(path), f"{whole}\x1b[31m\udcff", "html")
    assert path.read_text() == f"{whole}\ufffd[31m\\xff"


def test_json_that_cannot_be_written_leaves_what_was_there(tmp_path):
    path, lasting = tmp_path / "out.json", tmp_path / "link.json"
    output.emit({"a": 1}, str(path))
    lasting.symlink_to(path)
    output.emit({"a": 2}, str(lasting))
    assert lasting.is_symlink()
    assert json.loads(path.read_text()) == {"a": 2}
    with pytest.raises(UsageError, match="give another file to --json"):
        output.emit({"a": 3}, str(tmp_path / "no" / "out.json"))
    assert sorted(os.listdir(tmp_path)) == ["link.json", "out.json"]


@pytest.mark.parametrize(
    "line", ["recipes list", "recipes list --json -", "--help", "--version", "profile --help"]
)
def test_a_full_disk_behind_stdout_is_one_line(line):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fastload", *line.split()],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    said = "fastload: stdout: cannot be written (No space left on device); make room for it\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_a_closed_stdout_takes_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    output.emit({"a": 1}, "-")
    output.emit({"a": 1}, None, "text")


@pytest.mark.parametrize(
    ("verb", "option", "where", "status", "said"),
    [
        ("doctor", "--json", "", 2, "doctor: --json has an empty name; give the name of a file"),
        ("recipes list", "--json", "", 2,
         "recipes: --json has an empty name; give the name of a file"),
        ("inspect x", "--json", "no/a.json", 1,
         ("inspect: no/a.json: its folder does not exist; make it, or give another file to "
          "--json")),
        ("inspect x", "--output", "no/a.png", 1,
         ("inspect: no/a.png: its folder does not exist; make it, or give another file to "
          "--output")),
    ],
)  # fmt: skip
def test_where_a_file_cannot_lie_is_told_before_the_work(
    monkeypatch, capsys, verb, option, where, status, said
):
    monkeypatch.setattr("sys.argv", ["fastload", *verb.split(), option, where])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert (end.value.code, capsys.readouterr()) == (status, ("", f"fastload: {said}\n"))


def test_json_goes_into_a_pipe_that_stands_there(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        output.emit({"a": 1}, str(path))
        assert json.loads(os.read(reader, 100)) == {"a": 1}
    finally:
        os.close(reader)
