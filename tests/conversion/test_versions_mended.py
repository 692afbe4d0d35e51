"""Data sets that grew or lost samples: what is added is as the rest; what is damaged is mended."""

import numpy as np
import pytest

from fastload.conversion import indexing, repair, seek_writer, subset_columns, subsets, verify
from fastload.conversion.readers import open_reader
from fastload.conversion.versions import job
from fastload.errors import ConversionError, UsageError
from fastload.sources import open_source, shard_versions
from fastload.sources.shard_versions import Version
from tests.conversion.conftest import convert

from .version_helpers import append, folder, keys, prints


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.fixture
def grown(tmp_path):
    convert(folder(tmp_path / "first", range(4)), tmp_path / "out", shard_bytes=1024)
    return tmp_path / "out"


LAYERS = seek_writer.COEFFICIENTS


AGREED = [(LAYERS, 8, LAYERS), (3, 8, 3), (3, 5, 5)]
AGREED += [
    pytest.param(*each, marks=pytest.mark.long)
    for each in [(LAYERS, 2, LAYERS), (LAYERS, LAYERS, LAYERS), (0, 8, 0), (None, 8, None),
                 (None, LAYERS, None)]
]  # fmt: skip


@pytest.mark.parametrize(("there", "given", "want"), AGREED)
def test_what_is_added_has_what_the_data_set_has(tmp_path, there, given, want):
    out = tmp_path / "out"
    convert(folder(tmp_path / "in", range(2)), out, shard_bytes=1024, seek_step=there)
    append(folder(tmp_path / "more", range(3, 5)), out, seek_step=given)
    heads = [path.read_bytes()[:16] for path in sorted(out.glob("*.seek"))]
    assert list(map(seek_writer.step_in, heads)) == (
        [] if there is None else [there, there, want, want]
    )
    source = open_source(out)
    assert source.index.columns["index_size"].all().astype(bool).tolist() == [there is not None] * 4
    assert verify.verify(verify.prepare(str(out)), 1).damages == ()


def test_layers_are_not_added_to_seek_indexes(grown, tmp_path):
    before = prints(grown)
    with pytest.raises(UsageError) as error:
        append(folder(tmp_path / "more", range(12, 14)), grown, seek_step=LAYERS)
    assert str(error.value) == (
        f"append: {grown} has seek indexes (got --layer coefficients); leave --layer out, or run "
        f"fastload index {grown} --layer coefficients first"
    )
    assert prints(grown) == before


GONE = ("c/001", "c/004", "c/005")  # in the middle of the first shard, and all of its end


@pytest.fixture
def source(tmp_path):
    return folder(tmp_path / "in", range(9))


@pytest.fixture
def lost(source, tmp_path):
    """Two shards, of the first six samples and of the others, and what was deleted."""
    out = tmp_path / "out"
    convert(folder(tmp_path / "first", range(6)), out)
    append(source, out, shard_bytes=1 << 20)
    job.delete(str(out), GONE)
    assert [path.name for path in sorted(out.glob("*.tar"))] == [
        "shard-000000.tar", "shard-000001.tar"
    ]  # fmt: skip
    return out


def damages(where):
    return verify.verify(verify.prepare(str(where)), 1).damages


def mend(where, source):
    return repair.run(str(where), open_reader(str(source)), count=1)


def place(where, key, version=1):
    """Offset and size of an image in its shard."""
    index = open_source(where, version=version).index
    row = keys(where, version).index(key)
    return (int(index.columns[name].all()[row]) for name in ("offset", "size"))


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def harm(out, what):
    """How many files of the source are needed to mend it."""
    shard, sidecar = out / "shard-000000.tar", out / "shard-000000.seek"
    if what == "shard":
        shard.unlink()
        return 6
    if what == "sidecar":
        flip(sidecar, 30)
        return 0
    if what == "both":
        sidecar.unlink()
        shard.unlink()
        return 6
    key, header = what.split(", ") if ", " in what else (what, "")
    offset, size = place(out, key)
    flip(shard, offset - 400 if header else offset + size // 2)
    return 0 if header else 1


HARM = ["c/000", "c/001", "both"]
HARM += [
    pytest.param(each, marks=pytest.mark.long)
    for each in ("c/003, header", "c/005, header", "shard", "sidecar")
]


@pytest.mark.parametrize("what", HARM)
def test_what_was_deleted_stays_deleted_and_the_shard_is_mended(lost, source, what):
    before, there = prints(lost), keys(lost)
    needed = harm(lost, what)
    assert len(damages(lost)) == 1 + (what == "both")
    done = mend(lost, source)
    assert done.samples == needed
    assert (prints(lost), keys(lost), damages(lost)) == (before, there, ())
    assert not set(GONE) & set(there)
    assert append(source, lost).gone == len(GONE)


def test_a_source_that_lacks_what_was_deleted(lost, source, tmp_path):
    """It is needed only where that is damaged too."""
    for key in GONE:
        (source / f"{key}.jpg").unlink()
    before = prints(lost)
    harm(lost, "c/000")
    assert mend(lost, source).samples == 1
    assert prints(lost) == before
    harm(lost, "c/001")
    (damage,) = damages(lost)
    assert damage.what.startswith("checksum of the whole file differs")
    with pytest.raises(ConversionError) as error:
        mend(lost, source)
    assert str(error.value) == (
        f"{lost}: 0 files mended, 1 not\n{lost}/shard-000000.tar: sample c/001: is not in "
        f"{source}; give the source of the conversion"
    )


def test_a_sidecar_that_was_made_after_a_deletion(lost, source):
    indexing.run(indexing.prepare(str(lost)), count=1)
    before = prints(lost)
    harm(lost, "both")
    mend(lost, source)
    assert prints(lost) == before


def test_older_versions_are_whole_again(lost, source):
    harm(lost, "shard")
    mend(lost, source)
    old = open_source(lost, version=2)
    assert len(old) == 9
    reader = job.readers.ShardsReader(
        old, [str(n) for n in range(9)], old.index.columns["size"].all()
    )
    assert [reader.read(row) for row in range(9)] == [
        (source / f"{key}.jpg").read_bytes() for key in keys(lost, 2)
    ]


def test_a_filtered_shard_is_mended_unless_what_was_left_out_is_damaged(source, tmp_path):
    convert(source, tmp_path / "whole")
    index = subsets.open_index(str(tmp_path / "whole"))
    some = tmp_path / "some"
    subsets.write(str(some), [subset_columns.Part(index, np.array([0, 2, 3, 6]))])
    before = prints(some)
    offset, _ = place(some, "c/003")
    flip(some / "shard-000000.tar", offset + 50)
    assert mend(some, source).samples == 1
    assert prints(some) == before
    offset, _ = place(tmp_path / "whole", "c/004")
    flip(some / "shard-000000.tar", offset + 50)
    with pytest.raises(ConversionError) as error:
        mend(some, source)
    assert str(error.value).splitlines()[1] == (
        f"{some}/shard-000000.tar: holds samples that no index here names, and they are damaged "
        "too (it was filtered); take the shard from where it came"
    )


def test_the_first_version_in_a_store_has_no_time():
    """Nobody has noted it; what is read is what was written."""
    said = (Version(1, "", 7, 3, 3, 0), Version(2, "2026-11-01T00:00:00Z", 8, 4, 1, 0))
    assert shard_versions.parse("x", b"".join(one.line() for one in said)) == said
