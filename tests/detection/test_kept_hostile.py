"""Objects in tars and Parquet files that anybody may have written: typed errors that name them."""

import io
import json
import tarfile

import numpy as np
import pytest
from PIL import Image
from torchvision.transforms import v2

import fastload
from fastload import detection
from fastload.conversion.readers import Choice, open_reader
from fastload.conversion.samples import BadSampleError
from fastload.detection import record
from fastload.detection.objects import Objects
from fastload.errors import ConversionError, SampleError, SourceError, UsageError
from fastload.system import limits
from tests.detection.kept_helpers import convert

BOX = {"bbox": [1, 2, 3, 4], "category": 5}
GOOD = {
    "image_id": 7, "height": 20, "width": 30, "bbox_format": "XYXY", "bbox_unit": "px",
    "objects": [BOX],
}  # fmt: skip
WANT = "4 numbers from -1e+06 to 1e+06"
BAD = [
    ({"image_id": -1}, "image_id is -1 (want a number from 0 up, or a name)"),
    ({"image_id": True}, "image_id is True (want a number from 0 up, or a name)"),
    ({"image_id": 10**30}, "image_id is a number too large (want a number from 0 up, or a name)"),
    ({"height": 0}, "height is 0 (want px, 1 to 1048576)"),
    ({"width": "30"}, "width is '30' (want px, 1 to 1048576)"),
    ({"bbox_format": "YX"}, "bbox_format is 'YX' (want XYXY, XYWH, CXCYWH)"),
    ({"bbox_format": ["XYXY"]}, "bbox_format is ['XYXY'] (want XYXY, XYWH, CXCYWH)"),
    ({"bbox_unit": "cm"}, "bbox_unit is 'cm' (want px or share)"),
    ({"objects": {"a": 1}}, "objects is an object (want a list)"),
    ({"objects": [3]}, "object 0 is 3 (want an object)"),
    ({"objects": [BOX, {**BOX, "bbox": [1, 2, 3]}]},
     f"object 1: bbox is [1, 2, 3] (want {WANT})"),
    ({"objects": [{**BOX, "bbox": [1, 2, 1e7, 4]}]},
     f"object 0: bbox is [1, 2, 10000000.0, 4] (want {WANT})"),
    ({"objects": [{**BOX, "bbox": [1, 2, float("nan"), 4]}]},
     f"object 0: bbox is [1, 2, nan, 4] (want {WANT})"),
    ({"objects": [{**BOX, "bbox": [3, 2, 1, 4]}]},
     f"object 0: bbox is [3, 2, 1, 4] (want {WANT}, left and top first)"),
    ({"bbox_format": "XYWH", "objects": [{**BOX, "bbox": [3, 2, 1, -4]}]},
     f"object 0: bbox is [3, 2, 1, -4] (want {WANT}, width and height 0 or more)"),
    ({"bbox_unit": "share"}, "object 0: bbox is [1, 2, 3, 4] (want 4 numbers from -0.01 to 1.02)"),
    ({"objects": [{**BOX, "bbox": [[1]] * 5}]}, f"object 0: bbox is 5 values (want {WANT})"),
    ({"objects": [{**BOX, "category": 1.5}]},
     "object 0: category is 1.5 (want a number from 0 up)"),
    ({"objects": [{"bbox": [1, 2, 3, 4]}]}, "object 0: category is None (want a number from 0 up)"),
    ({"objects": [{**BOX, "id": "a"}]}, "object 0: id is 'a' (want a number from 0 up)"),
    ({"objects": [{**BOX, "area": float("inf")}]}, "object 0: area is inf (want a number)"),
    ({"objects": [{**BOX, "iscrowd": 2}]}, "object 0: iscrowd is 2 (want 0 or 1)"),
    ({"objects": [{**BOX, "segmentation": [[1, "x"]]}]},
     "object 0: segmentation is 1 values (want polygons, or an RLE with size and counts)"),
    *(({"objects": [{**BOX, "segmentation": outline}]},
       "object 0: segmentation is an object (want polygons, or an RLE with size and counts)")
      for outline in (
          {"size": 3}, {"size": [20, 30], "counts": [[600]]}, {"size": [[]], "counts": "z"},
      )),
]  # fmt: skip


@pytest.mark.parametrize(("change", "text"), BAD, ids=range(len(BAD)))
def test_a_bad_value_is_named(change, text):
    record.objects_of(GOOD)
    with pytest.raises(ValueError, match="want") as error:
        record.objects_of({**GOOD, **change})
    assert str(error.value) == text


def image():
    out = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(out, "png")
    return out.getvalue()


def tars(folder, *said):
    """A WebDataset with an image and these bytes for each."""
    folder.mkdir()
    with tarfile.open(folder / "00000.tar", "w") as archive:
        for number, data in enumerate(said):
            for name, content in ((f"{number}.png", image()), (f"{number}.{record.NAME}", data)):
                one = tarfile.TarInfo(name)
                one.size = len(content)
                archive.addfile(one, io.BytesIO(content))
    return folder


def good(**change):
    return json.dumps({**GOOD, **change}).encode()


NO_KEY = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
SAID = [
    (b"{", f"detection.json is no JSON ({NO_KEY})"),
    (b"[" * 100000, "detection.json is no JSON (maximum recursion depth exceeded"),
    (b"[1]", "detection.json is no object (got [1])"),
    (good(height=21), "it is of an image of 21x30 px (got 20x30)"),
    (good(objects=[{"bbox": [0] * 4}]), "object 0: category is None (want a number from 0 up)"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "text"), SAID, ids=range(len(SAID)))
def test_a_bad_file_is_one_bad_sample_that_both_loaders_name(tmp_path, data, text):
    where = tars(tmp_path / "tars", good(), data)
    kept = detection.kept(where, transforms=v2.ToImage())
    want = f"{where}/00000.tar:1.png, sample 1: its annotation cannot be read ({text}"
    assert kept[0][1]["boxes"].tolist() == [[1, 2, 3, 4]]
    with pytest.raises(SampleError) as error:
        kept[1]
    assert str(error.value).startswith(want)
    assert str(error.value).endswith("; mend or remove it")
    with pytest.raises(SampleError) as native:
        list(fastload.DataLoader(kept, 2, collate_fn=list))
    assert str(native.value) == str(error.value)


OUTLINES = [
    ({"size": [30, 20], "counts": [600]}, "the RLE of object 0 has 30x20 px (want 20x30)"),
    ({"size": [20, 30], "counts": [1]}, "the counts of object 0 cover 1 px (want 600 px)"),
    ({"size": [20, 30], "counts": "zz"}, "the counts of object 0 are damaged (want 600 px)"),
    ({"size": [20, 30], "counts": "é"}, "the counts of object 0 are damaged (want 600 px)"),
    ([[0, 0, 9e6, 0, 9e6, 9]], "the polygon of object 0 is 1.8e+07 px long (want 4194304 at most)"),
    (None, "object 0 has no outline (want polygons or an RLE)"),
]


@pytest.mark.parametrize(("outline", "text"), OUTLINES, ids=range(len(OUTLINES)))
def test_outlines_that_no_image_has(tmp_path, outline, text):
    pytest.importorskip("pycocotools", reason="masks need pycocotools")
    where = tars(tmp_path / "tars", good(objects=[{**BOX, "segmentation": outline}]))
    assert len(detection.kept(where)[0][1]["boxes"]) == 1  # they are not looked at without masks
    with pytest.raises(SampleError) as error:
        detection.kept(where, keys=["masks"])[0]
    assert str(error.value) == (
        f"{where}/00000.tar:0.png, sample 0: its annotation cannot be read ({text}); "
        "mend or remove it"
    )


def test_lists_in_lists_are_a_bad_sample_of_a_conversion(tmp_path):
    """What Python reads in so many lists it may not be able to write."""
    deep = []
    for _ in range(5000):
        deep = [deep]
    objects = Objects(
        7, np.zeros((1, 4)), np.zeros(1, np.int64), "XYXY", False, ({"size": [], "counts": deep},)
    )
    with pytest.raises(ValueError, match="object 0: segmentation is an object"):
        record.text(objects, (20, 30))


def test_shards_are_named_with_the_key(tmp_path):
    where = tars(tmp_path / "tars", good(), good(objects=3))
    convert(where, tmp_path / "out", labels="none")
    shard = tmp_path / "out" / "shard-000000.tar"
    kept = detection.kept(tmp_path / "out")
    with pytest.raises(SampleError) as error:
        kept[1]
    assert str(error.value) == (
        f"{shard}:1, sample 1: its annotation cannot be read (objects is 3 (want a list)); mend or "
        "remove it"
    )
    shard.write_bytes(shard.read_bytes().replace(b'"category": 5', b'"category": 6'))
    with pytest.raises(SampleError, match=r"detection\.json checksum mismatch") as error:
        detection.kept(tmp_path / "out")[0]
    assert str(error.value).startswith(f"{shard}:0, sample 0: its annotation cannot be read (")


def test_a_large_file_is_not_read(tmp_path, monkeypatch):
    where = tars(tmp_path / "tars", good())
    kept = detection.kept(where)
    monkeypatch.setattr(limits, "LABELS", 100)
    size = len(good())
    with pytest.raises(SampleError) as error:
        kept[0]
    text = f"detection.json is too large (got {size} bytes, want at most 100)"
    assert text in str(error.value)


def test_without_objects_there_is_no_data_set(tmp_path):
    where = tmp_path / "train" / "cat"
    where.mkdir(parents=True)
    (where / "0.png").write_bytes(image())
    with pytest.raises(SourceError, match=r"nothing but labels is read \(target is detection.json"):
        detection.kept(tmp_path / "train")
    with pytest.raises(UsageError, match="keys has captions"):
        detection.kept(tmp_path / "train", keys=["captions"])


def table(path, **change):
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    import pyarrow.parquet as pq

    row = {"image": {"bytes": image(), "path": None}, **GOOD, **change}
    path.parent.mkdir()
    pq.write_table(pa.Table.from_pylist([row]), path)
    return path.parent


ROWS = [
    ({"objects": [{**BOX, "bbox": [3.0, 2.0, 1.0, 4.0]}]},
     f"object 0: bbox is [3.0, 2.0, 1.0, 4.0] (want {WANT}, left and top first)"),
    ({"objects": [{**BOX, "bbox": [1.0, None, 1.0, 4.0]}]},
     f"object 0: bbox is [1.0, None, 1.0, 4.0] (want {WANT})"),
    ({"objects": [{**BOX, "bbox": [1.0], "segmentation": "{"}]},
     f"segmentation is no JSON ({NO_KEY})"),
    ({"height": 0}, "height is 0 (want px, 1 to 1048576)"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "text"), ROWS, ids=range(len(ROWS)))
def test_a_bad_row_of_parquet_is_named(tmp_path, change, text):
    where = table(tmp_path / "data" / "0.parquet", **change)
    with pytest.raises(SampleError) as error:
        detection.kept(where)[0]
    assert str(error.value) == (
        f"{where}[0], sample 0: its annotation cannot be read ({text}); mend or remove it"
    )
    reader = open_reader(str(where), Choice(labels="none"))
    with pytest.raises(BadSampleError) as bad:
        reader.extras(0)
    assert str(bad.value) == f"has objects that cannot be read ({text}); mend or remove them"


def test_a_file_without_objects_leaves_those_of_others(tmp_path):
    import pyarrow.parquet as pq

    where = table(tmp_path / "data" / "0.parquet")
    pq.write_table(pq.read_table(where / "0.parquet").select(["image"]), where / "1.parquet")
    reader = open_reader(str(where), Choice(labels="none"))
    assert (reader.beside > 0).tolist() == [True, False]
    assert [len(reader.extras(sample)) for sample in range(2)] == [1, 0]


def test_columns_of_other_types_are_refused(tmp_path):
    where = table(tmp_path / "data" / "0.parquet", objects=[[1]])
    with pytest.raises(SourceError) as error:
        open_reader(str(where), Choice(labels="none"))
    assert str(error.value) == (
        f"{where}/0.parquet: column 'objects' is of type list<element: list<element: int64>> (want "
        "a list of structs, as fastload writes it); write it again, or leave the column out"
    )


def test_values_that_stand_for_too_many_are_not_read(tmp_path, monkeypatch):
    where = table(tmp_path / "data" / "0.parquet", objects=[{**BOX, "segmentation": "x"}] * 999)
    reader = open_reader(str(where), Choice(labels="none"))
    monkeypatch.setattr(limits, "PARQUET_GROUP", 100_000)
    with pytest.raises(BadSampleError) as error:
        reader.extras(0)
    assert "take too much memory (got" in str(error.value)


def test_numbers_and_names_do_not_mix_in_parquet(tmp_path):
    where = tars(tmp_path / "tars", good(), good(image_id="a"))
    with pytest.raises(ConversionError) as error:
        convert(where, tmp_path / "out", "parquet", labels="none")
    assert str(error.value) == (
        f"{tmp_path}/out: 1: its image_id is 'a' (want int64, as that of other images); give all "
        "of them numbers, or names"
    )
    assert not (tmp_path / "out").exists()
