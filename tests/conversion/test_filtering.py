"""fastload filter goes over the index some rows at a time, and writes what would be made of all."""

import tempfile

import numpy as np
import pytest

from fastload.conversion import doubles, filtering, subset_columns, subsets, verify
from fastload.conversion.doubles import Doubles
from fastload.conversion.index_file import IndexFile
from fastload.errors import ConversionError, SourceError, UsageError
from fastload.files.below import opened
from fastload.sources import open_source, shard_groups, sums
from tests.children import measured
from tests.conversion import shard_helpers as helpers
from tests.conversion.conftest import convert, encode, write_tree
from tests.conversion.index_helpers import rows_where

large, folder, unread, by = helpers.large, helpers.folder, helpers.unread, helpers.by
FILES = ("index.arrow", "index.arrow.xxh3")


def first_of_equal(index, rows):
    """The rows of the first of equal images, by a dictionary."""
    size, checksum = (index.columns[name].all() for name in ("size", "checksum"))
    seen = dict[tuple[int, int], int]()
    for row in rows.tolist():
        seen.setdefault((int(size[row]), int(checksum[row])), row)
    return np.array(sorted(seen.values()), np.int64)


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize(
    "condition", [None, "shard == 1 and label in (2, 3)", "class_name != '4'", "key == 'c/8999'"]
)
def test_the_index_is_that_of_the_rows(folder, tmp_path, monkeypatch, condition, unique):
    """Of three record batches in two groups, with images that are there twice."""
    has = helpers.columns()
    has["checksum"][5000:] = has["checksum"][:4000]
    has["size"][5000:8000] = has["size"][:3000]
    helpers.put(folder, helpers.content(has))
    index = open_source(folder).index
    rows = np.arange(len(index)) if condition is None else rows_where(index, condition)
    rows = first_of_equal(index, rows) if unique else rows
    want = subsets.write(str(tmp_path / "want"), [subset_columns.Part(index, rows)])

    def never(*_):
        raise AssertionError("all rows are in memory")

    monkeypatch.setattr("fastload.sources.shards.ShardSource.index", property(never))
    monkeypatch.setattr(doubles, "MOST", 1000)
    monkeypatch.setattr(doubles, "CHUNK", 100)
    monkeypatch.setattr(doubles, "IN_MEMORY", 1 << 12)
    got = filtering.run(str(folder), str(tmp_path / "got"), condition, unique=unique)
    assert got == want._replace(where=str(tmp_path / "got"))
    for name in FILES:
        assert (tmp_path / "got" / name).read_bytes() == (tmp_path / "want" / name).read_bytes()
    names = [sorted(path.name for path in (tmp_path / n).iterdir()) for n in ("got", "want")]
    assert names[0] == names[1]


@pytest.mark.parametrize("beside", [False, True])
def test_small_data_sets(tools, small, tmp_path, beside):
    """With files beside the images, and of an index that has no checksums of its blocks."""
    if beside:
        for path in sorted(small.rglob("*.jpg"))[:2]:
            path.with_suffix(".json").write_text("{}")
    tools.convert_to(small, tmp_path / "shards", "shards", shard_bytes=5000)
    at = tmp_path / "shards" / "index.arrow.xxh3"
    at.write_bytes(sums.line(open_source(tmp_path / "shards").index.checksum))
    index = open_source(tmp_path / "shards").index
    condition = "label == 'dog' and width > 18"
    part = subset_columns.Part(index, rows_where(index, condition))
    subsets.write(str(tmp_path / "want"), [part])
    filtering.run(str(tmp_path / "shards"), str(tmp_path / "got"), condition)
    for name in FILES:
        assert (tmp_path / "got" / name).read_bytes() == (tmp_path / "want" / name).read_bytes()
    assert verify.verify(verify.prepare(str(tmp_path / "got")), 1).damages == ()
    whole = filtering.run(str(tmp_path / "shards"), str(tmp_path / "whole"), "width > 0")
    assert whole.samples == len(index)


def test_of_equal_images_the_first_stays(tmp_path):
    images = [encode(13, 17, seed) for seed in (1, 2, 1, 3, 2, 1)]
    tree = {f"{'ab'[n % 2]}/{n}.jpg": image for n, image in enumerate(images)}
    convert(write_tree(tmp_path / "in", tree), tmp_path / "out")  # a/0, a/2, a/4, b/1, b/3, b/5
    for number, (condition, want) in enumerate(
        [(None, ["a/0", "a/4", "b/3"]), ("key != 'a/0'", ["a/2", "a/4", "b/3"])]
    ):
        into = str(tmp_path / str(number))
        filtering.run(str(tmp_path / "out"), into, condition, unique=True)
        index = open_source(into).index
        assert [index.key(row) for row in range(len(index))] == want


def test_what_is_refused(folder, tmp_path, monkeypatch):
    def run(into, condition, **options):
        with pytest.raises((ConversionError, SourceError, UsageError)) as refused:
            filtering.run(str(folder), str(into), condition, **options)
        return str(refused.value)

    new = tmp_path / "new"
    assert run(new, "width > 99") == f"{new}: no sample is left; give other conditions"
    assert run(folder, "width > 1", overwrite=True) == (
        f"{folder}: is the data set itself; give another folder"
    )
    assert run(new, "depth > 1").startswith("where: depth is no column (have label, ")
    keys = [f"c/{n}" for n in range(helpers.COUNT)]
    keys[8999] = "../x"
    helpers.put(folder, helpers.content(helpers.columns(), keys))
    assert run(new, "width > 1").startswith(f"{folder}, sample 8999: key '../x' ")
    assert not new.exists() or not list(new.iterdir())


def test_an_index_that_changes_meanwhile(folder, tmp_path, monkeypatch):
    """Nothing is left at the target."""
    of, asked = shard_groups.streamed, []

    def streamed(where, *some):
        asked.append(where)
        groups = of(where, *some)
        if len(asked) == 3:  # the pass that writes
            return helpers_replaced(groups)
        return groups

    def helpers_replaced(groups):
        def batches():
            yield next(groups.batches)
            raise ValueError("block 7")

        return shard_groups.Groups(
            groups.where, groups.checksum, groups.text, groups.said, groups.stamp, batches()
        )

    open_source(folder)
    monkeypatch.setattr(shard_groups, "streamed", streamed)
    new = tmp_path / "new"
    with pytest.raises(SourceError) as refused:
        filtering.run(str(folder), str(new), "width > 1")
    assert str(refused.value) == (
        f"{folder}/index.arrow: changed while it was read (block 7); convert again"
    )
    assert not new.exists() or not list(new.iterdir())


def test_rows_that_were_found_are_those_of_this_very_index(folder, tmp_path):
    """Another index's rows would be others' samples."""
    rows = filtering.Rows(subsets.open_shards(str(folder)))
    every = np.arange(helpers.COUNT)
    found = filtering.Found(rows.checksum, filtering.bits(every % 9 == 2))
    filtering.run(str(folder), str(tmp_path / "got"), found)
    index = open_source(tmp_path / "got").index
    assert [index.key(row) for row in range(1000)] == [f"c/{n}" for n in every[every % 9 == 2]]
    has = helpers.columns()
    helpers.put(folder, helpers.content(has, [f"d/{n}" for n in every]))
    new = tmp_path / "new"
    with pytest.raises(SourceError) as refused:
        filtering.run(str(folder), str(new), found)
    assert str(refused.value) == (
        f"{folder}/index.arrow: was replaced while it was read; filter it again"
    )
    assert not new.exists()


def test_some_record_batches(folder):
    rows = filtering.Rows(subsets.open_shards(str(folder)))
    sizes = [[batch.num_rows for batch in batches] for _, batches in rows.groups(1, 3)]
    assert (sizes, [first for first, _ in rows.groups(1, 3)]) == ([[4096, 808]], [4096])
    keys = [batch.column("key")[0].as_py() for _, some in rows.groups(2) for batch in some]
    assert keys == ["c/8192"]


@pytest.mark.parametrize("rows", [1, 1000, 5000])
def test_doubles_are_all_but_the_first(monkeypatch, rows):
    """In one part and in several, in memory and in a file."""
    monkeypatch.setattr(doubles, "MOST", 700)
    monkeypatch.setattr(doubles, "CHUNK", 64)
    monkeypatch.setattr(doubles, "IN_MEMORY", 1 << 10)
    draw = np.random.default_rng(rows)
    checksum = draw.integers(0, 1 + rows // 3, rows).astype(np.int64) - 5
    size = draw.integers(1, 3, rows)
    found = Doubles(rows)
    for begin in range(0, rows, 300):
        some = np.arange(begin, min(begin + 300, rows))
        found.add(some, checksum[some], size[some])
    first = dict[tuple[int, int], int]()
    pairs = zip(checksum.tolist(), size.tolist(), strict=True)
    want = [row for row, pair in enumerate(pairs) if first.setdefault(pair, row) != row]
    assert sorted(np.concatenate([*found.later(), np.zeros(0, np.int64)]).tolist()) == want


def test_one_image_many_times_is_looked_at_in_parts(monkeypatch):
    monkeypatch.setattr(doubles, "MOST", 1 << 10)
    monkeypatch.setattr(doubles, "CHUNK", 1 << 8)
    found = Doubles(20_000)
    same = np.ones(1000, np.int64)
    for begin in range(0, 20_000, 1000):
        found.add(begin + np.arange(1000), same, same)
    count, memory = measured(lambda: sum(map(len, found.later())))
    assert memory.most < 24 * 20_000
    assert count == 19_999


@pytest.mark.parametrize("size", [0, 1, sums.BLOCK - 1, sums.BLOCK, 3 * sums.BLOCK + 7])
def test_the_checksums_of_a_file_that_is_written_in_pieces(tmp_path, size):
    data = np.random.default_rng(size).bytes(size)
    with opened(str(tmp_path)) as at, IndexFile(at) as file:
        for begin in range(0, size, 50_001):
            assert file.write(data[begin : begin + 50_001]) == len(data[begin : begin + 50_001])
        assert file.tell() == size
        staged = file.staged()
    assert staged.sums == sums.text(data)
    assert (tmp_path / staged.name).read_bytes() == data
    with opened(str(tmp_path)) as at, IndexFile(at) as file:
        file.write(b"x")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("broken", ["write", "seek", "read", "short"])
def test_no_room_for_what_is_kept_meanwhile(monkeypatch, broken):
    """A seek writes what the file has in memory, so a full disk may be noticed there."""
    monkeypatch.setattr(doubles, "CHUNK", 4)
    found = Doubles(100)

    def full(*_):
        raise OSError(28, "No space left on device")

    name, why = broken, "No space left on device"
    if broken == "short":
        name, full, why = "read", lambda _: b"7 bytes", "got 7 bytes back, want 96"
    monkeypatch.setattr(found._file, name, full)
    with pytest.raises(ConversionError) as refused:
        found.add(*(np.arange(9) for _ in range(3)))
        list(found.later())
    assert str(refused.value) == (
        f"{tempfile.gettempdir()}: cannot hold rows meanwhile ({why}); free some room there, or "
        "set TMPDIR to another folder"
    )


def test_no_folder_for_what_is_kept_meanwhile(monkeypatch):
    monkeypatch.setattr(doubles, "CHUNK", 4)
    monkeypatch.setattr(doubles, "IN_MEMORY", 8)
    monkeypatch.setenv("TMPDIR", "/nowhere")

    def none():
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", none)
    with pytest.raises(ConversionError) as refused:
        Doubles(100).add(*(np.arange(9) for _ in range(3)))
    assert str(refused.value) == (
        "/nowhere: cannot hold rows meanwhile (No usable temporary directory found); free some "
        "room there, or set TMPDIR to another folder"
    )
