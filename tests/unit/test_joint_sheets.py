"""Boxes, masks and keypoints on pictures."""

import numpy as np
import pytest
import torch
from torchvision import tv_tensors

import fastload
from fastload.sheets import joint
from fastload.sheets.joint import colour, pictured
from tests import keypoints
from tests.loader import detection_helpers as helpers

GREY = np.full((40, 60, 3), 128, np.uint8)


def test_a_box_and_a_mask_have_the_colour_of_their_instance():
    masks = torch.zeros((2, 40, 60), dtype=torch.uint8)
    masks[1, 20:30, 40:50] = 1
    target = {
        "boxes": tv_tensors.BoundingBoxes(
            torch.tensor([[5, 6, 10, 9], [38, 18, 14, 14]]), format="XYWH", canvas_size=(40, 60)
        ),
        "masks": tv_tensors.Mask(masks),
    }
    image = np.asarray(pictured(GREY, target, 60))
    assert image[6, 8].tolist() == image[10, 5].tolist() == list(colour(0))
    assert image[18, 40].tolist() == list(colour(1))
    inside, outside = image[25, 45].astype(int), image[35, 20]
    assert outside.tolist() == [128] * 3
    assert np.abs(inside - colour(1)).sum() < np.abs(128 - np.array(colour(1))).sum()


@keypoints.needed
def test_plain_tensors_and_keypoints_are_drawn_in_smaller_pictures():
    points = tv_tensors.KeyPoints(torch.tensor([[[30.0, 20.0]]]), canvas_size=(40, 60))
    target = {"boxes": torch.tensor([[0.0, 0.0, 60.0, 40.0]]), "points": points}
    image = np.asarray(pictured(GREY, target, 30))
    assert image.shape == (20, 30, 3)
    assert image[0, 15].tolist() == image[19, 15].tolist() == image[10, 15].tolist()
    assert image[10, 15].tolist() == list(colour(0))


def test_show_says_what_was_drawn(tmp_path):
    helpers.write_voc(tmp_path)
    data = helpers.voc(tmp_path, helpers.preset("ssd"))
    loader = fastload.DataLoader(data, 2, shuffle=True, seed=4)
    shown = fastload.show(loader, n=3)
    assert repr(shown) == "fastload.show: 3 images"
    said = [line for card in shown.contents.cards for line in card.lines]
    assert any(line.startswith("RandomZoomOut: padding [") for line in said)
    assert any(line == "RandomHorizontalFlip: not drawn" for line in said)
    assert "boxes" in shown.contents.cards[0].subtitle
    assert shown.image.width > 200


@pytest.mark.parametrize(
    ("boxes", "want"),
    [
        (torch.tensor([[4.0, 2.0, 14.0, 8.0]]), [[4, 2, 14, 8]]),
        (torch.tensor([[4.0, 2.0, 14.0, 3.0, 13.0, 9.0, 3.0, 8.0]]), [[3, 2, 14, 9]]),
        (torch.tensor([[9.0, 5.0, 10.0, 6.0, 90.0]]), []),  # nobody says what the five are
    ],
)
def test_boxes_of_other_forms_are_drawn_as_what_is_around_them(boxes, want):
    found = [box for _, some in joint._corners({"boxes": boxes}) for box in some]
    assert found == want


def test_an_empty_list_of_boxes_has_none():
    boxes = tv_tensors.BoundingBoxes(torch.tensor([]), format="XYXY", canvas_size=(20, 30))
    assert list(joint._corners({"boxes": boxes})) == []


def test_turned_boxes_are_drawn_as_what_is_around_them():
    if not hasattr(tv_tensors.BoundingBoxFormat, "CXCYWHR"):
        pytest.skip("torchvision is older than 0.23, which has no turned boxes")
    boxes = tv_tensors.BoundingBoxes(
        [[9.0, 5.0, 10.0, 6.0, 90.0]], format="CXCYWHR", canvas_size=(20, 30)
    )
    ((_, found),) = joint._corners({"boxes": boxes})
    assert torch.allclose(torch.tensor(found), torch.tensor([[6.0, 0.0, 12.0, 10.0]]), atol=1e-4)
