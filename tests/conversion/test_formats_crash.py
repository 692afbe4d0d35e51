"""Every format: absent, resumable or whole, whatever fails and whenever; and what is resumed has
the same bytes.
"""

import errno
import itertools
import os
import shutil
import signal

import pytest

from fastload.errors import ConversionError

from .format_helpers import convert, found
from .system_calls import FORMATS, Nth, die, out_of


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


# Never replaced
WAYS = [
    (to, replacing)
    for to in FORMATS
    for replacing in (False, True)
    if (to, replacing) != ("folder", True)
]


@pytest.mark.long
@pytest.mark.parametrize(("to", "replacing"), WAYS)
def test_killed_at_system_calls_and_resumed(
    tools, small, tmp_path, monkeypatch, rounds, to, replacing
):
    """Every fifth call, another fifth for each format; kill_release and test_crash do all."""
    whole = out_of(tmp_path / "whole", to)
    convert(tools, small, whole, to)
    other = tools.write_tree(
        tmp_path / "other", {f"c/{n}.jpg": tools.encode(9, 15, n) for n in range(3)}
    )
    want, resumed = found(tools, whole), 0
    for k in itertools.count(1 + FORMATS.index(to), 5):
        out = out_of(tmp_path / f"k{k}", to)
        if replacing:
            convert(tools, other, out, to)
            old = found(tools, out)

        def work(k=k, out=out):
            with monkeypatch.context() as patch:
                Nth(k, die).install(patch)
                return convert(tools, small, out, to, overwrite=replacing).samples

        said = tools.in_child(work)
        there = found(tools, out)
        assert there in ((None, want, old) if replacing else (None, want))
        if said == 7:
            break
        assert said == -signal.SIGKILL
        if there != want:
            resumed += convert(tools, small, out, to, overwrite=replacing, resume=True).resumed > 0
            assert found(tools, out) == want
        shutil.rmtree(out.parent)
    assert resumed > 0


@pytest.mark.parametrize("to", ["webdataset", "parquet", "folder", "beton"])
def test_an_error_of_every_system_call(tools, small, tmp_path, monkeypatch, rounds, to):
    """Shards: test_crash."""
    convert(tools, small, out_of(tmp_path / "whole", to), to)
    want, kept = found(tools, out_of(tmp_path / "whole", to)), 0

    def fail():
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    for k in itertools.count(1, 2):
        out = out_of(tmp_path / f"k{k}", to)
        out.parent.mkdir()
        with monkeypatch.context() as patch:
            nth = Nth(k, fail)
            nth.install(patch)
            try:
                convert(tools, small, out, to)
            except ConversionError as error:
                text = str(error)
            else:
                if nth.count < k:
                    break
                assert found(tools, out) == want  # what failed was only tidying up
                continue
        start = (
            f"{out}: cannot be written (Input/output error); check the folder's permissions "
            "and its disk; "
        )
        assert text in (
            f"{start}nothing was left there",
            f"{start}what is done is kept: go on with --resume",
        )
        if text.endswith("nothing was left there"):
            assert os.listdir(out.parent) == []
        kept += text.endswith("--resume")
        # The last fsync, of the folder, may fail behind the rename
        assert found(tools, out) in (None, want)
        if found(tools, out) is None:
            convert(tools, small, out, to, resume=True)
            assert found(tools, out) == want
    assert kept > 1
