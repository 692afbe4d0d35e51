"""The index of spans of files in the user's cache: what is damaged or lies is found, and one
that is open takes little memory.
"""

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import open_source, row_blocks, row_file, span_index
from fastload.system import limits
from tests.children import measured
from tests.sources.tar_helpers import contents, tars_of


def everything(data):
    source = open_source(str(data))
    return contents(data), [source.name(sample) for sample in range(len(source))]


@pytest.mark.parametrize("few", [True, False])
def test_a_damaged_index_is_made_anew(tmp_path, monkeypatch, few):
    """At open, where few rows lie in it. Of many, and names, where it is used: it is removed."""
    monkeypatch.setattr(row_file, "FEW", 1 << 21 if few else 0)
    data = tars_of(tmp_path / "tars", 18, 3, 6)
    first, file = everything(data), Path(span_index.path_of("webdataset", str(data)))
    whole = file.read_bytes()
    rng, known = np.random.default_rng(0), span_index.recall(str(file))
    tables = known.tables
    blocks = row_blocks.blocks_of(tables.rows) * row_blocks.layout(tables.widths).size
    ends = zip(tables.at.tolist(), tables.bytes.tolist(), blocks.tolist(), strict=True)
    used = {at + n for at, size, begin in ends for n in range(begin if few else 0, size)}
    for at in (0, 8, 16, 24, 32, 40, len(whole) - 1, *rng.integers(48, len(whole), 25).tolist()):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        if at in used:
            with pytest.raises(SourceError) as error:
                everything(data)
            assert str(error.value).startswith(f"{file}: is damaged (checksum mismatch of ")
            assert str(error.value).endswith(
                "), and was removed; open the data set again, which makes it anew"
            )
            assert not file.exists()
        assert everything(data) == first
        assert file.read_bytes() in (whole, bytes(damaged))  # between parts nothing is read
    for length in (0, 7, 31, 47, 48, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert everything(data) == first
        assert file.read_bytes() == whole


GOOD = span_index.Part(
    np.array([512, 1024]),
    np.array([5, 700]),
    np.array([0, 1]),
    b"k.jpg\nl.jpg",
    ("x", "y"),
    stamp=span_index.Stamp(2048, 1, 2),
)


@pytest.fixture
def keeping(tmp_path, cache):
    keeping = span_index.Keeping(str(cache / "fastload" / "spans" / "toy.index"))
    yield keeping
    keeping.close()


@pytest.mark.parametrize(
    "part",
    [
        GOOD._replace(offset=np.array([512, 1349])),
        GOOD._replace(offset=np.array([-1, 512])),
        GOOD._replace(offset=np.array([1 << 62, 1 << 61])),
        GOOD._replace(size=np.array([5, 1 << 62])),
        GOOD._replace(size=np.array([-5, 7])),
    ],
    ids=itertools.count(),
)
def test_images_outside_of_their_file_are_refused(keeping, part):
    keeping.add(0, "/a.tar", part)
    keeping.keep()
    spans = keeping.spans()
    assert os.path.exists(spans.where)
    with pytest.raises(SourceError, match=r"is damaged \(an image outside of its file"):
        spans.column("offset")[:]
    assert not os.path.exists(spans.where)


def edited(file, edit):
    """The tables as they are after `edit(told, numbers)`, sealed again."""
    data = Path(file).read_bytes()
    *_, at, size, text = row_file.HEADER.unpack_from(data)
    told = json.loads(data[at : at + text])
    numbers = np.frombuffer(data[at + text : at + size], "<i8").reshape(told["parts"], -1).copy()
    numbers = edit(told, numbers)
    said = json.dumps(told).encode()
    said += b" " * (-len(said) % 8)
    tables = said + numbers.tobytes()
    head = (row_file.VERSION, _native.xxh3(tables), at, len(tables), len(said))
    Path(file).write_bytes(
        row_file.HEADER.pack(row_file.MAGIC, *head) + data[row_file.HEADER.size : at] + tables
    )


def setting(column, value):
    def edit(told, numbers):
        numbers[0, column] = value
        return numbers

    return edit


def telling(**told):
    return lambda before, numbers: before.update(told) or numbers


EACH = len(span_index.COLUMNS)
ROWS, AT, BYTES, WIDTH = range(4)
LOW, HIGH, LACKING = WIDTH + EACH, WIDTH + 2 * EACH, WIDTH + 3 * EACH + len(span_index.FACTS) - 1


@pytest.mark.parametrize(
    "edit",
    [
        *(setting(ROWS, value) for value in (-1, 257, 1 << 40, (1 << 63) - 1)),
        *(setting(AT, value) for value in (-1, 0, 1 << 20, (1 << 63) - 1)),
        *(setting(BYTES, value) for value in (-1, 100, 1 << 20, (1 << 63) - 1)),
        *(setting(WIDTH + column, 9) for column in range(3)),
        *(setting(WIDTH, value) for value in (-1, 8, 1 << 62)),
        setting(LOW + 2, -2),
        setting(HIGH + 2, 2),
        lambda _, numbers: numbers[:, :-1],
        lambda _, numbers: numbers[:0],
        telling(parts=2),
        telling(parts="1"),
        telling(facts=-1),
        telling(columns=[]),
        telling(columns=["offset", "size", "no label"]),
        telling(paths=[]),
        telling(paths=[7]),
        telling(said="x"),
        telling(asked=[[]]),
        telling(texts=7),
        telling(texts=["x"]),
        lambda told, numbers: told.clear() or numbers,
    ],
    ids=itertools.count(),
)
def test_sealed_tables_that_lie_are_not_taken(keeping, edit):
    keeping.add(0, "/a.tar", GOOD)
    keeping.keep()
    edited(keeping.index, telling())
    assert span_index.recall(keeping.index).name(1) == "l.jpg"
    edited(keeping.index, edit)
    assert span_index.recall(keeping.index) is None


@pytest.mark.parametrize(("column", "value"), [(LOW, 513), (HIGH, 1023), (HIGH + 1, 6)])
def test_rows_outside_of_what_the_tables_say_are_damage(keeping, column, value):
    keeping.add(0, "/a.tar", GOOD)
    keeping.keep()
    edited(keeping.index, setting(column, value))
    spans = span_index.recall(keeping.index)
    with pytest.raises(SourceError, match="values outside of those of their part"):
        spans.column("label")[:]


def test_texts_that_archives_share_are_kept_once(keeping, monkeypatch):
    """Thousands of tars of thousands of classes would not fit into the limit of the JSON."""
    texts = tuple(f"class-{number:04}" for number in range(300))
    ones = np.arange(300, dtype=np.int64)
    stamp, names = span_index.Stamp(1 << 20, 1, 2), b"\n".join([b"a"] * 300)
    for tar in range(20):
        own = texts[tar:] + texts[:tar]
        keeping.add(
            tar, f"{tar}.tar", span_index.Part(512 * ones, ones, ones, names, own, stamp=stamp)
        )
    keeping.keep()
    monkeypatch.setattr(limits, "METADATA", 300 * 20 + 20 * 100)
    found = span_index.recall(keeping.index)
    labels = found.column("label")
    for tar in range(20):
        said = [found.texts[number] for number in labels[300 * tar : 300 * (tar + 1)]]
        assert said == [*texts[tar:], *texts[:tar]]


def test_an_open_index_of_many_rows_takes_memory_by_its_files(keeping, monkeypatch):
    """Not by its 300,000 rows, which were 7 MB."""
    monkeypatch.setattr(row_file, "FEW", 1000)
    count, files = 100_000, 3
    offset = np.arange(count, dtype=np.int64) * 1000
    for number in range(files):
        label = np.full(count, number, np.int64)
        stamp = span_index.Stamp(1 << 40, 1, 2)
        keeping.add(
            number, f"{number}.tar", span_index.Part(offset, offset + 1, label, stamp=stamp)
        )
    keeping.keep()
    wanted = np.random.default_rng(0).integers(0, files * count, 256)

    def look():
        spans = span_index.recall(keeping.index)
        return spans, spans.at(wanted), *spans.take(wanted, span_index.OFFSET)

    (spans, taken, offset), memory = measured(look)
    assert len(spans) == files * count
    assert (taken.part == wanted // count).all()
    assert (taken.values[0] == offset).all()
    assert (offset == wanted % count * 1000).all()
    assert memory.left < 100_000
    assert memory.most < 3_000_000  # the blocks of one batch
