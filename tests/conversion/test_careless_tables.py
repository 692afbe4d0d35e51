"""Tables as other programs write them: labels of all types, files that do not fit together."""

import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastload.conversion.keys import unique_keys
from fastload.conversion.readers import open_reader
from fastload.errors import SourceError
from fastload.sources import open_source
from tests.conversion.archives import refused
from tests.conversion.conftest import convert, encode

IMAGES = [encode(8, 13, number) for number in range(3)]


def write(path, names=None, **columns):
    """names: of the classes, as `datasets` says them."""
    path.parent.mkdir(exist_ok=True)
    columns = {"image": pa.array(IMAGES[: len(columns["label"])], pa.binary()), **columns}
    features = {"label": {"_type": "ClassLabel", "names": names}}
    said = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    pq.write_table(pa.table(columns).replace_schema_metadata(said if names else None), path)
    return path


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "10", "2"],
        ["b", "a", "b"],
        pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int8()), pa.array(["9", "x", "10"])),
        pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int8()), pa.array([7, 8, 3])),
        [True, True, True],
        [3, 0, 1],
    ],
)
def test_labels_are_those_of_the_table_in_place(tmp_path, labels):
    path = str(write(tmp_path / "a.parquet", label=labels))
    source, reader = open_source(path), open_reader(path)
    assert (source.labels.tolist(), source.classes) == (reader.labels.tolist(), reader.classes)


def test_whole_numbers_with_a_point(tmp_path):
    """As pandas writes a column that had gaps once: sorted as texts, 10.0 would come before 2.0."""
    reader = open_reader(str(write(tmp_path / "a.parquet", label=[1.0, 10.0, 2.0])))
    assert reader.labels.tolist() == [1, 10, 2]
    for labels, text in (
        ([1.0, float("nan"), 2.0], "1 of 3 rows have no label; remove them, or pass"),
        ([1.0, 0.5, 2.0], "label 0.5 is no whole number; correct it, or pass"),
    ):
        path = write(tmp_path / "a.parquet", label=labels)
        assert refused(path) == f"{path}: {text} --labels none"


def test_bytes_are_text(tmp_path):
    reader = open_reader(
        str(write(tmp_path / "a.parquet", label=[b"dog", b"cat", b"dog"], key=[b"x", b"y", b"z"]))
    )
    assert (reader.classes, reader.keys) == (("cat", "dog"), ["x", "y", "z"])


def test_texts_and_numbers_are_not_mixed(tmp_path):
    write(tmp_path / "d" / "0.parquet", label=[0])
    write(tmp_path / "d" / "1.parquet", label=["cat"])
    assert refused(tmp_path / "d") == (
        f"{tmp_path}/d: 1 of 2 labels are texts, and the others numbers; write all as one of these"
    )


def test_files_that_name_other_classes(tmp_path):
    first = write(tmp_path / "d" / "0.parquet", ["cat", "dog"], label=[0])
    other = write(tmp_path / "d" / "1.parquet", ["dog", "cat"], label=[0])
    text = f"{other}: its class 0 is 'dog', and in {{}} 'cat'; give files of one data set"
    assert refused(tmp_path / "d") == text.format(first)
    with pytest.raises(SourceError) as raised:
        open_source(tmp_path / "d")
    assert str(raised.value) == text.format("others")
    write(other, ["cat", "dog"], label=[0])
    assert open_source(tmp_path / "d").classes == ("cat", "dog")
    write(first, ["dog", "cat"], label=[0])  # of the other one only what was kept is known
    with pytest.raises(SourceError, match="its class 0 is 'cat', and in others 'dog'"):
        open_source(tmp_path / "d")


def test_very_many_equal_names():
    begin = time.perf_counter()
    keys = unique_keys(["image.jpg"] * 100_000)
    assert time.perf_counter() - begin < 20  # it took minutes
    assert keys[:3] + keys[-1:] == ["image", "image_2", "image_3", "image_100000"]


def test_columns_that_are_not_kept_are_named(tmp_path):
    more = {f"c{number}": ["a"] * 3 for number in range(9)}
    path = write(tmp_path / "a.parquet", label=[0, 1, 2], key=["x", "y", "z"], caption=["a"] * 3)
    assert convert(path, tmp_path / "out").notes == ("columns that are not kept: 'caption'",)
    path = write(tmp_path / "a.parquet", label=[0, 1, 2], **more)
    names = ", ".join(f"'c{number}'" for number in range(8))
    said = f"columns that are not kept: {names} and 1 more"
    assert convert(path, tmp_path / "more").notes == (said,)


def test_lists_are_neither_labels_nor_keys(tmp_path):
    path = write(tmp_path / "a.parquet", label=[0, 1, 2], id=[[1], [2], [3]])
    assert open_reader(str(path)).keys == ["0000/00000000", "0001/00000001", "0002/00000002"]
    path = write(tmp_path / "a.parquet", label=[[0], [1], [2]])
    assert refused(path).endswith("; add it, or pass --labels none")


@pytest.mark.parametrize("label", [-100, 1 << 62])
def test_numbers_that_are_no_classes(tmp_path, label):
    """As texts they would be names, and 10 would come before 2."""
    path = write(tmp_path / "a.parquet", label=[2, label, 10])
    assert refused(path) == (
        f"{path}: label {label} is no class number (want 0 to 1048575); correct the labels"
    )


def test_a_file_without_the_masks_of_others(tmp_path):
    features = {"image": {"_type": "Image"}, "mask": {"_type": "Image"}}
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    for number, names in enumerate((("image", "mask"), ("image",))):
        columns = {name: pa.array([{"bytes": IMAGES[0], "path": "x"}], kind) for name in names}
        table = pa.table({**columns, "label": [0]})
        said = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
        pq.write_table(table.replace_schema_metadata(said), tmp_path / f"{number}.parquet")
    assert refused(tmp_path) == (
        f"{tmp_path}/1.parquet: has no column mask, which {tmp_path}/0.parquet has; give files of "
        "one data set"
    )
