"""Annotations that somebody wrote to do harm, or wrote wrongly: one line that says where."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload import detection
from fastload.detection.objects import Objects, Table, target
from fastload.detection.yolo import Lines
from fastload.errors import SampleError, SourceError, UsageError
from fastload.joint import coco
from fastload.system import limits
from tests.loader import detection_files as files


@pytest.fixture
def yolo(tmp_path):
    files.write_yolo(tmp_path, 2)
    return tmp_path


@pytest.fixture
def lvis(tmp_path):
    files.write_lvis(tmp_path, 3)
    return tmp_path


@pytest.fixture
def open_images(tmp_path):
    files.write_open_images(tmp_path, 3)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("0 nan 0.5 0.1 0.1", "got 'nan' (want a number)"),
        ("0 inf 0.5 0.1 0.1", "got 'inf' (want a number)"),
        ("0 1e30 0.5 0.1 0.1", "got '1e30' (want shares of width and height, 0 to 1)"),
        ("0 0.5 0.5 0.1 -0.001", "its box is 0.1 by -0.001 (want 0 or more)"),
        ("3 0.5 0.5 0.1 0.1", "its class is '3' (want a whole number below 3)"),
        ("0.5 0.5 0.5 0.1 0.1", "its class is '0.5' (want a whole number below 3)"),
        ("-1 0.5 0.5 0.1 0.1", "its class is '-1' (want a whole number below 3)"),
        ("x 0.5 0.5 0.1 0.1", "got 'x' (want a number)"),
        ("0 0.5 0.5", "got 3 numbers (want 5, or a class and the corners of a polygon)"),
        (
            "0 0.5 0.5 0.1 0.1 0.2",
            "got 6 numbers (want 5, or a class and the corners of a polygon)",
        ),
    ],
)
def test_a_bad_line_is_named(yolo, line, text):
    path = yolo / "labels" / "train" / "000.txt"
    path.write_text(f"1 0.5 0.5 0.1 0.1\n\n{line}\n")
    with pytest.raises(SampleError) as error:
        detection.yolo(yolo)[0]
    assert str(error.value).endswith(
        f"its annotation cannot be read ({path}, line 3: {text}); mend or remove it"
    )


def test_endless_lines_and_large_files_are_not_read(yolo, monkeypatch):
    path = yolo / "labels" / "train" / "000.txt"
    path.write_bytes(b"0" * (limits.LINE + 1))
    with pytest.raises(SampleError, match="a line is longer than 1048576 bytes"):
        detection.yolo(yolo)[0]
    with path.open("wb") as file:
        file.truncate(limits.LABELS + 1)
    with pytest.raises(SampleError, match=r"is too large \(got 16777217 bytes, want at most 16"):
        detection.yolo(yolo)[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("train: /etc", "train is '/etc' (name '/etc' has an absolute path; rename it); name a"),
        ("train: images/../../x", "has a path with '..'; rename it); name a folder below that of"),
        ("train: [3]", "train is 3 (name '' is empty; rename it); name a folder below that of"),
        ("a: &x [1]\nb: *x", "cannot be read (it has an alias (*)); mend it"),
        ("!!python/object/apply:os.getcwd []", "could not determine a constructor for the tag"),
        ("[" * 400, "data.yaml: cannot be read ("),
        ("- 1", "data.yaml: is no mapping (got list); mend it"),
        ("names: {0: a, 2: b}", "names are not numbered 0 to 1; mend it"),
        ("names: [[a]]", "names are no list of texts; mend it"),
        ("train: nothing", "nothing: is no folder of split 'train'; give a split of data.yaml"),
    ],
)
def test_a_bad_data_yaml_is_one_error(yolo, text, said):
    (yolo / "data.yaml").write_text(text)
    with pytest.raises(SourceError) as error:
        detection.yolo(yolo)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_list_of_images_stays_below_the_root(yolo):
    (yolo / "data.yaml").write_text("train: list.txt\nval: ../images/train\n")
    (yolo / "list.txt").write_text("./images/train/001.jpg\n../../etc/passwd\n")
    with pytest.raises(SourceError, match=r"list\.txt, line 2: name '../../etc/passwd' has a path"):
        detection.yolo(yolo)
    (yolo / "list.txt").write_text("./images/train/001.jpg\n")
    assert len(detection.yolo(yolo)) == 1
    assert len(detection.yolo(yolo, "val")) == 2  # Roboflow's names begin with ../
    with pytest.raises(SourceError, match=r"split name 'images/\.\./x' has a path with"):
        detection.yolo(yolo, "../x")


def test_without_data_yaml_folders_say_the_splits(yolo):
    (yolo / "data.yaml").unlink()
    data = detection.yolo(yolo)
    assert (len(data), data.classes) == (2, ())
    with pytest.raises(SourceError, match=r"images/val: is no folder of split 'val'"):
        detection.yolo(yolo, "val")
    with pytest.raises(UsageError, match=r"keys has area \(want of image_id, boxes, labels, masks"):
        detection.yolo(yolo, keys=["area"])


@settings(max_examples=60, deadline=None)
@given(data=st.lists(st.sampled_from([b"0", b"1", b"-", b".", b" ", b"\n", b"e", b"nan", b"\xff"])))
def test_any_bytes_are_objects_or_one_error(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    (folder / "1.txt").write_bytes(b"".join(data))
    try:
        found = Lines((f"{folder}/1.jpg",), 2, 0, outlines=True)(0)
    except ValueError as error:
        assert ", line " in str(error)  # noqa: PT017
    else:
        assert len(found.boxes) == len(found.labels) == len(found.outlines)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"bbox": [0, 0, float("nan"), 1]}, "annotations[0]: its bbox is [0, 0, nan, 1] (want 4"),
        ({"bbox": [0, 0, 1e30, 1]}, "annotations[0]: its bbox is [0, 0, 1e+30, 1] (want 4 numbers"),
        (
            {"bbox": [0, 0, -1, 1]},
            "annotations[0]: its bbox is [0, 0, -1, 1] (want 4 numbers: ",
        ),
        ({"bbox": [1] * 10000}, "annotations[0]: its bbox is a list of 10000 (want 4 numbers"),
        ({"bbox": ["a", 0, 1, 1]}, "annotations[0]: its bbox is ['a', 0, 1, 1] (want 4 numbers"),
        ({"bbox": None}, "annotations[0]: its bbox is None (want 4 numbers"),
        ({"category_id": 1.5}, "annotations[0]: its category_id is 1.5 (want a number from 0 up)"),
        ({"image_id": 10**30}, "annotations[0]: its image_id is a number too large (want a number"),
        ({"image_id": 5}, "annotations[0]: its image_id is 5 (want one of an image)"),
    ],
)
def test_a_bad_annotation_is_named(lvis, row, text):
    file = lvis / "lvis.json"
    known = json.loads(file.read_text())
    known["annotations"][0] |= row
    file.write_text(json.dumps(known))
    with pytest.raises(SourceError) as error:
        detection.lvis(lvis, file)
    assert f"{file}: {text}" in str(error.value)
    assert str(error.value).endswith("; mend it")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"images": [],\n "annotations": [}', ", line 2: is no JSON (Expecting value); mend it"),
        ("[" * 100_000, ": is no JSON (maximum recursion depth exceeded"),
        ("\xff", ": is no JSON ("),
        ("[1]", ": is no object (got list); mend it"),
        ("{}", ": images is no list (got NoneType); mend it"),
        ('{"images": [{"id": "1"}]}', ": images[0]: its id is '1' (want a number from 0 up); mend"),
        ('{"images": []}', ": has no images; give another file"),
        (
            '{"images": [{"id": 1, "file_name": "../x.jpg"}]}',
            ": image 1: name '../x.jpg' has a path with '..'; rename it",
        ),
        (
            '{"images": [{"id": 1, "coco_url": "http://x/../a.jpg"}]}',
            ": image 1: name '../a.jpg' has a path with '..'; rename it",
        ),
        (
            '{"images": [{"id": 1, "coco_url": "http://[/a.jpg"}]}',
            ": image 1: its coco_url is none (Invalid IPv6 URL); mend it",
        ),
        (
            json.dumps({"images": [{"id": 1, "file_name": "a"}] * 2, "annotations": []}),
            ": image id 1 is there twice; mend it",
        ),
    ],
)
def test_a_bad_json_is_one_error(tmp_path, text, said):
    file = tmp_path / "x.json"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(SourceError) as error:
        detection.lvis(tmp_path, file)
    assert f"{file}{said}" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (
            "000,x,/m/0,1,nan,0.5,0.1,0.2,0",
            "line 3: no box (got XMin nan, YMin 0.1, XMax 0.5, ",
        ),
        (
            "000,x,/m/0,1,0.6,0.5,0.1,0.2,0",
            "line 3: no box (got XMin 0.6, YMin 0.1, XMax 0.5, ",
        ),
        (
            "000,x,/m/0,1,0,900,0,0.2,0",
            "line 3: no box (got XMin 0, YMin 0, XMax 900, ",
        ),
        ("000,x,/m/0,1,,0.5,0,0.2,0", "line 3: no box (got XMin nan, YMin 0"),
        ("000,x,/m/7,1,0,0.5,0,0.2,0", "line 3: '/m/7' is none of the 2 classes; mend it, or give"),
        ("000,x,/m/0,1,a,0.5,0,0.2,0", "line 3: In CSV column #4: CSV conversion error"),
        ("000,x", "line 3: CSV parse error: Expected 9 columns, got 2: 000,x; mend it"),
    ],
)
def test_a_bad_row_is_named(open_images, row, text):
    file = open_images / "boxes.csv"
    head = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded"
    file.write_text(f"{head}\n000,x,/m/0,1,0,0.5,0,0.2,0\n{row}\n")
    with pytest.raises(SourceError) as error:
        detection.open_images(open_images / "images", file, open_images / "classes.csv")
    assert f"{file}, {text}" in str(error.value)
    assert "\n" not in str(error.value)


def test_other_files_of_open_images_that_are_bad(open_images):
    places = [open_images / name for name in ("images", "boxes.csv", "classes.csv")]
    rows = places[1].read_text().splitlines()
    rows += [rows[1]] * (2 * limits.LINE // len(rows[1]))
    places[1].write_text("\n".join([*rows, "000,x"]))
    with pytest.raises(SourceError, match=rf"boxes\.csv, line {len(rows) + 1}: CSV parse error"):
        detection.open_images(*places)
    places[1].write_text("\n".join([*rows, rows[1].replace(",1,", ",1,x")]))
    with pytest.raises(SourceError, match=rf"boxes\.csv, line {len(rows) + 1}: In CSV column #4"):
        detection.open_images(*places)
    places[1].write_text("ImageID," + "x" * (2 * limits.LINE))
    with pytest.raises(SourceError, match=r"boxes\.csv, line 2 or later: CSV parse error: Empty"):
        detection.open_images(*places)
    places[2].write_text("/m/0,Cat\n/m/0,Dog\n")
    with pytest.raises(SourceError, match=r"classes\.csv, line 2: '/m/0' is there twice; mend it"):
        detection.open_images(*places)
    places[2].write_text("/m/0\n")
    with pytest.raises(SourceError, match=r"classes\.csv, line 1: '/m/0' has no name; mend it"):
        detection.open_images(*places)


def test_an_image_whose_name_is_no_utf8_has_no_rows(open_images):
    places = [open_images / name for name in ("images", "boxes.csv", "classes.csv")]
    first = detection.open_images(*places).source.name(0)
    odd = os.fsencode(os.path.dirname(first)) + b"/\xff.jpg"
    with open(first, "rb") as image, open(odd, "wb") as copy:
        copy.write(image.read())
    data = detection.open_images(*places)
    assert [data.find(n).image_id for n in range(len(data))][-1] == "\udcff"
    assert len(data.find(len(data) - 1).boxes) == 0


def test_a_long_value_in_data_yaml_is_cut(yolo):
    (yolo / "data.yaml").write_text(f"train: [{[1] * 5000}]")
    with pytest.raises(SourceError, match=r"train is \[1, 1, ") as error:
        detection.yolo(yolo)
    assert len(str(error.value)) < len(str(yolo)) + 300


def test_masks_that_no_memory_holds_are_refused_first():
    many = [{"segmentation": [[0, 0, 1, 0, 1, 1]]}] * 3000
    with pytest.raises(ValueError, match=r"its masks are too large \(got 3000000000 bytes, want"):
        coco.check_masks(many, (1000, 1000))


def test_an_image_without_outlines_has_no_masks():
    import numpy as np

    table = Table((5,), np.array([0, 1]), np.zeros((1, 4)), np.array([2]), "XYWH")
    found = table(0)
    assert isinstance(found, Objects)
    with pytest.raises(ValueError, match="got outlines of 0 objects, want 1"):
        target(found, (4, 6), ("masks",))
    assert target(found, (4, 6), ("image_id", "labels"))["labels"].tolist() == [2]
