"""Every format: absent, resumable or whole, whatever fails and whenever; and what is resumed has
the same bytes.
"""

import errno
import itertools
import os
import shutil
import signal
import threading

import pytest

from fastload.conversion import beton_writer, commits, job, journal
from fastload.errors import ConversionError

FORMATS = ("shards", "webdataset", "parquet", "folder", "beton")
CALLS = (
    "open",
    "write",
    "writev",
    "pwrite",
    "fsync",
    "ftruncate",
    "rename",
    "mkdir",
    "unlink",
    "rmdir",
)


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.fixture
def rounds(monkeypatch):
    """FFCV files are written in rounds of two samples."""
    monkeypatch.setattr(beton_writer, "TASK", 1)
    monkeypatch.setattr(beton_writer, "ROUND", 2)


def out_of(folder, to):
    return folder / ("out.beton" if to == "beton" else "out")


def convert(tools, source, out, to, **more):
    how = {} if to == "beton" else {"shard_bytes": 3000}
    return tools.convert_to(source, out, to, **how, **more)


def found(tools, out):
    """What stands under the final name: None, or all its bytes."""
    if out.is_dir():
        names = {
            name: data
            for name, data in tools.contents(out).items()
            if not os.path.basename(name).startswith(".fastload-")
        }
        return (
            names
            if names
            and (
                out.name != "out"
                or "index.arrow" in names
                or not (out / ".fastload-index.arrow").exists()
            )
            else None
        )
    return out.read_bytes() if out.exists() else None


class Nth:
    """Replaces os functions: the kth call that changes something does something else before its
    work.
    """

    def __init__(self, k, act):
        self.k, self.act, self.count = k, act, 0
        self.lock = threading.Lock()

    def install(self, monkeypatch):
        for name in CALLS:
            monkeypatch.setattr(os, name, self.wrap(getattr(os, name), name))

    def wrap(self, real, name):
        def call(path, *arguments, **named):
            reads = name == "open" and not (arguments[0] & (os.O_WRONLY | os.O_RDWR))
            with self.lock:
                self.count += not reads
                mine = self.count == self.k and not reads
            if mine:
                self.act()
            return real(path, *arguments, **named)

        return call


def die():
    os.kill(os.getpid(), signal.SIGKILL)


# Never replaced
WAYS = [
    (to, replacing)
    for to in FORMATS
    for replacing in (False, True)
    if (to, replacing) != ("folder", True)
]


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


@pytest.mark.parametrize("to", FORMATS)
def test_resume_reads_what_is_done_again_only_to_check_it(tools, small, tmp_path, rounds, to):
    out = out_of(tmp_path, to)
    prepare_and_stop(small, out, to, after=5)
    summary = convert(tools, small, out, to, resume=True)
    assert 0 < summary.resumed < 7
    convert(tools, small, out_of(tmp_path / "whole", to), to)
    assert found(tools, out) == found(tools, out_of(tmp_path / "whole", to))


def prepare_and_stop(source, out, to, after, **more):
    """A conversion that the user interrupts after some samples."""
    done = []

    def advance(images, count):
        done.append(images)
        if len(done) > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        if to == "beton":
            beton_writer.run(
                job.readers.open_reader(str(source)),
                str(out),
                beton_writer.Options(workers=1),
                advance,
            )
        else:
            how = job.Options(workers=1, to=to, shard_bytes=3000, **more)
            job.run(job.prepare(str(source), str(out), how), advance)


def test_parts_that_were_damaged_meanwhile_are_made_again(tools, small, tmp_path):
    out = tmp_path / "out"
    prepare_and_stop(small, out, "shards", after=5)
    part = sorted(out.glob(".fastload-0*.tar"))[0]
    content = bytearray(part.read_bytes())
    content[700] ^= 1
    part.write_bytes(content)
    convert(tools, small, out, "shards", resume=True)
    convert(tools, small, tmp_path / "whole", "shards")
    assert tools.contents(out) == tools.contents(tmp_path / "whole")


@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_journal_that_was_cut_off_counts_up_to_there(tools, small, tmp_path, cut):
    out = tmp_path / "out"
    prepare_and_stop(small, out, "shards", after=5)
    path = out / commits.JOURNAL
    records, end = journal.read(tools.place(path))
    assert end == path.stat().st_size
    os.truncate(path, end - cut)
    assert journal.read(tools.place(path))[0] == records[:-1]
    convert(tools, small, out, "shards", resume=True)
    convert(tools, small, tmp_path / "whole", "shards")
    assert tools.contents(out) == tools.contents(tmp_path / "whole")


def test_every_flipped_bit_of_a_journal_ends_it_there(tools, tmp_path):
    written = journal.Journal(tools.place(tmp_path / "j"), {"a": 1}, resume=False)
    for number in range(3):
        written.append({"part": number})
    written.close()
    whole, records = (tmp_path / "j").read_bytes(), journal.read(tools.place(tmp_path / "j"))[0]
    assert [record.get("part") for record in records] == [None, 0, 1, 2]
    for at, bit in itertools.product(range(len(whole)), range(8)):
        content = bytearray(whole)
        content[at] ^= 1 << bit
        (tmp_path / "k").write_bytes(content)
        found = journal.read(tools.place(tmp_path / "k"))[0]
        assert len(found) < len(records)
        assert found == records[: len(found)]


def test_another_job_is_refused_and_stays(tools, small, tmp_path):
    out = tmp_path / "out"
    prepare_and_stop(small, out, "shards", after=5)
    before = tools.contents(out)
    with pytest.raises(ConversionError) as refused:
        convert(tools, small, out, "shards", resume=True, shuffle=3)
    again = "give the same again, or leave --resume out to begin anew"
    assert str(refused.value) == f"{out}: was begun with another shuffle; {again}"
    (small / "cat" / "1.JPEG").write_bytes(tools.encode(12, 19, 77))
    with pytest.raises(ConversionError) as refused:
        convert(tools, small, out, "shards", resume=True)
    assert str(refused.value).startswith(f"{out}: was begun with another ")
    assert {
        name: data for name, data in tools.contents(out).items() if name != ".fastload-index.arrow"
    } == {name: data for name, data in before.items() if name != ".fastload-index.arrow"}
    convert(tools, small, out, "shards")
    assert not [name for name in os.listdir(out) if name.startswith(".")]


def test_resume_with_nothing_there_begins(tools, small, tmp_path):
    for to in FORMATS:
        assert convert(tools, small, out_of(tmp_path / to, to), to, resume=True).samples == 7


def test_a_foreign_folder_is_never_replaced(tools, small, tmp_path):
    for to in ("webdataset", "parquet", "folder"):
        out = tools.write_tree(tmp_path / to, {"notes.txt": b"mine"})
        for overwrite in (False, True):
            with pytest.raises(ConversionError) as refused:
                convert(tools, small, out, to, overwrite=overwrite)
            assert (
                str(refused.value)
                == f"{out}: is not empty (holds 'notes.txt'); give a new or empty folder"
            )
    out = tools.write_tree(tmp_path / "w", {})
    out.mkdir()
    convert(tools, small, out, "webdataset")
    with pytest.raises(ConversionError) as refused:
        convert(tools, small, out, "webdataset")
    assert (
        str(refused.value)
        == f"{out}: holds a data set already; give another folder, or --overwrite to replace it"
    )
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConversionError) as refused:
        convert(tools, small, tmp_path / "file", "webdataset")
    assert str(refused.value) == f"{tmp_path}/file: is a file, want a folder; give another path"
