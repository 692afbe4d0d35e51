"""Boxes, masks and keypoints on pictures."""

import numpy as np
import torch
from torchvision import tv_tensors

import fastload
from fastload.sheets.joint import colour, pictured
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
