"""Transforms of the image alone beside boxes: which are native, and what is seen of a change."""

import pytest
import torch
from torchvision.transforms import v2

import fastload
from tests.loader import detection_helpers as helpers
from tests.loader.detection_helpers import collate, loader


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("voc")
    helpers.write_voc(root)
    return root


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (v2.RandAugment(), "transform RandAugment warps the image, and torchvision refuses boxes"),
        (v2.RandomApply([v2.AugMix()]), "transform RandomApply warps the image, and torchvision"),
        (v2.Grayscale(1), "transform Grayscale leaves one channel, natively images have three"),
        (v2.RandomChoice([v2.Grayscale(1)]), "transform RandomChoice: holds Grayscale, which"),
        (v2.RandomApply([v2.Identity()]), "transform RandomApply: transforms is empty"),
        (v2.RandomSolarize(300), "transform RandomSolarize: threshold is 300"),
    ],
)
def test_what_is_not_native_says_why(root, part, reason):
    data = helpers.voc(root, v2.Compose([v2.ToImage(), part]))
    told = fastload.DataLoader(data, 3, collate_fn=collate).explain()
    assert told.startswith("PyTorch's own engine")
    assert reason in told


def test_a_policy_beside_boxes_raises_as_in_torchvision(root):
    """It would warp the image, and leave the boxes where they were."""
    data = helpers.voc(root, v2.Compose([v2.RandAugment(), v2.ToImage()]))
    with pytest.raises(TypeError, match="BoundingBoxes are not supported by RandAugment"):
        next(iter(fastload.DataLoader(data, 3, collate_fn=collate)))


def test_a_tensor_keeps_its_class_before_pil_to_tensor(root):
    data = helpers.voc(root, v2.Compose([v2.ToImage(), v2.PILToTensor()]))
    used = loader(data)
    assert used.explain().startswith("backend native")
    assert {type(image) for image in next(iter(used))[0]} == {type(data[0][0])}


@pytest.mark.parametrize("kind", [list, torch.nn.ModuleList])
def test_a_change_inside_a_group_is_seen(root, kind):
    inner = kind([v2.RandomInvert(0.0)])
    group = v2.RandomApply([v2.RandomApply(inner, p=1.0)], p=1.0)
    used = loader(helpers.voc(root, v2.Compose([v2.ToImage(), group])))
    plain = next(iter(used))[0][0]
    inner[0].p = 1.0
    assert torch.equal(next(iter(used))[0][0], 255 - plain)
