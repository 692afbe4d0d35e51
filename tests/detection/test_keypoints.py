"""Keypoints of COCO's structure: as targets, moved, and refused."""

import json
import re

import numpy as np
import pytest
import torch
import torchvision
from torchvision import tv_tensors
from torchvision.transforms import v2

import fastload
from fastload import detection
from fastload.errors import SampleError, UsageError
from tests import keypoints
from tests.detection.kept_helpers import convert, poses
from tests.loader.detection_helpers import collate

KEYS = ("boxes", "labels", "keypoints")


@keypoints.needed
def test_targets_are_what_the_file_says(tmp_path):
    made = poses(tmp_path)
    said = json.loads((tmp_path / "keypoints.json").read_text())["annotations"]
    for image, target in made.opened(keys=(*KEYS, "image_id")):
        own = [one["keypoints"] for one in said if one["image_id"] == target["image_id"]]
        want = np.array(own, np.float64).reshape(len(own), 3 if own else 0, 3)
        assert type(target["keypoints"]) is tv_tensors.KeyPoints
        assert target["keypoints"].canvas_size == (image.height, image.width)
        np.testing.assert_array_equal(target["keypoints"], want[..., :2].astype(np.float32))
        np.testing.assert_array_equal(target["visible"], want[..., 2])
        assert target["visible"].dtype == torch.int64


@keypoints.needed
def test_they_move_natively_as_by_torchvision(tmp_path):
    made = poses(tmp_path / "data")
    convert(made.source, tmp_path / "out", "parquet", boxes=made.boxes)
    moves = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(1), v2.Resize((40, 60))])
    data = detection.kept(tmp_path / "out", keys=KEYS, transforms=moves)
    loader = fastload.DataLoader(data, 2, collate_fn=collate)
    assert loader.explain().startswith("backend native"), loader.explain()
    found = [target for _, targets in loader for target in targets]
    for target, (_, want) in zip(found, made.opened(keys=KEYS, transforms=moves), strict=True):
        assert list(target) == [*KEYS, "visible"]
        assert all(torch.equal(target[key], want[key]) for key in want)


@keypoints.needed
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda one: one.pop("keypoints"), "object 0 has no keypoints (want x, y and visibility"),
        (lambda one: one.update(keypoints=[1, 2]), "object 0 has keypoints that are none (want x,"),
        (lambda one: one.update(keypoints=[1e9] * 9), "object 0 has keypoints that are none"),
        (lambda one: one.update(keypoints=[0] * 3), "its objects have 1 to 3 keypoints (want as"),
    ],
)
def test_others_are_bad_annotations(tmp_path, change, text):
    made = poses(tmp_path)
    file = tmp_path / "keypoints.json"
    said = json.loads(file.read_text())
    change(next(one for one in said["annotations"] if one["image_id"] == 102))  # it has three
    file.write_text(json.dumps(said))
    with pytest.raises(SampleError) as error:
        made.opened(keys=KEYS)[2]
    assert text in str(error.value)


def test_what_is_not_kept_is_said(tmp_path):
    made = poses(tmp_path / "data")
    assert convert(made.source, tmp_path / "0", boxes=made.boxes).notes == ()
    file = tmp_path / "data" / "keypoints.json"
    said = json.loads(file.read_text())
    said["annotations"][1]["caption"] = said["annotations"][2]["attributes"] = "red"
    file.write_text(json.dumps(said))
    summary = convert(made.source, tmp_path / "1", boxes=made.boxes, subset="3")
    assert summary.notes == ("annotations have more, which is not kept: attributes, caption",)


def test_an_older_torchvision_is_said(tmp_path, monkeypatch):
    monkeypatch.delattr(tv_tensors, "KeyPoints", raising=False)
    monkeypatch.setattr(torchvision, "__version__", "0.21.0")
    made = poses(tmp_path)
    want = (
        f"{tmp_path / 'keypoints.json'}: keys has keypoints, which torchvision 0.21.0 does not "
        "know (want 0.23 or newer); update torchvision"
    )
    with pytest.raises(UsageError, match=f"^{re.escape(want)}$"):
        made.opened(keys=KEYS)
    assert len(made.opened(keys=("boxes",))) > 0
