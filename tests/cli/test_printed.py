"""What every verb prints and writes, whatever names and numbers are in it."""

import json
import os

import pytest
from rich.text import Text

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


def test_json_goes_into_a_pipe_that_stands_there(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        output.emit({"a": 1}, str(path))
        assert json.loads(os.read(reader, 100)) == {"a": 1}
    finally:
        os.close(reader)
