"""What is added of sources whose samples have no names: numbers of rows stand for them."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastload.conversion.editing import Edits
from fastload.errors import SourceError
from fastload.sources import open_source, read
from tests.conversion.conftest import convert, encode, write_tree
from tests.conversion.version_helpers import append, folder, keys, one, prints


def table(path, numbers, labels, **more):
    pq.write_table(
        pa.table({"image": pa.array(map(one, numbers), pa.binary()), "label": labels, **more}), path
    )
    return path


def samples(where):
    """Bytes and class of each."""
    source = open_source(where)
    labels = source.labels.tolist()
    return [(read(source, n), source.classes[labels[n]]) for n in range(len(source))]


def test_a_table_that_grew_by_a_class(tmp_path):
    """The new class comes first by its name, so that all others have new numbers in the source."""
    labels = ["cat", "dog", "cat", "ant"]
    convert(table(tmp_path / "a.parquet", range(3), labels[:3]), tmp_path / "out")
    done = append(table(tmp_path / "b.parquet", range(4), labels), tmp_path / "out")
    assert (done.there, done.added) == (3, 1)
    assert samples(tmp_path / "out") == list(zip(map(one, range(4)), labels, strict=True))
    assert keys(tmp_path / "out")[3] == "0002/00000003"
    again = append(tmp_path / "b.parquet", tmp_path / "out")
    assert (again.there, again.added) == (4, 0)


@pytest.mark.parametrize("form", ["table", "shards"])
def test_rows_of_another_table_are_not_those_that_are_there(tmp_path, form):
    convert(table(tmp_path / "a.parquet", range(3), [0, 1, 0]), tmp_path / "out")
    other = table(tmp_path / "b.parquet", range(3, 6), [0, 1, 0])
    if form == "shards":
        convert(other, tmp_path / "b")
        other = tmp_path / "b"
    before = prints(tmp_path / "out")
    with pytest.raises(SourceError) as raised:
        append(other, tmp_path / "out")
    assert str(raised.value) == (
        f"{other}: its samples have no names but the numbers of their rows, and '0000/00000000' is "
        f"another image than in {tmp_path}/out; give it a column 'key', or convert it by itself "
        "and mix both (fastload.mix)"
    )
    assert prints(tmp_path / "out") == before
    named = table(tmp_path / "c.parquet", range(3, 6), [0, 1, 0], key=["x", "y", "z"])
    assert append(named, tmp_path / "out").added == 3


def test_rows_that_are_changed_on_the_way_are_not_compared(tmp_path):
    path = table(tmp_path / "a.parquet", range(3), [0, 0, 0])
    convert(path, tmp_path / "out", edits=Edits(max_side=8))
    assert append(path, tmp_path / "out", edits=Edits(max_side=8)).there == 3


def test_images_that_were_changed_on_the_way_are_no_others(tmp_path):
    write_tree(tmp_path / "in", {f"c/{n}.jpg": encode(40, 60, n) for n in range(2)})
    convert(tmp_path / "in", tmp_path / "out", edits=Edits(quality=30))
    folder(tmp_path / "in", [7])
    done = append(tmp_path / "in", tmp_path / "out", edits=Edits(quality=30))
    assert (done.there, done.changed, done.added) == (2, 0, 1)


def test_a_new_file_that_takes_anothers_key_is_told(tmp_path):
    """c/a.jpg and c/a.png are c/a and c/a_2; with c/a.bmp all three move on."""
    tree = {"c/a.jpg": encode(8, 13, 1), "c/a.png": encode(8, 13, 2, format="PNG")}
    convert(write_tree(tmp_path / "in", tree), tmp_path / "out")
    assert append(tmp_path / "in", tmp_path / "out").there == 2
    write_tree(tmp_path / "in", {"c/a.bmp": encode(8, 13, 3, format="BMP")})
    with pytest.raises(SourceError) as raised:
        append(tmp_path / "in", tmp_path / "out")
    assert str(raised.value) == (
        f"{tmp_path}/in/c/a.bmp: its key 'c/a' may be that of another file before (3 files differ "
        "by their extensions alone); rename the new ones"
    )


def test_a_class_of_other_bytes_stays_one_class(tmp_path):
    (tmp_path / "in").mkdir()
    place = os.fsencode(tmp_path / "in") + b"/d\xffg"
    os.mkdir(place)
    for number in range(2):
        with open(place + b"/%d.jpg" % number, "wb") as file:
            file.write(encode(8, 13, number))
        done = [convert, append][number](tmp_path / "in", tmp_path / "out")
    assert (done.added, done.classes) == (1, 1)
    assert open_source(tmp_path / "out").classes == ("d\ufffdg",)
