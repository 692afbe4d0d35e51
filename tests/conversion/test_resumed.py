"""What --resume goes on with: parts that are checked, journals that end early, and jobs that are
others."""

import itertools
import os

import pytest

from fastload.conversion import beton_writer, commits, job, journal
from fastload.errors import ConversionError

from .format_helpers import convert, found
from .system_calls import FORMATS, out_of


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


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
    records, end = journal.read(tools.entry(path))
    assert end == path.stat().st_size
    os.truncate(path, end - cut)
    assert journal.read(tools.entry(path))[0] == records[:-1]
    convert(tools, small, out, "shards", resume=True)
    convert(tools, small, tmp_path / "whole", "shards")
    assert tools.contents(out) == tools.contents(tmp_path / "whole")


def test_every_flipped_bit_of_a_journal_ends_it_there(tools, tmp_path):
    written = journal.Journal(tools.entry(tmp_path / "j"), {"a": 1}, resume=False)
    for number in range(3):
        written.append({"part": number})
    written.close()
    whole, records = (tmp_path / "j").read_bytes(), journal.read(tools.entry(tmp_path / "j"))[0]
    assert [record.get("part") for record in records] == [None, 0, 1, 2]
    other = tools.entry(tmp_path / "k")
    for at, bit in itertools.product(range(len(whole)), range(8)):
        content = bytearray(whole)
        content[at] ^= 1 << bit
        (tmp_path / "k").write_bytes(content)
        found = journal.read(other)[0]
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
