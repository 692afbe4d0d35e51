"""The command line: convert, inspect, verify."""

import json
import os
from pathlib import Path

import pytest

from fastload.conversion import inspect


@pytest.fixture
def fastload(command_line):
    """Run a command: exit code, stdout, stderr."""
    return command_line("convert", "index", "inspect", "verify")


def test_convert_inspect_verify(fastload, small, tmp_path):
    code, out, err = fastload(
        "convert", small, tmp_path / "out", "--shard-size", "5K", "--workers", "2"
    )
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == [
        str(tmp_path / "out"),
        "converted",
        "samples",
        "classes",
        "shards",
        "size",
        "seek",
        "left",
        "time",
    ]
    code, out, err = fastload("inspect", tmp_path / "out")
    assert (code, err) == (0, "")
    assert "7 in 2 classes" in out
    assert "jpeg 4:2:0" in out
    code, out, err = fastload("verify", tmp_path / "out")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].split() == ["result", "all", "intact"]


def test_json(fastload, small, tmp_path):
    code, out, _ = fastload("convert", small, tmp_path / "out", "--json", "-")
    said = json.loads(out)
    assert (code, said["samples"], said["classes"], said["shards"], said["bad"]) == (0, 7, 2, 1, [])
    assert said["bytes"] == (tmp_path / "out" / "shard-000000.tar").stat().st_size
    fastload("inspect", tmp_path / "out", "--json", tmp_path / "facts.json")
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert (facts["kind"], facts["samples"], facts["formats"], facts["height"]["p0"],
        facts["width"]["p100"]) == (
        "shards", 7, {"jpeg 4:2:0": 1.0}, 11, 29,
    )  # fmt: skip
    content = bytearray((tmp_path / "out" / "shard-000000.tar").read_bytes())
    content[700] ^= 1
    (tmp_path / "out" / "shard-000000.tar").write_bytes(content)
    code, out, _ = fastload("verify", tmp_path / "out", "--json", "-")
    said = json.loads(out)
    assert (code, said["ok"], [(d["key"], d["start"]) for d in said["damages"]]) == (
        1,
        False,
        [("cat/1", 512)],
    )


def test_dry_run_writes_nothing(fastload, small, tmp_path):
    code, out, _ = fastload(
        "convert", small, tmp_path / "out", "--dry-run", "--json", "-", "--shard-size", "5K"
    )
    said = json.loads(out)
    assert (code, said["samples"], said["dry_run"]) == (0, 7, True)
    assert os.listdir(tmp_path) == ["small"]
    fastload("convert", small, tmp_path / "out", "--shard-size", "5K")
    assert (
        sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) <= said["bytes_at_most"]
    )
    assert len(list((tmp_path / "out").glob("*.tar"))) == said["shards"]


def test_bad_files_are_one_line_each_and_exit_1(fastload, small, tmp_path):
    (small / "cat" / "[bold]x[y].jpg").write_bytes(b"")
    code, out, err = fastload("convert", small, tmp_path / "out")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        f"fastload: {tmp_path}/out: 1 of 8 samples are bad; mend them, or pass --on-error skip",
        f"fastload: {small}/cat/[bold]x[y].jpg: is empty (0 bytes); mend or remove the file",
    ]
    code, out, err = fastload("convert", small, tmp_path / "out", "--on-error", "skip")
    assert (code, err) == (
        0,
        f"left out: {small}/cat/[bold]x[y].jpg: is empty (0 bytes); mend or remove the file\n",
    )
    code, out, err = fastload("verify", small)
    assert (code, err) == (1, "")
    assert (
        out.splitlines()[0]
        == f"damaged: {small}/cat/[bold]x[y].jpg: is empty (0 bytes); mend or remove the file"
    )
    code, out, err = fastload("inspect", small)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == f"not an image: {small}/cat/[bold]x[y].jpg"


def test_equal_reasons_are_one_line(fastload, small, tmp_path):
    """Of each verb; the counts are of the files."""
    names = [f"{small}/cat/empty{number}.jpg" for number in range(6)]
    for name in names:
        Path(name).write_bytes(b"")
    line = (
        "6 times: is empty (0 bytes); mend or remove the file: "
        f"{names[0]}, {names[1]}, {names[2]} and 3 more"
    )
    code, _, err = fastload("convert", small, tmp_path / "out")
    assert (code, err.splitlines()) == (
        1,
        [
            (
                f"fastload: {tmp_path}/out: 6 of 13 samples are bad; mend them, or pass --on-error "
                "skip"
            ),
            f"fastload: {line}",
        ],
    )
    for to in ("shards", "beton"):
        target = tmp_path / f"out.{to}"
        code, _, err = fastload("convert", small, target, "--to", to, "--on-error", "skip")
        assert (code, err) == (0, f"left out: {line}\n")
    code, out, _ = fastload("verify", small)
    assert (code, out.splitlines()[0]) == (1, f"damaged: {line}")
    code, out, _ = fastload("verify", small, "--json", "-")
    assert [one["file"] for one in json.loads(out)["damages"]] == names


def test_usage_errors_exit_2(fastload, small, tmp_path):
    for arguments in (
        ["--shard-size", "big"],
        ["--shard-size", "1"],
        ["--on-error", "x"],
        ["--workers", "0"],
        ["--shuffle", "-1"],
    ):
        code, out, err = fastload("convert", small, tmp_path / "out", *arguments)
        assert (code, out) == (2, ""), arguments
        assert err.startswith("fastload: convert: ")
        assert len(err.splitlines()) == 1
    assert fastload("convert", small)[0] == 2


def test_inspect_of_a_sample_of_a_folder(tools, small):
    facts = inspect.inspect(str(small), headers=3)
    assert (facts.kind, facts.samples, facts.headers, facts.formats) == (
        "folder",
        7,
        3,
        {"jpeg 4:2:0": 1.0},
    )
    assert (facts.height["p0"], facts.height["p100"]) == (11, 17)
    assert (
        facts.per_class["p0"],
        facts.per_class["p100"],
        facts.smallest_class,
        facts.largest_class,
    ) == (3, 4, "cat", "dog")
    assert facts.size["p100"] == max(path.stat().st_size for path in small.glob("*/*"))


def test_inspect_reads_on_where_the_header_is_long(tools, small):
    jpeg = tools.encode(31, 47)
    segment = b"\xff\xe2\xff\xff" + bytes(0xFFFD)  # an APP2 segment of the largest size
    (small / "cat" / "profile.jpg").write_bytes(jpeg[:2] + segment * 2 + jpeg[2:])
    (small / "cat" / "text.jpg").write_bytes(b"text")
    facts = inspect.inspect(str(small))
    assert facts.height["p100"] == 31
    assert facts.unreadable == [f"{small}/cat/text.jpg"]


def test_inspect_counts_what_was_left_out(tools, small, tmp_path):
    (small / "cat" / "a.jpg").write_bytes(b"")
    tools.convert(small, tmp_path / "out", on_error="skip")
    assert inspect.inspect(str(tmp_path / "out")).left_out == 1
