"""Data sets whose labels are not wanted, or are none: they are converted and looked at."""

import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastload.conversion.readers import TO_LOOK, Choice, open_reader
from fastload.errors import SourceError
from tests.conversion.archives import zip_of
from tests.conversion.conftest import convert_to, encode, write_tree
from tests.unit.mds_files import described, shard, write

NONE = Choice(labels="none")
COLUMNS = (("image", "jpeg", None), ("label", "int", 8))


def mds(root, labels):
    rows = [(encode(8, 13, n), struct.pack("<q", label)) for n, label in enumerate(labels)]
    listed = [described("0.mds", len(rows), COLUMNS)]
    return write(root, {"0.mds": shard(rows, COLUMNS)}, listed)


def tree(root):
    return write_tree(root, {"cat/1.jpg": encode(8, 13), "dog/2.jpg": encode(8, 13, 1)})


def to(format):
    def made(root):
        out = f"{root}.{format}"
        convert_to(tree(root), out, format)
        return out

    return made


def table(root, **columns):
    root.mkdir()
    pq.write_table(pa.table({"image": [encode(8, 13)] * 2, **columns}), root / "a.parquet")
    return root / "a.parquet"


def listed(root):
    write_tree(root, {"list.csv": b"path\n1.jpg\n2.jpg\n"})
    return write_tree(root, {f"{n}.jpg": encode(8, 13, n) for n in (1, 2)}) / "list.csv"


def zipped(root):
    return zip_of(f"{root}.zip", *((f"{n}.jpg", encode(8, 13, n)) for n in (1, 2)))


LABELLED = {
    "folder": tree, "shards": to("shards"), "beton": to("beton"), "webdataset": to("webdataset"),
    "mds": lambda root: mds(root, [0, 3]), "parquet": to("parquet"),
}  # fmt: skip
WITHOUT = {
    "column": table, "list": listed, "zip": zipped, "mds": lambda root: mds(root, [-1, 3]),
    "missing": lambda root: table(root, label=[-1, -1]),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*LABELLED, *WITHOUT])
def test_no_labels_are_taken(tmp_path, kind):
    reader = open_reader(str({**LABELLED, **WITHOUT}[kind](tmp_path / "in")), NONE)
    assert (reader.classes, reader.labels.tolist()) == (("unlabelled",), [0, 0])
    assert len(set(reader.keys)) == 2


@pytest.mark.parametrize("kind", WITHOUT)
def test_inspect_and_verify_need_no_labels(tmp_path, kind):
    """They have no --labels, which conversions ask for."""
    path = str(WITHOUT[kind](tmp_path / "in"))
    assert open_reader(path, TO_LOOK).classes == ("unlabelled",)
    with pytest.raises(SourceError, match=r"or pass --labels none$"):
        open_reader(path)


def test_some_labels_are_no_reason_to_look_away(tmp_path):
    path = table(tmp_path / "in", label=[-1, 0])
    with pytest.raises(SourceError, match="1 of 2 rows have no label"):
        open_reader(str(path), TO_LOOK)


def test_which_numbers_are_wanted_is_told(tmp_path):
    where = mds(tmp_path / "in", [-1, 3])
    with pytest.raises(SourceError) as raised:
        open_reader(str(where))
    assert str(raised.value) == (
        f"{where}: labels are no class numbers (got -1 to 3, want 0 to 1048575); correct the data "
        "set, or pass --labels none"
    )
