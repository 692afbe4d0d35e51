"""The index of converted shards is read once; later its kept rows say the same."""

import os
import pickle

import numpy as np
import pytest

import fastload
from fastload.conversion import indexing
from fastload.errors import SourceError
from fastload.files import cache
from fastload.sources import (
    kept_rows,
    open_source,
    seek_said,
    shard_groups,
    shard_rows,
    span_index,
)
from tests.conversion import shard_helpers as helpers

large, folder, unread, by = helpers.large, helpers.folder, helpers.unread, helpers.by


def same(source, where, has):
    chosen = np.random.default_rng(1).permutation(helpers.COUNT)
    file, offset, size, checksum, seek, raw = source.locate(chosen)
    for got, name in (
        (file, "shard"), (offset, "offset"), (size, "size"), (checksum, "checksum"),
        (seek.offset, "index_offset"), (seek.size, "index_size"), (seek.file, "shard"),
    ):  # fmt: skip
        np.testing.assert_array_equal(got, has[name][chosen])
    assert (raw, checksum.dtype) == (None, np.uint64)
    np.testing.assert_array_equal(np.asarray(source.labels), has["label"])
    assert source.most_pixels() == (has["height"] * has["width"]).max()
    for n in (0, 4095, 4096, 8999):
        assert source.name(n) == f"{where}/shard-{n // helpers.PER:06d}.tar:c/{n}"


def test_what_is_kept_is_what_the_index_says(folder, unread, by):
    has = helpers.columns()
    same(open_source(folder), folder, has)
    unread()
    source = open_source(folder)
    assert (source.rows.kept, source.whole) == (True, None)
    same(source, folder, has)
    same(pickle.loads(pickle.dumps(source)), folder, has)


def test_rows_are_a_third_of_the_index(folder):
    open_source(folder)
    kept = os.path.getsize(span_index.path_of("shards", str(folder)))
    assert kept < os.path.getsize(folder / "index.arrow") / 2


def test_the_whole_index_is_there_for_who_asks(folder):
    index, has = open_source(folder).index, helpers.columns()
    np.testing.assert_array_equal(index.columns["height"].all(), has["height"])
    source = open_source(folder)
    helpers.put(folder, helpers.content(has | {"label": has["label"] * 0}))
    with pytest.raises(SourceError, match=r"out: was replaced while in use \(index "):
        _ = source.index


def test_an_index_that_changed_is_read_again(folder):
    has = helpers.columns()
    before = pickle.dumps(open_source(folder))
    has["label"] = has["label"] * 0
    helpers.put(folder, helpers.content(has))
    same(open_source(folder), folder, has)
    with pytest.raises(SourceError, match="was replaced while in use"):
        pickle.loads(before)


def test_another_checksum_beside_it_is_not_passed_over(folder):
    open_source(folder)
    said = (folder / "index.arrow.xxh3").read_bytes()
    (folder / "index.arrow.xxh3").write_bytes(said[:7] + b"0123456789abcdef" + said[23:])
    with pytest.raises(SourceError, match="is damaged"):
        open_source(folder)


def test_checksums_without_blocks_are_read_whole_and_kept(folder, unread):
    said = (folder / "index.arrow.xxh3").read_bytes()
    (folder / "index.arrow.xxh3").write_bytes(said[7:24])
    same(open_source(folder), folder, helpers.columns())
    unread()
    same(open_source(folder), folder, helpers.columns())


def test_without_a_cache_rows_are_in_memory(folder):
    with cache.nowhere():
        source = open_source(folder)
        assert not source.rows.kept
        same(source, folder, helpers.columns())
        same(pickle.loads(pickle.dumps(source)), folder, helpers.columns())


def test_a_small_index_is_not_kept(folder, monkeypatch):
    monkeypatch.undo()
    source = open_source(folder)
    assert (source.rows.kept, len(source.whole)) == (False, helpers.COUNT)
    same(source, folder, helpers.columns())


def test_a_key_that_breaks_lines_moves_no_other(folder):
    keys = [f"c/{n}" for n in range(helpers.COUNT)]
    keys[1:3] = ["a\nb", ""]
    helpers.put(folder, helpers.content(helpers.columns(), keys))
    source = open_source(folder)
    names = [source.name(n).rpartition(":")[2] for n in range(4)]
    assert names == ["c/0", "a_b", "", "c/3"]


def test_a_loader_reads_the_same(tools, tmp_path, unread, monkeypatch):
    files = {f"{'ab'[n % 2]}/{n}.jpg": tools.encode(40, 50, n) for n in range(12)}
    tools.convert(tools.write_tree(tmp_path / "in", files), tmp_path / "out", shard_bytes=8192)
    batches = []
    for _ in range(2):
        data = fastload.open(tmp_path / "out", [fastload.transforms.CenterCrop(32)])
        batches.append([x.clone() for x in next(iter(fastload.DataLoader(data, 12, seed=1)))])
        unread()
    for first, second in zip(*batches, strict=True):
        assert first.equal(second)


def test_seek_indexes_that_are_made_later_are_found(tools, tmp_path):
    files = {f"a/{n}.jpg": tools.encode(90, 120, n) for n in range(3)}
    tools.convert(tools.write_tree(tmp_path / "in", files), tmp_path / "out", seek_step=None)
    assert open_source(tmp_path / "out").locate(np.arange(3)).seek is None
    indexing.run(indexing.prepare(str(tmp_path / "out")), 8, 1)
    assert (open_source(tmp_path / "out").locate(np.arange(3)).seek.size > 0).all()


def test_indexed_images_are_counted_without_their_rows(folder, monkeypatch):
    has, source = helpers.columns(), open_source(folder)
    take, taken = shard_rows.ShardRows.take, []

    def counted(self, samples, *columns):
        taken.append(len(samples))
        return take(self, samples, *columns)

    monkeypatch.setattr(shard_rows.ShardRows, "take", counted)
    want = has["index_size"] > 0
    assert seek_said.describe("use", source, None) == f"seek index: {want.sum()} of 9000 images"
    (folder / "shard-000001.seek").unlink()
    want &= has["shard"] != 1
    assert seek_said.having(open_source(folder), None) == want.sum()
    assert taken == [seek_said.SOME]  # which tell a seek index from a coefficient layer


def test_what_was_begun_leaves_nothing(folder, monkeypatch):
    """A first look that ends early."""
    monkeypatch.setattr(shard_groups, "keys", lambda _: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            open_source(folder)
    assert os.listdir(cache.path("spans")) == []
    assert kept_rows.recall(shard_rows.ShardRows, span_index.path_of("shards", "x")) is None
