"""The index of tars in the user's cache: used again, checked at every use, never trusted."""

import itertools
import json
import multiprocessing
import os
import pickle
import stat
import struct
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import open_source, row_file, span_index, tar_parts, tars
from fastload.system import limits
from tests.sources.tar_helpers import contents, image, put, refused, sample, tars_of

COUNT, EACH = 18, 6


@pytest.fixture
def data(tmp_path):
    return tars_of(tmp_path / "tars", COUNT, 3, EACH)


@pytest.fixture
def scans(monkeypatch):
    """The archives whose headers were read since it was last cleared."""
    paths = []

    def scan(path, *rest, **options):
        paths.append(os.path.basename(path))
        return tar_parts.scan(path, *rest, **options)

    monkeypatch.setattr(tars, "scan", scan)
    return paths


def index_of(where) -> Path:
    return Path(span_index.path_of("webdataset", str(where)))


def test_headers_are_read_once(data, scans, cache):
    first = contents(data)
    assert scans == ["00000.tar", "00001.tar", "00002.tar"]
    scans.clear()
    assert contents(data) == first
    assert contents(f"{data}/") == first
    assert scans == []
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (index_of(data), index_of(data).parent)]
    assert modes == [0o600, 0o700]
    assert cache in index_of(data).parents


def test_only_what_changed_is_read_again(data, scans):
    first = contents(data)
    scans.clear()
    put(f"{data}/00001.tar", sample("new", 40, "1"), tarfile.GNU_FORMAT)
    assert contents(data) == [*first[:EACH], (1, image(40)[1]), *first[-EACH:]]
    assert scans == ["00001.tar"]
    scans.clear()
    put(f"{data}/00003.tar", sample("more", 41, "2"), tarfile.GNU_FORMAT)
    os.remove(f"{data}/00000.tar")
    assert contents(data)[-1] == (2, image(41)[1])
    assert scans == ["00003.tar"]
    scans.clear()
    assert len(contents(data)) == 1 + EACH + 1
    assert scans == []


def test_a_tar_of_the_same_size_and_time_is_noticed(data, scans):
    """Another file in its place has another inode."""
    path = f"{data}/00000.tar"
    first, before = contents(data), os.stat(path)
    members = [member for n in (1, 0, 2, 3, 4, 5) for member in sample(f"{n:09d}", n, "0")]
    put(f"{path}.new", members, tarfile.GNU_FORMAT)
    os.utime(f"{path}.new", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(f"{path}.new").st_size == before.st_size
    os.replace(f"{path}.new", path)
    scans.clear()
    assert contents(data)[:2] == first[1::-1]
    assert scans == ["00000.tar"]


def test_a_time_alone_is_noticed(data, scans):
    contents(data)
    scans.clear()
    os.utime(f"{data}/00002.tar", ns=(5, 5))
    contents(data)
    assert scans == ["00002.tar"]


def everything(data):
    source = open_source(str(data))
    return contents(data), [source.name(sample) for sample in range(len(source))]


def test_a_damaged_index_is_made_anew(data, scans):
    """At open, or where what is damaged is used: then it is removed."""
    first, file = everything(data), index_of(data)
    whole = file.read_bytes()
    rng, refusals = np.random.default_rng(0), 0
    tables = int.from_bytes(whole[24:32], "little")
    for at in (0, 8, 16, 24, 32, 40, tables, *rng.integers(48, len(whole), 25).tolist()):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        try:
            found = everything(data)
        except SourceError as error:
            refusals += 1
            assert 48 <= at < tables
            assert str(error).startswith(f"{file}: is damaged (")
            assert str(error).endswith(
                "), and was removed; open the data set again, which makes it anew"
            )
            assert not file.exists()
            found = everything(data)
        assert found == first
        assert file.read_bytes() in (whole, bytes(damaged))  # between parts nothing is read
    assert refusals > 5
    for length in (0, 7, 31, 47, 48, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert everything(data) == first
        assert file.read_bytes() == whole


def test_an_index_of_the_first_version_is_made_anew(data, scans):
    first, file = contents(data), index_of(data)
    whole = file.read_bytes()
    text = json.dumps([["0"], []]).encode()
    file.write_bytes(struct.pack("<8sQQQ", b"FASTSPAN", 1, _native.xxh3(text), len(text)) + text)
    scans.clear()
    assert contents(data) == first
    assert len(scans) == 3
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
    with pytest.raises(SourceError, match="is damaged .an image outside of its file"):
        spans.column("offset")[:]
    assert not os.path.exists(spans.where)


def edited(file, edit):
    """The tables as they are after `edit(told, numbers)`, sealed again."""
    data = Path(file).read_bytes()
    *_, at, size, text = row_file.HEADER.unpack_from(data)
    told = json.loads(data[at : at + text])
    numbers = np.frombuffer(data[at + text : at + size], "<i8").reshape(told["parts"], -1).copy()
    numbers = edit(told, numbers)
    numbers = numbers if isinstance(numbers, np.ndarray) else np.zeros(0, np.int64)
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


ROWS, AT, BYTES, WIDTH, LOW, HIGH, LACKING = 0, 1, 2, 3, 6, 9, 15


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
        lambda told, numbers: numbers[:, :-1],
        lambda told, numbers: None,
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


def test_without_a_cache_it_opens_all_the_same(data, scans, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    first = contents(data)
    assert contents(data) == first
    assert len(scans) == 6


def test_what_is_refused_is_not_kept(data, scans):
    """The others are: who mends it does not wait for them again."""
    put(f"{data}/00001.tar", [("k.txt", b"x")], tarfile.GNU_FORMAT)
    assert refused(data) == refused(data)
    assert scans == ["00000.tar", "00001.tar", "00002.tar", "00001.tar"]
    assert f"{data}/00001.tar" not in span_index.recall(str(index_of(data))).paths


def test_a_tar_that_grows_meanwhile_is_refused(data, monkeypatch):
    part = tar_parts._part

    def slow(path, *rest):
        with open(path, "ab") as file:
            file.write(bytes(512))
        return part(path, *rest)

    monkeypatch.setattr(tar_parts, "_part", slow)
    size = os.path.getsize(f"{data}/00000.tar")
    with pytest.raises(SourceError) as error:
        open_source(f"{data}/00000.tar")
    assert str(error.value) == (
        f"{data}/00000.tar: changed while it was looked at (got {size + 512} bytes, want {size}); "
        "open it when nothing writes to it"
    )


def opened(data, start, results):
    start.wait()
    results.put(contents(data))


def test_processes_that_open_it_at_once(data):
    context = multiprocessing.get_context("fork")
    start, results = context.Barrier(3), context.Queue()
    crew = [context.Process(target=opened, args=(data, start, results)) for _ in range(3)]
    for one in crew:
        one.start()
    found = [results.get(timeout=60) for _ in crew]
    for one in crew:
        one.join()
    assert found == [[(n * 3 // COUNT, image(n)[1]) for n in range(COUNT)]] * 3
    assert set(os.listdir(index_of(data).parent)) == {index_of(data).name}


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


def test_texts_that_no_label_is_any_more_are_no_classes(tmp_path):
    data = tars_of(tmp_path / "tars", 6, 3, 2)
    assert open_source(str(data)).classes == ("0", "1", "2")
    for name, label in (("00001", "cat"), ("00000", "dog"), ("00002", "cat")):
        put(f"{data}/{name}.tar", sample(name, 40, label), tarfile.GNU_FORMAT)
    source = open_source(str(data))
    assert (source.classes, source.labels[:].tolist()) == (("cat", "dog"), [1, 0, 0])
    put(f"{data}/00000.tar", sample("new", 41, "cat"), tarfile.GNU_FORMAT)
    source = open_source(str(data))
    assert (source.classes, source.labels[:].tolist()) == (("cat",), [0, 0, 0])
    assert span_index.recall(str(index_of(data))).texts.count("dog") == 0


def test_another_process_opens_the_same_index_by_its_path(data):
    source, every = open_source(str(data)), np.arange(COUNT)
    content = pickle.dumps(source)
    assert len(content) < 4000
    there = pickle.loads(content)
    assert there.spans.file != source.spans.file
    for mine, other in zip(source.locate(every), there.locate(every), strict=True):
        assert np.array_equal(mine, other)
    assert np.array_equal(source.labels, there.labels)
    offset = np.asarray(source.offset)
    put(f"{data}/00001.tar", sample("new", 40, "1"), tarfile.GNU_FORMAT)
    open_source(str(data))
    with pytest.raises(SourceError, match="was replaced while in use; open the data set again"):
        pickle.loads(content)
    assert np.array_equal(source.offset, offset)  # what was opened stays as it was


def test_an_open_index_takes_memory_by_its_files(keeping):
    """Not by its 300,000 rows, which were 7 MB."""
    count, files = 100_000, 3
    offset = np.arange(count, dtype=np.int64) * 1000
    for number in range(files):
        label = np.full(count, number, np.int64)
        stamp = span_index.Stamp(1 << 40, 1, 2)
        keeping.add(
            number, f"{number}.tar", span_index.Part(offset, offset + 1, label, stamp=stamp)
        )
    keeping.keep()
    tracemalloc.start()
    try:
        spans = span_index.recall(keeping.index)
        wanted = np.random.default_rng(0).integers(0, len(spans), 256)
        taken = spans.at(wanted)
        now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(spans) == files * count
    assert (taken.part == wanted // count).all()
    assert (taken.values[0] == wanted % count * 1000).all()
    assert now < 100_000
    assert most < 3_000_000  # the blocks of one batch
