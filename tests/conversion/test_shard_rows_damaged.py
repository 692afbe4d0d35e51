"""Damage of a large index, and of the rows that are kept of it: found, or made anew."""

import random

import numpy as np
import pytest

from fastload.errors import SourceError
from fastload.sources import open_source, span_index
from tests.conversion import shard_helpers as helpers
from tests.conversion.index_helpers import converted, refusal, rewritten

large, folder, by = helpers.large, helpers.folder, helpers.by


def test_flipped_bits_of_the_index_are_found(folder):
    draw = random.Random(1)
    for name in ("index.arrow", "index.arrow.xxh3"):
        content = (folder / name).read_bytes()
        for _ in range(20):
            at = draw.randrange(len(content))
            changed = bytearray(content)
            changed[at] ^= 1 << draw.randrange(8)
            (folder / name).write_bytes(changed)
            with pytest.raises(SourceError, match=r"index.arrow: is damaged \(checksum got "):
                open_source(folder)
        (folder / name).write_bytes(content)
    assert len(open_source(folder)) == helpers.COUNT


def test_problems_of_all_groups_are_told_as_of_a_small_index(folder, monkeypatch):
    has = helpers.columns()
    has["label"][[4097, 8500]] = helpers.CLASSES
    has["offset"][8999] = 1 << 40
    has["index_offset"][8701] = 3
    helpers.put(folder, helpers.content(has))
    (folder / "shard-000001.tar").unlink()
    said = refusal(folder)
    at, remedy = f"{folder}/index.arrow", "convert again"
    beyond = f"seek index outside the sidecar in 1 of 9000 rows (first: row 8701); {remedy}"
    gone = f"cannot be opened (No such file or directory); restore it, or {remedy}"
    assert said.splitlines() == [
        f"{at}: bytes outside the shard in 1 of 9000 rows (first: row 8999); {remedy}",
        f"{at}: {beyond}",
        f"{at}: label outside 0..9 in 2 of 9000 rows (first: row 4097); {remedy}",
        f"{folder}/shard-000001.tar: {gone}",
    ]
    monkeypatch.undo()
    assert refusal(folder) == said


def test_signed_mutations_never_crash(tools, tmp_path):
    """Of an index whose checksums, of blocks too, fit."""
    data = converted(tools, tmp_path)
    content, draw, opened = (data / "index.arrow").read_bytes(), random.Random(2), 0
    for _ in range(150):
        changed = bytearray(content)
        at = draw.randrange(len(changed) - 8) & ~7
        what = draw.choice((draw.randbytes(8), (2**62).to_bytes(8, "little"), b"\xff" * 8, None))
        changed[at : at + 8] = changed[at + 8 : at + 16] if what is None else what
        helpers.put(data, bytes(changed))
        opened += looked_at(data)
    assert opened > 5


def looked_at(data):
    """Whether it opens; then all of it can be asked for."""
    try:
        source = open_source(data)
    except SourceError:
        return False
    source.locate(np.arange(len(source)))
    return bool(source.name(0))


def test_other_columns_and_versions(tools, tmp_path):
    data = converted(tools, tmp_path)
    content = rewritten(data, text={"version": 3})
    helpers.put(data, content)
    assert refusal(data).endswith("format version is 3, this fastload reads 1; use the fastload "
                                  "that wrote it")  # fmt: skip
    helpers.put(data, rewritten(data, text={"version": 1, "samples": 5000}))
    assert "has 1 record batches, want 2 for 5000 samples" in refusal(data)


def test_damaged_rows_are_removed_and_made_again(folder, by):
    """At open; of many rows, where they are used."""
    source = open_source(folder)
    kept = span_index.path_of("shards", str(folder))
    with open(kept, "r+b") as file:
        file.seek(200)  # in the first block
        file.write(b"\0\1\2\3")
    source = open_source(folder)
    if by == "by blocks":
        with pytest.raises(SourceError, match=r"is damaged .*, and was removed; open the data"):
            source.locate(np.arange(3))
        source = open_source(folder)
    assert len(source.locate(np.arange(3)).size) == 3


def test_tables_that_say_otherwise_are_not_used(folder):
    """Of rows that a fastload did not write, or another one did."""
    has = helpers.columns()
    kept = span_index.path_of("shards", str(folder))
    for at in (0, 8, 30, -9):
        open_source(folder)
        with open(kept, "rb") as file:
            content = bytearray(file.read())
        content[at] ^= 0xFF
        with open(kept, "wb") as file:
            file.write(content)
        np.testing.assert_array_equal(np.asarray(open_source(folder).labels), has["label"])
