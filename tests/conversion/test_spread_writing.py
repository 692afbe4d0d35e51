"""index and repair by other processes: the same bytes, whoever dies."""

import os
import shutil
import signal

import pytest

from fastload.conversion import editing, indexing, job, mending, repair, seek_writer, verify
from fastload.conversion.cluster import driver
from fastload.conversion.readers import open_reader
from fastload.conversion.spread import index as spread_index
from fastload.conversion.spread import repair as spread_repair
from fastload.errors import ConversionError
from fastload.files.below import opened
from fastload.files.names import Inner

from .fleet_helpers import die, fleet
from .spread_helpers import by_threads, damaged, flip, on

__all__ = ["damaged", "on"]


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


LONG = pytest.mark.long
KINDS = {"shards": 8, "folder": 8, "rows": 0, "layers": seek_writer.COEFFICIENTS,
         "beton": 8}  # fmt: skip


@pytest.mark.parametrize(
    "kind",
    ["shards", "folder", *(pytest.param(each, marks=LONG) for each in ("rows", "layers", "beton"))],
)
def test_indexes_have_the_same_bytes(tools, small, tmp_path, on, kind):
    """Also what is no JPEG, and what is damaged."""
    (small / "dog" / "p.png").write_bytes(tools.encode(9, 8, format="PNG"))
    step, source = KINDS[kind], small
    if kind == "shards":
        source = tmp_path / "in"
        tools.convert(small, source, shard_bytes=3000, seek_step=None)
        flip(sorted(source.glob("*.tar"))[1], 700)
    if kind == "beton":
        source = tmp_path / "in"
        source.mkdir()
        tools.convert_to(small, source / "x.beton", "beton")
    both = []
    for name, count in (("one", None), ("two", 2)):
        folder = where = str(tmp_path / name / "data")
        shutil.copytree(source, folder)
        if kind == "beton":
            where = os.path.join(folder, "x.beton")
        makers = spread_index.Workers(on, where, count) if count else None
        summary = indexing.run(indexing.prepare(where), step, 1, makers=makers)
        both.append((tools.contents(folder), summary.seek, summary.samples, summary.bytes))
    assert both[0] == both[1]
    assert not [name for name in both[0][0] if name.startswith(".")]


@pytest.mark.long
def test_an_index_that_fails_leaves_nothing(tools, small, tmp_path):
    out = tmp_path / "out"
    tools.convert(small, out, shard_bytes=3000, seek_step=None)
    for where in (out, small):
        before = tools.contents(where)
        makers = spread_index.Workers(job.On(fleet(2, die(2))), str(where), 2)
        with pytest.raises(ConversionError, match="part 2 has failed on 4 workers"):
            indexing.run(indexing.prepare(str(where)), makers=makers)
        assert tools.contents(where) == before


@pytest.mark.long
@pytest.mark.parametrize("kind", ["shards", "folder"])
@pytest.mark.parametrize("after", [0, 2])
def test_the_next_run_removes_what_a_killed_driver_has_left(tools, small, tmp_path, kind, after):
    source = small
    if kind == "shards":
        source = tmp_path / "out"
        tools.convert(small, source, shard_bytes=3000, seek_step=None)
    shutil.copytree(source, tmp_path / "want")
    indexing.run(indexing.prepare(str(tmp_path / "want")), count=1)

    def killed():
        real, left = driver.Driver._made, iter(range(after))

        def made(self, event, now):  # whoever made it: who makes how many is chance
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            real(self, event, now)

        driver.Driver._made = made
        makers = spread_index.Workers(job.On(fleet()), str(source), 2)
        indexing.run(indexing.prepare(str(source)), makers=makers)

    assert tools.in_child(killed) == -signal.SIGKILL
    assert [name for name in os.listdir(source) if name.startswith(".")]
    assert by_threads(source).damages == ()
    indexing.run(indexing.prepare(str(source)), count=1)
    assert tools.contents(source) == tools.contents(tmp_path / "want")


@pytest.mark.long
def test_what_was_mended_before_a_kill_stays(tools, small, tmp_path, damaged):
    def killed():
        real = driver.Driver._made

        def made(self, event, now):
            real(self, event, now)
            if self.work.kind == "repair":
                os.kill(os.getpid(), signal.SIGKILL)

        driver.Driver._made = made
        mended(damaged, small, job.On(fleet()))

    assert tools.in_child(killed) == -signal.SIGKILL
    assert 0 < len(by_threads(damaged).damages) < 4
    mended(damaged, small)
    assert by_threads(damaged).damages == ()
    assert not [name for name in os.listdir(damaged) if name.startswith(".")]


def mended(where, source, on=None, **edits):
    if on is None:
        return repair.run(str(where), open_reader(str(source)), editing.Edits(**edits), 1)
    return spread_repair.run(str(where), str(source), on, edits=editing.Edits(**edits))


def test_shards_are_mended(tools, small, tmp_path, damaged, on):
    shutil.copytree(damaged, tmp_path / "one" / "out")
    want = mended(tmp_path / "one" / "out", small)
    got = mended(damaged, small, on)
    assert got == want
    assert by_threads(damaged).damages == ()
    assert tools.contents(damaged) == tools.contents(tmp_path / "one" / "out")
    assert mended(damaged, small, on) == repair.RepairSummary((), 0, 0)


def test_making_a_sidecar_again_gives_signs(tools, small, tmp_path, damaged):
    """Of a large shard it takes longer than a worker may say nothing."""
    index = repair.open_index(str(damaged))
    number, asked = 1, []
    source = mending.Source(open_reader(str(small)), editing.UNCHANGED, transcode=False)
    again = repair.Again(number, shard=False, sidecar=True)
    mending_one = repair.Mender(index, source)
    with opened(str(damaged)) as folder:
        done = mending_one.one(folder, again, lambda: asked.append(1))
        assert done.sidecar is not None
        assert len(asked) >= 1 + len(mending_one.rows[number])  # a read, and each sample
        folder.remove(Inner(done.sidecar))


def test_a_data_set_that_changes_after_verify_is_not_touched(tools, small, damaged, monkeypatch):
    """Its new sidecars do not give way to what the old index names."""
    real = verify.verify

    def verified(*given):
        report = real(*given)
        indexing.run(indexing.prepare(str(damaged)), 0, 1)
        before.append(tools.contents(damaged))
        return report

    before = []
    mended(damaged, small)
    flip(sorted(damaged.glob("*.seek"))[1], 20)
    monkeypatch.setattr(verify, "verify", verified)
    with pytest.raises(ConversionError) as error:
        mended(damaged, small)
    assert str(error.value) == f"{damaged}: was changed while it was verified; repair it again"
    assert tools.contents(damaged) == before[0]


def test_what_cannot_be_mended_is_said_as_by_threads(small, tmp_path, damaged, monkeypatch):
    (small / "cat" / "1.JPEG").unlink()
    monkeypatch.chdir(tmp_path)
    said = []
    for by in (job.On(fleet()), None):
        with pytest.raises(ConversionError) as error:
            mended("out", "small", by)
        said.append(str(error.value))
    assert said[0].startswith("out: 3 files mended, 1 not\nout/shard-000000.tar: sample cat/1: is ")
    assert said[1] == said[0].replace("3 files", "0 files")
