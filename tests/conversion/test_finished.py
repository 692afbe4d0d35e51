"""A target that is whole is known to be: --resume says so, and does nothing."""

import itertools
import os
from pathlib import Path

import pytest

from fastload.conversion import commits, finished, subset_columns, subsets
from fastload.errors import ConversionError

from .finished_helpers import run
from .system_calls import FORMATS, out_of


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


def facts(path):
    """Names, sizes and times of everything below."""
    paths = sorted([path, *path.rglob("*")])
    return [
        (str(each), each.stat().st_size * each.is_file(), each.stat().st_mtime_ns) for each in paths
    ]


@pytest.mark.parametrize("to", FORMATS)
def test_resume_of_a_finished_target_says_so(small, tmp_path, capfd, to):
    out = out_of(tmp_path, to)
    asked = ("convert", small, out, "--to", to, "--workers", 1)
    assert run(capfd, *asked)[0] == 0
    before = facts(out)
    code, said, error = run(capfd, *asked, "--resume")
    assert (code, error) == (0, "")
    assert said.startswith(f"{out}: already whole: 7 samples, ")
    assert said.endswith("; nothing was written\n")
    code, said, _ = run(capfd, *asked, "--resume", "--json", "-")
    assert code == 0
    assert '"already_whole": true' in said
    assert facts(out) == before


@pytest.mark.parametrize("to", FORMATS)
def test_of_another_job_or_of_a_changed_target_it_is_an_error(small, tmp_path, capfd, to):
    out = out_of(tmp_path, to)
    asked = ("convert", small, out, "--to", to, "--workers", 1)
    assert run(capfd, *asked)[0] == 0
    before = facts(out)
    code, said, error = run(capfd, *asked, "--resume", "--shuffle", 3)
    assert (code, said) == (1, "")
    assert (
        error
        == f"fastload: {out}: was made with other settings (shuffle); give the same again, or "
        "--overwrite to replace it\n"
    )
    (small / "cat" / "more.jpg").write_bytes((small / "cat" / "1.JPEG").read_bytes())
    code, _, error = run(capfd, *asked, "--resume")
    assert code == 1
    assert error.startswith(f"fastload: {out}: was made with other settings (")
    (small / "cat" / "more.jpg").unlink()
    assert facts(out) == before
    victim = next(each for each in (out, *sorted(out.rglob("*"))) if each.is_file())
    os.utime(victim, ns=(1, 1))
    code, _, error = run(capfd, *asked, "--resume")
    assert code == 1
    assert error.startswith(
        (
            f"fastload: {out}: holds a data set already; ",
            f"fastload: {out}: exists already; ",
            f"fastload: {out}: is not",
        )
    )


def test_what_is_kept_of_a_target_is_believed_only_from_its_owner(small, tmp_path, capfd, tools):
    tools.convert(small, tmp_path / "out")
    place = Path(finished.record_path(finished.Local(str(tmp_path / "out"))))
    content = place.read_bytes()
    for bad in (
        b"",
        b"[]",
        b"{}",
        b"[" * 50_000,
        content[:-1],
        content.replace(b'"version": 1', b'"version": 2'),
        b"x" * (1 << 20),
    ):
        place.write_bytes(bad)
        with pytest.raises(ConversionError) as refused:
            tools.convert(small, tmp_path / "out", resume=True)
        text = "holds a data set already; give another folder, or --overwrite to replace it"
        assert str(refused.value) == f"{tmp_path}/out: {text}"
    place.write_bytes(content)
    assert tools.convert(small, tmp_path / "out", resume=True).whole
    os.chown(place, 12345, -1)
    with (
        pytest.warns(UserWarning, match="belongs to another user; nothing is kept there"),
        pytest.raises(ConversionError),
    ):
        tools.convert(small, tmp_path / "out", resume=True)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(ConversionError):
        tools.convert(small, tmp_path / "out", resume=True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_split_that_fails_leaves_no_first_part(tools, small, tmp_path, monkeypatch, overwrite):
    tools.convert(small, tmp_path / "a")
    index = subsets.open_index(str(tmp_path / "a"))
    rows = subsets.drawn(index, [0.5, 0.5], 0)
    wanted = [
        (str(tmp_path / "out" / name), [subset_columns.Part(index, part)])
        for name, part in zip("xy", rows, strict=True)
    ]
    if overwrite:
        subsets.write_all(wanted)
    before, real, count = tools.contents(tmp_path / "out"), commits.commit, itertools.count()

    def commit(*arguments, **named):
        if next(count) == 1:
            raise OSError(5, "Input/output error")
        return real(*arguments, **named)

    monkeypatch.setattr(commits, "commit", commit)
    with pytest.raises(ConversionError) as failed:
        subsets.write_all(wanted, overwrite=overwrite)
    assert str(failed.value).startswith(f"{tmp_path}/out/y: cannot be written (Input/output error)")
    left = tools.contents(tmp_path / "out")
    # Overwriting: the first part was replaced, and what replaced it is gone; the second is as it
    # was.
    if overwrite:
        assert left == {name: data for name, data in before.items() if name.startswith("y/")}
    else:
        assert not (tmp_path / "out").exists()
