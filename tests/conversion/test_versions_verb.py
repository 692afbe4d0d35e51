"""The command line: convert --append and --delete, inspect --versions."""

import json

import pytest

from tests.conversion.conftest import convert

from .version_helpers import folder, keys


@pytest.fixture
def run(command_line):
    return command_line("convert", "inspect")


@pytest.fixture
def data(in_memory):
    convert(folder(in_memory / "in", range(4)), in_memory / "out", shard_bytes=1024)
    return in_memory / "out"


def table(out):
    """Its rows, without the line with the path."""
    return [line.split() for line in out.splitlines()[1:]]


def test_append_delete_and_the_versions(run, data, in_memory):
    more = folder(in_memory / "more", range(2, 7))
    how = ("--append", "--shard-size", "1K", "--workers", "1")
    code, out, _ = run("convert", more, data, *how)
    assert code == 0
    assert table(out) == [
        ["version", "2"], ["added", "3"], ["deleted", "0"], ["there", "already", "2"],
        ["samples", "7"], ["classes", "1"], ["shards", "7"],
    ]  # fmt: skip
    (in_memory / "gone.txt").write_text("c/000\nc/005\n")
    code, out, err = run("convert", data, "--delete", in_memory / "gone.txt", "--delete", "c/001")
    assert (code, err) == (0, "")
    assert table(out)[:3] == [["version", "3"], ["added", "0"], ["deleted", "3"]]
    code, out, _ = run("convert", in_memory / "in", data, *how, "--json", "-")
    said = json.loads(out)
    assert (code, said["version"], said["added"], said["gone"]) == (0, 3, 0, 2)
    code, out, _ = run("convert", in_memory / "in", data, *how, "--delete", "c/001")
    assert table(out)[3:5] == [["there", "already", "2"], ["deleted", "before", "1"]]
    code, out, err = run("inspect", data, "--versions")
    assert (code, err) == (0, "")
    assert [row[:1] + row[2:] for row in table(out)] == [
        ["version", "added", "deleted", "samples"], ["1", "4", "0", "4"], ["2", "3", "0", "7"],
        ["3", "0", "3", "4"], ["4", "1", "0", "5"],
    ]  # fmt: skip
    code, out, _ = run("inspect", data, "--versions", "--json", "-")
    assert [one["samples"] for one in json.loads(out)["versions"]] == [4, 7, 4, 5]
    assert keys(data) == ["c/002", "c/003", "c/004", "c/006", "c/001"]


def test_a_changed_file_is_told(run, data, in_memory):
    (in_memory / "in/c/001.jpg").write_bytes(folder(in_memory / "x", [30]).joinpath(
        "c/030.jpg").read_bytes())  # fmt: skip
    code, _, err = run("convert", in_memory / "in", data, "--append")
    assert code == 0
    assert "of another size in the source, and stayed as they are: 1; --append with" in err


def test_nothing_is_there_to_append_to(run, data, in_memory):
    where = in_memory / "none"
    said = run("convert", in_memory / "in", where, "--append")
    text = "is no converted data set (got nothing); convert into it first, without --append"
    assert said == (1, "", f"fastload: {where}: {text}\n")
    assert not where.exists()


def test_dry_run_says_what_would_be_added(run, data, in_memory):
    more = folder(in_memory / "more", range(2, 7))
    code, out, _ = run("convert", more, data, "--append", "--dry-run", "--json", "-")
    assert (code, json.loads(out)["samples"]) == (0, 3)
    code, out, _ = run("convert", in_memory / "in", data, "--append", "--dry-run")
    assert (code, out) == (0, f"{data}: has all samples of {in_memory / 'in'}\n")
    assert keys(data) == [f"c/{n:03d}" for n in range(4)]


WRONG = {
    "SRC": (["X"], 2, "DST is missing"),
    "two": (
        ["X", "X", "--delete", "k"],
        2,
        "--delete without --append takes one data set alone (got ",
    ),
    "to": (["X", "X", "--append", "--to", "folder"], 2, "only shards are added to"),
    "slurm": (["X", "X", "--append", "--on", "slurm:2"], 2, "--on slurm does not append"),
    "table": (["X/urls.csv", "X", "--append"], 1, "--append takes images (got a table of URLs"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_makes_no_sense(run, data, what):
    arguments, code, text = WRONG[what]
    (data.parent / "urls.csv").write_text("url\nhttp://127.0.0.1/a.jpg\n")
    where = {"X": data, "X/urls.csv": data.parent / "urls.csv"}
    said = run("convert", *[where.get(each, each) for each in arguments])
    assert said[0] == code
    assert text in said[2]
