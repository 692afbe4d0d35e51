"""LMDB files of images, by a writer of our own after the format, and by lmdb, where it is
installed.
"""

import os
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastload
from fastload.sources import lmdb, lmdb_keys, lmdb_tree, span_index
from tests.conftest import encoded
from tests.sources.format_helpers import (
    COUNT,
    check_damaged,
    check_same_as_a_folder,
    encoded_of,
    image,
    label,
    refused,
)  # fmt: skip
from tests.sources.lmdb_files import (
    BRANCH,
    LEAF,
    PAGE,
    branch,
    database,
    meta,
    node,
    page,
    write,
)  # fmt: skip

NUMBERS = range(COUNT)
EACH = ("ant", "cat")
TEXTS = {number: str(label(number)).encode() for number in NUMBERS}
PAIRS = {b"image-%09d" % number: image(number) for number in NUMBERS} | {
    b"label-%09d" % number: TEXTS[number] for number in NUMBERS
}
FILES = {b"%03d.jpg" % number: image(number) for number in NUMBERS} | {
    b"%03d.cls" % number: TEXTS[number] for number in NUMBERS
}
FOLDERS = {b"train/%s/%03d.jpg" % (TEXTS[number], number): image(number) for number in NUMBERS}
ABOUT = {b"num-samples": b"23", b"__len__": pickle.dumps(23), b"__keys__": pickle.dumps([b"1"])}


@pytest.mark.parametrize("size", [512, 4096, 16384])
@pytest.mark.parametrize("items", [PAIRS, FILES, FOLDERS], ids=["pairs", "files", "folders"])
def test_the_batches_are_those_of_a_folder(tmp_path, items, size):
    path = write(tmp_path / "l", items | ABOUT, size=size)
    check_same_as_a_folder(path, tmp_path / "images")
    assert fastload.open(path).classes == ("0", "1", "2", "3", "4")


def test_a_file_of_its_own_and_names_of_classes(tmp_path):
    path = tmp_path / "x.lmdb"
    items = {b"image_a": image(1), b"label_a": b"cat\n", b"image_b": image(2), b"label_b": b"ant"}
    path.write_bytes(database(items | {b"img-c": image(3), b"label-c": b"cat"}))
    data = fastload.open(path)
    assert (data.targets, data.classes) == ([1, 0, 1], ("ant", "cat"))
    assert encoded_of(data.pipeline.source) == [image(1), image(2), image(3)]


def test_the_keys_are_read_once(tmp_path, monkeypatch):
    """What they mean is kept; another file is read again."""
    path = write(tmp_path / "l", {b"image_a": image(1), b"label_a": b"cat", b"image_b": image(2),
                                  b"label_b": b"ant"})  # fmt: skip
    first, read = fastload.open(path), lmdb_keys.found
    reads = []
    monkeypatch.setattr(lmdb_keys, "found", lambda *asked: reads.append(asked) or read(*asked))
    again = fastload.open(path)
    assert (again.targets, again.classes) == (first.targets, first.classes) == ([1, 0], EACH)
    assert encoded_of(again.pipeline.source) == [image(1), image(2)]
    assert reads == []
    write(path, {b"image_a": image(3), b"label_a": b"4"})
    assert (fastload.open(path).targets, len(reads)) == ([4], 1)


@pytest.mark.parametrize("said", ["", "[", "7", "[1]", '["ant"]', "[" * 100_000])
def test_classes_that_are_kept_and_cannot_be(tmp_path, said):
    """The index is made anew."""
    path = write(tmp_path / "l", {b"ant/1": image(1), b"cat/2": image(2)})
    want, file = fastload.open(path), tmp_path / "l" / "data.mdb"
    index = span_index.path_of("lmdb", str(path))
    known = span_index.recall(index)
    columns = {name: np.asarray(known.column(name)) for name in ("offset", "size", "label")}
    stamp = span_index.Stamp(*known.stamps()[0].tolist())
    keeping = span_index.Keeping(index)
    keeping.add(0, str(file), span_index.Part(**columns, said=said, stamp=stamp))
    keeping.keep()
    keeping.close()
    data = fastload.open(path)
    assert (data.targets, data.classes) == (want.targets, want.classes) == ([0, 1], EACH)


def test_names_of_classes_that_are_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(lmdb, "NAMES", 13)
    path = write(tmp_path, {b"ant/1": image(1), b"cat/2": image(2)})
    assert refused(path) == (
        f"{path}/data.mdb: names of classes are too long (got 14 bytes, want at most 13); write "
        "numbers"
    )


def test_small_images_lie_in_the_leaves(tmp_path):
    pixels = [np.full((3, 5, 3), number, np.uint8) for number in range(200)]
    items = {b"c/%03d" % number: encoded(one, "PNG") for number, one in enumerate(pixels)}
    data = fastload.open(write(tmp_path, items))
    assert len(data.pipeline.source) == 200
    assert [np.asarray(data[number][0])[0, 0, 0] for number in (0, 77, 199)] == [0, 77, 199]


@pytest.mark.parametrize(
    ("items", "error"),
    [
        ({}, "has no images among its 0 keys; write image-KEY and label-KEY, KEY.jpg and KEY.cls"),
        (ABOUT, "has no images among its 3 keys; "),
        ({b"0": pickle.dumps((image(1), 3)), **ABOUT}, "'0' is pickled (begins with 80 04 "),
        ({b"0": b"\x08\x03\x10\x40"}, "'0' is no encoded image (begins with 08 03 10 40, want a J"),
        ({b"0": image(0), b"1": image(1)}, "2 of 2 images have no label (such as '0'); write ima"),
        ({b"image-0": image(0), **PAIRS}, "1 of 24 images have no label (such as 'image-0'); writ"),
        ({b"a/0": image(0), b"1": image(1)}, "1 of 2 images have no label (such as '1'); write im"),
        ({b"a/0": image(0), b"b/1": b""}, "'b/1' has an empty image; write image-KEY"),
        ({b"a/../0": image(0)}, "key 'a/../0' has a path with '..'; rename it"),
        ({b"/a/0": image(0)}, "key '/a/0' has an absolute path; rename it"),
        ({b"a\n/0": image(0)}, r"key 'a\n/0' has a control character; rename it"),
        ({b"a.jpg": image(0), b"a.cls": b"\0\1"}, "'a.cls' is no text of a label (begins with 00 "),
        ({b"a.jpg": image(0), b"a.cls": b"1" * 5000}, "'a.cls' is no text of a label (begins with"),
        ({b"a.jpg": image(0), b"a.cls": b""}, "'a.cls' is no text of a label (begins with"),
        ({b"a.jpg": image(0), b"a.cls": b"9999999"}, "label 9999999 is no class number (want 0 to"),
    ],
)  # fmt: skip
def test_keys_and_values_that_are_no_data_set(tmp_path, items, error):
    text = refused(write(tmp_path, items))
    assert text.startswith(f"{tmp_path}/data.mdb")
    assert error in text


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"flags": 4}, "has several values per key (flags 0x4); copy it again while nobody writes"),
        ({"root": 1 << 60}, "page 1152921504606846976 is there twice, too deep, or outside of the"),
        ({"root": 1}, "page 1 is none of the tree (flags 0x8)"),
        ({"root": 0}, "page 0 is none of the tree (flags 0x8)"),
        ({"root": 2}, "page 2 is none of the tree (flags 0x4)"),
        ({"entries": 1 << 60}, "it has 46 entries, want 1152921504606846976"),
        ({"magic": 7}, "is no LMDB file of version 1 (magic 0x7, version 1); copy it again"),
        ({"page": 1 << 20}, "pages have 1048576 bytes"),
        ({"page": 0}, "pages have 0 bytes"),
        ({"page": 4095}, "pages have 4095 bytes"),
    ],
)
def test_first_pages_that_lie(tmp_path, changed, error):
    text = refused(write(tmp_path, PAIRS, **changed))
    assert text.startswith(f"{tmp_path}/data.mdb: ")
    assert error in text


def tree(tmp_path, *pages, entries=1):
    """A file with these pages below its first two; the root is the first."""
    head = meta(0, 2, entries, 1) + meta(1, 2, entries, 0)
    (tmp_path / "data.mdb").write_bytes(head + b"".join(pages))
    return tmp_path


ONE = struct.pack("<Q", 1)
# Nodes within the keys of others: what they say is more than the page
OVERLAP = struct.pack("<QHHHH3H", 2, 0, LEAF, 22, 22, 2100, 2200, 2300).ljust(2100, b"\0")
for LENGTH in (1900, 1800, 1700):
    OVERLAP += struct.pack("<HHHH", 0, 0, 0, LENGTH).ljust(100, b"k")
OVERLAP = OVERLAP.ljust(PAGE, b"k")


@pytest.mark.parametrize(
    ("pages", "error"),
    [
        ([page(2, BRANCH, [branch(b"", 2)])], "page 2 is there twice, too deep, or outside of the"),
        ([page(2, BRANCH, [branch(b"", 1 << 40)])], "page 1099511627776 is there twice, too deep"),
        ([page(2 + n, BRANCH, [branch(b"", 3 + n)]) for n in range(40)], "page 35 is there twice,"),
        ([page(3, LEAF, [node(b"k", b"v")])], "page 2 is none of the tree (flags 0x2)"),
        ([page(2, LEAF | 0x20, [node(b"k", b"v")])], "page 2 is none of the tree (flags 0x22)"),
        ([page(2, LEAF, [node(b"k", b"v", 2)])], "has a database of its own, or several values, u"),
        ([page(2, LEAF, [node(b"k", b"v", 0, 9)])], "page 2 has nodes outside of it"),
        ([page(2, LEAF, [node(b"k", b"", 1, 9)])], "page 2 has nodes outside of it"),
        ([page(2, LEAF, [node(b"k", ONE, 1, 1 << 30)])], "the value of b'k' ends at byte 10737459"),
        ([page(2, LEAF, [node(b"k", b"\xff" * 8, 1, 1)])], "the value of b'k' ends at byte 755578"),
        ([page(2, LEAF, [node(b"k", b"v")] * 2)], "has the key 'k' twice; copy it again while nob"),
        ([OVERLAP], "page 2 has nodes that overlap"),
        ([page(2, LEAF, [node(b"k", b"v")])[:-1]], "page 2 is there twice, too deep, or outside o"),
        ([struct.pack("<QHHHH", 2, 0, LEAF, 18, 18).ljust(PAGE, b"\xff")], "page 2 has nodes outs"),
        ([struct.pack("<QHHHH", 2, 0, LEAF, 17, 18).ljust(PAGE)], "page 2 is none of the tree"),
        ([struct.pack("<QHHHH", 2, 0, LEAF, 18, 65535).ljust(PAGE)], "page 2 is none of the tree"),
    ],
)  # fmt: skip
def test_pages_that_lie(tmp_path, pages, error):
    text = refused(tree(tmp_path, *pages))
    assert text.startswith(f"{tmp_path}/data.mdb: ")
    assert error in text


def test_the_page_of_the_later_transaction_counts(tmp_path):
    path = write(tmp_path, FILES)
    whole = bytearray((path / "data.mdb").read_bytes())
    first, second = whole[:PAGE], whole[PAGE : 2 * PAGE]
    (path / "data.mdb").write_bytes(second + first + whole[2 * PAGE :])
    assert len(fastload.open(path)) == COUNT


def test_what_is_no_file_of_lmdb(tmp_path):
    for data in (b"", b"x" * 100, b"x" * 5000):
        (tmp_path / "data.mdb").write_bytes(data)
        assert refused(tmp_path).startswith(f"{tmp_path}/data.mdb: is no LMDB file")
    (tmp_path / "data.mdb").unlink()
    os.mkfifo(tmp_path / "data.mdb")
    assert refused(tmp_path) == (
        f"{tmp_path}/data.mdb: cannot be read (Not a regular file); restore it, or make it readable"
    )


SMALL = database({b"%d/%d" % (n % 3, n): b"\xff\xd8\xff" + bytes(600 * n) for n in range(40)}, 512)


@given(data=st.data())
def test_damaged_files(tmp_path_factory, data):
    whole = bytearray(SMALL)
    for _ in range(data.draw(st.integers(0, 6))):
        near = st.integers(0, 127).map(lambda at: at % 128)
        number = data.draw(st.integers(0, len(whole) // 512 - 1))
        at = 512 * number + data.draw(near | st.integers(0, 511))
        whole[at] = data.draw(st.integers(0, 255))
    whole = whole[: data.draw(st.just(len(whole)) | st.integers(0, len(whole)))]
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "data.mdb").write_bytes(bytes(whole))
    check_damaged(folder, f"{folder}/data.mdb")


def test_what_lmdb_writes_and_reads(tmp_path):
    theirs = pytest.importorskip("lmdb", reason="the package lmdb is not installed")
    many = {b"x-%07d" % number: b"%d" % number * (number % 500) for number in range(5000)}
    for name, items in {"pairs": PAIRS, "folders": FOLDERS, "many": many}.items():
        with theirs.open(str(tmp_path / name), map_size=1 << 28) as there:
            for part in (0, 1):  # the second transaction leaves pages of the first behind
                with there.begin(write=True) as transaction:
                    for number, (key, value) in enumerate(items.items()):
                        if number % 2 <= part:
                            transaction.put(key, value)
        if name != "many":
            check_same_as_a_folder(tmp_path / name, tmp_path / "images")
    with open(tmp_path / "many" / "data.mdb", "rb") as file:
        found = list(lmdb_tree.entries("many", file.fileno()))
        read = {one.key: os.pread(file.fileno(), one.size, one.offset) for one in found}
    assert read == many
    with theirs.open(str(write(tmp_path / "ours", many)), readonly=True, lock=False) as there:
        transaction = there.begin()
        assert dict(transaction.cursor()) == many
        transaction.abort()
