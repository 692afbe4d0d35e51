"""Pascal VOC's folders: torchvision's targets, and files that are none."""

import numpy as np
import pytest
import torch

from fastload import detection
from fastload.errors import SampleError, SourceError
from tests.loader import detection_files as files
from tests.loader import detection_helpers as helpers


@pytest.fixture
def root(tmp_path):
    files.write_voc(tmp_path, 4)
    return tmp_path / "VOCdevkit" / "VOC2012"


def test_targets_are_torchvisions(root):
    want = helpers.voc(root.parent.parent, None, target_keys=["boxes", "labels"])
    found = detection.voc(root, keys=["boxes", "labels"])
    assert len(found) == len(want) == 4
    for (image, target), (want_image, wanted) in zip(found, want, strict=True):
        assert np.array_equal(np.asarray(image), np.asarray(want_image))
        assert torch.equal(target["boxes"], wanted["boxes"].float())  # whole numbers there
        assert target["boxes"].canvas_size == wanted["boxes"].canvas_size
        assert torch.equal(target["labels"], wanted["labels"])
    assert found.classes[target["labels"][0] - 1] == "dog"


def test_parts_and_other_classes(root):
    (root / "Annotations" / "001.xml").write_text(
        "<annotation><size><width>1</width></size><object><name>a</name><part><name>head</name>"
        "<bndbox><xmin>9</xmin></bndbox></part><bndbox><ymax> 4.5 </ymax><xmin>1</xmin>"
        "<ymin>2</ymin><xmax>3</xmax></bndbox></object></annotation>"
    )
    target = detection.voc(root, classes=["b", "a"])[1][1]
    assert target["image_id"] == 1
    assert (target["boxes"].tolist(), target["labels"].tolist()) == ([[1, 2, 3, 4.5]], [2])
    (root / "Annotations" / "001.xml").write_text("<annotation/>")
    assert detection.voc(root)[1][1]["boxes"].shape == (0, 4)


OBJECT = "<annotation><object><name>{}</name><bndbox>{}</bndbox></object></annotation>"
BOX = "<xmin>{}</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax>"
BAD = [
    ("<annotation>", "no element found: line 1, column 12"),
    ('<!DOCTYPE a [<!ENTITY b "c">]><annotation/>', "has a document type (want none)"),
    ("<annotation>" * 70, "has tags in more than 64 others"),
    ("<html/>", "is no annotation (got 'html', want 'annotation')"),
    ('<?xml version="1.0" encoding="none"?><annotation/>', "unknown encoding: none"),
    (OBJECT.format("x", BOX.format(1)), "object 0 is 'x' (want one of 20 classes)"),
    (OBJECT.format("dog", BOX.format(5)),
     "object 0 has no box (got xmin 5, ymin 2, xmax 3, ymax 4; want px, rising)"),
    (OBJECT.format("dog", BOX.format("nan")),
     "object 0 has no box (got xmin nan, ymin 2, xmax 3, ymax 4; want px, rising)"),
    (OBJECT.format("dog", ""),
     "object 0 has no box (got xmin , ymin , xmax , ymax ; want px, rising)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD, ids=range(len(BAD)))
def test_a_bad_file_is_one_bad_sample(root, text, said):
    path = root / "Annotations" / "002.xml"
    path.write_text(text)
    with pytest.raises(SampleError) as error:
        detection.voc(root)[2]
    assert str(error.value) == (
        f"{root}/JPEGImages/002.jpg, sample 2: its annotation cannot be read ({path}: {said}); "
        "mend or remove it"
    )


def test_lists_stay_below_the_folder(root):
    file = root / "ImageSets" / "Main" / "train.txt"
    file.write_text("000 1\n\n../../x -1\n")
    with pytest.raises(SourceError) as error:
        detection.voc(root)
    assert str(error.value).startswith(f"{file}, line 3: ")
    assert str(error.value).endswith("; name images below JPEGImages")
    file.write_text("")
    with pytest.raises(SourceError) as error:
        detection.voc(root)
    assert str(error.value) == f"{root}: no images in split 'train'; give another split"
    with pytest.raises(SourceError, match=r"ImageSets/Main/other\.txt: cannot be read"):
        detection.voc(root, "other")
    with pytest.raises(SourceError, match="split "):
        detection.voc(root, "../Segmentation/train")
