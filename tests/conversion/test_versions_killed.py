"""A data set that is killed while it grows is the old one or the new one, whole."""

import itertools
import shutil
import signal

import pytest

from fastload.conversion import verify
from fastload.conversion.versions import job
from fastload.conversion.versions.local import LocalPlace
from fastload.sources import open_source, read
from tests.conversion.conftest import convert

from .version_helpers import append, folder, keys, prints


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.long)])
def test_killed_at_the_steps_of_a_change(tools, tmp_path, monkeypatch, every):
    """SIGKILL before each write, fsync, rename and unlink. A reader that was open goes on, and the
    next append completes it.
    """
    convert(folder(tmp_path / "in", range(3)), tmp_path / "old", shard_bytes=1024)
    more = folder(tmp_path / "more", range(2, 4))
    gone = ["c/002"]
    shutil.copytree(tmp_path / "old", tmp_path / "want")
    append(more, tmp_path / "want", delete=gone)
    want, outcomes = prints(tmp_path / "want"), set()
    real = LocalPlace.commit
    for step in itertools.count(1, every):
        out = tmp_path / f"out{step}"
        shutil.copytree(tmp_path / "old", out)
        before = open_source(out)

        def work(step=step, out=out):
            def commit(*arguments):
                with monkeypatch.context() as patch:
                    tools.kill_at(patch, step)
                    return real(*arguments)

            monkeypatch.setattr(LocalPlace, "commit", commit)
            return append(more, out, delete=gone).added

        said = tools.in_child(work)
        assert [len(read(before, n)) > 0 for n in range(3)] == [True] * 3
        assert verify.verify(verify.prepare(str(out)), 1).damages == ()
        found = keys(out)
        assert found in (keys(tmp_path / "old"), keys(tmp_path / "want"))
        outcomes.add(len(found))
        if said != -signal.SIGKILL:
            assert said == 2
            break
        again = gone if found == keys(tmp_path / "old") else []
        append(more, out, delete=again, resume=True)
        got = prints(out)
        for name in want:
            if not name.startswith("versions"):
                assert got[name] == want[name], (step, name)
        shutil.rmtree(out)
    assert outcomes == {len(keys(tmp_path / "old")), len(keys(tmp_path / "want"))}


def test_killed_while_shards_are_made(tools, tmp_path, monkeypatch):
    """What is done is kept, and --resume goes on."""
    convert(folder(tmp_path / "in", range(3)), tmp_path / "out", shard_bytes=1024)
    more, before = folder(tmp_path / "more", range(3, 8)), prints(tmp_path / "out")

    def work():
        with monkeypatch.context() as patch:
            tools.kill_at(patch, 30)
            append(more, tmp_path / "out")

    assert tools.in_child(work) == -signal.SIGKILL
    assert prints(tmp_path / "out") == before
    done = append(more, tmp_path / "out", resume=True)
    assert (done.added, done.conversion.resumed > 0) == (5, True)
    assert not (tmp_path / ".fastload-out.append").exists()
    assert job.delete(str(tmp_path / "out"), ["c/007"]).samples == 7
