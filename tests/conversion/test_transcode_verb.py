"""convert --transcode on the command line: what it says, and what `inspect` says before."""

import json
from pathlib import Path

import pytest

from fastload.conversion import inspect

from .transcode_helpers import WANT, payloads, write_mixed


@pytest.fixture
def mixed(tools, tmp_path):
    return write_mixed(tools, tmp_path)


@pytest.fixture
def command(command_line):
    """Run a command: exit code, stdout, stderr."""
    return command_line("convert", "inspect")


def row(out, name):
    (line,) = [line for line in out.splitlines() if line.startswith(name)]
    return line.removeprefix(name).strip()


def test_what_convert_says(command, mixed, tmp_path):
    code, out, err = command("convert", mixed, tmp_path / "plain")
    assert code == 0
    assert not [line for line in out.splitlines() if line.startswith("transcoded")]
    assert err.splitlines() == [
        (
            "no seek index: 4 images: not covered: progressive, lossless, hierarchical or "
            "arithmetic coding"
        ),
        (
            "no seek index: 1 images: not covered: restart markers, where decoding can begin "
            "without an index"
        ),
        "no seek index: 1 images: not a JPEG",
        "3 progressive images decode slowly; --transcode rewrites them losslessly",
    ]
    code, out, err = command(
        "convert", mixed, tmp_path / "new", "--transcode", "--json", tmp_path / "said.json"
    )
    before = sum((mixed / f"{key}.jpg").stat().st_size for key in WANT)
    change = sum(map(len, WANT.values())) - before
    how = "larger" if change > 0 else "saved"
    assert (code, row(out, "transcoded")) == (
        0,
        f"2 progressive, 1 restart-marked; {abs(change)} B {how} ({change / before:+.1%})",
    )
    assert err.splitlines() == [
        (
            "no seek index: 2 images: not covered: progressive, lossless, hierarchical or "
            "arithmetic coding"
        ),
        "no seek index: 1 images: not a JPEG",
        "not transcoded: 1 images: markers between its scans",
    ]
    said = json.loads((tmp_path / "said.json").read_text())["transcoding"]
    assert said == {
        "on": True, "images": {"progressive": 2, "restart-marked": 1}, "before": before,
        "after": before + change,
        "left": {"markers between its scans": 1}, "slow": {"progressive": 1},
    }  # fmt: skip


def test_nothing_to_do(command, small, tmp_path):
    code, out, err = command("convert", small, tmp_path / "out", "--transcode")
    assert (code, row(out, "transcoded"), err) == (0, "none", "")
    assert row(command("inspect", tmp_path / "out")[1], "transcoded") == "0 images"
    assert payloads(tmp_path / "out")["cat/1"] == (Path(small) / "cat/1.JPEG").read_bytes()


def test_inspect_of_a_folder_says_what_decodes_slowly(command, mixed, small):
    code, out, _ = command("inspect", mixed)
    assert (code, row(out, "progressive: decode slowly")) == (0, "42.9% (convert --transcode)")
    assert inspect.inspect(str(mixed)).slow == {"progressive": 3 / 7}
    assert inspect.inspect(str(small)).slow == {}
