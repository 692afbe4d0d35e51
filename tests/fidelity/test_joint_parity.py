"""Parity of boxes, masks and pixels with torchvision's own transforms, step by step."""

import pytest
import torch
from torchvision.datasets import VOCSegmentation, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

from fastload import parity
from fastload.joint.steps import Flip
from fastload.parity.setting import Setting
from tests.loader.detection_helpers import preset, voc, write_voc


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    where = tmp_path_factory.mktemp("parity")
    write_voc(where)
    return where


def verdicts(data, **how):
    report = parity.measure(data, Setting(4, 2, seed=3), **how)
    return report, {name: [cell.verdict for cell in cells] for name, cells in report.rows}


def test_each_step_is_torchvisions(root):
    data = voc(root, v2.Compose([*preset("ssd").transforms, v2.Identity()]))
    report, found = verdicts(data)
    assert report.reference == "torchvision"
    assert list(found) == [
        "decode", "1 RandomPhotometricDistort", "2 RandomZoomOut", "3 RandomIoUCrop",
        "4 RandomHorizontalFlip", "5 ConvertBoundingBoxFormat", "6 SanitizeBoundingBoxes",
        "7 ToPureTensor", "whole batches",
    ]  # fmt: skip
    assert set(map(tuple, found.values())) == {("bit-equal",)}


def test_masks_of_classes_are_compared_too(root):
    data = VOCSegmentation(
        str(root), image_set="train",
        transforms=v2.Compose([v2.ToImage(), v2.RandomResize(20, 60), v2.RandomCrop(
            32, pad_if_needed=True), v2.ColorJitter(0.4), v2.ToDtype(torch.float32, scale=True)]),
    )  # fmt: skip
    _, found = verdicts(wrap_dataset_for_transforms_v2(data))
    assert set(map(tuple, found.values())) == {("bit-equal",)}
    assert len(found) == 5


def test_pixels_that_differ_are_found_at_their_step(root, monkeypatch):
    monkeypatch.setattr(Flip, "move", lambda *_: None)
    report, found = verdicts(voc(root, preset("hflip")))
    assert found["decode"] == ["bit-equal"]
    assert found["1 RandomHorizontalFlip"] == found["whole batches"] == ["differs"]
    worst = report.rows[1][1][0].worst
    assert worst.got.shape == worst.want.shape
    assert (worst.got[:, ::-1] == worst.want).all()


def test_targets_that_differ_are_found_at_their_step(root, monkeypatch):
    monkeypatch.setattr(Flip, "targets", lambda *arguments: arguments[1])
    report, found = verdicts(voc(root, preset("multiscale")))
    assert found["1 RandomShortestSize"] == ["bit-equal"]
    assert found["2 RandomHorizontalFlip"] == found["whole batches"] == ["other labels"]
    (why,) = report.rows[2][1][0].why
    assert "boxes: " in why
    assert report.largest() == float("inf")


def test_other_backends_say_why_not(root):
    report, found = verdicts(voc(root, preset("hflip")), names=("native", "dali"), whole=True)
    assert found == {"whole batches": ["bit-equal", "cannot"]}
    assert report.rows[0][1][1].why == ("backend dali moves no boxes, masks and keypoints",)
