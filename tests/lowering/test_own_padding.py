"""A program's own transform that pads images up to a size, as torchvision's references have it."""

import numpy as np
import pytest
import torch
from torchvision import tv_tensors
from torchvision.datasets import VOCSegmentation, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

import fastload
from fastload import parity
from fastload.lowering import own_padding
from fastload.parity.setting import Setting
from tests.loader.detection_files import write_voc

COLOUR = (124, 116, 104)


class Up(v2.Transform):
    """Below and to the right."""

    def __init__(self, size, fill=0):
        super().__init__()
        self.size = size
        self.fill = v2._utils._setup_fill_arg(fill)

    def make_params(self, flat_inputs):
        height, width = v2._utils.query_size(flat_inputs)
        padding = [0, 0, max(self.size - width, 0), max(self.size - height, 0)]
        return {"padding": padding, "any": any(padding)}

    def transform(self, value, params):
        if not params["any"]:
            return value
        fill = v2._utils._get_fill(self.fill, type(value))
        return v2.functional.pad(value, padding=params["padding"], fill=fill)


class Left(v2.Transform):
    def __init__(self, size, fill=0):
        v2.Transform.__init__(self)
        self.size, self.fill = size, fill

    def make_params(self, flat_inputs):
        height, width = v2._utils.query_size(flat_inputs)
        return {"padding": [max(self.size - width, 0), max(self.size - height, 0), 0, 0]}

    def transform(self, value, params):
        return v2.functional.pad(value, padding=params["padding"], fill=self.fill)


class Random(Left):
    pass


class Drawn(v2.Transform):
    __init__, transform = Left.__init__, Left.transform

    def make_params(self, flat_inputs):
        return {"padding": [int(torch.rand(1) * self.size)] * 4}


class Further(v2.Transform):
    __init__, make_params = Left.__init__, Left.make_params

    def transform(self, value, params):
        padded = v2.functional.pad(value, padding=params["padding"], fill=self.fill)
        return v2.functional.pad(padded, padding=[0, 0, 1, 0])


class Mirrored(v2.Transform):
    __init__, make_params = Left.__init__, Left.make_params

    def transform(self, value, params):
        return v2.functional.pad(value, params["padding"], 0, "edge")


class ByLarge(v2.Transform):
    __init__, make_params = Left.__init__, Left.make_params

    def transform(self, value, params):
        fill = self.fill if v2._utils.query_size([value])[0] < 500 else 9
        return v2.functional.pad(value, padding=params["padding"], fill=fill)


class ByTuple(v2.Transform):
    __init__, make_params = Left.__init__, Left.make_params

    def transform(self, value, params):
        high = min(v2._utils.query_size([value])[0], *(400, 500))
        return v2.functional.pad(
            value, padding=params["padding"], fill=self.fill + (high > self.size)
        )


class ByInner(v2.Transform):
    __init__, make_params = Left.__init__, Left.make_params

    def transform(self, value, params):
        large = any(side > 500 for side in v2._utils.query_size([value]))
        return v2.functional.pad(value, padding=params["padding"], fill=self.fill + large)


class ByDefault(v2.Transform):
    __init__, make_params = Left.__init__, Left.make_params

    def transform(self, value, params, most=500):
        fill = self.fill + (v2._utils.query_size([value])[0] > most)
        return v2.functional.pad(value, padding=params["padding"], fill=fill)


class Patched(v2.Transform):
    __init__, make_params, transform = Left.__init__, Left.make_params, Left.transform
    _transformed_types = (tv_tensors.Mask,)


@pytest.mark.parametrize(
    ("transform", "fill"),
    [
        (Up(40, {tv_tensors.Mask: 255, "others": COLOUR}), COLOUR),
        (Up(9), (0, 0, 0)),
        (Left(33, 7), (7, 7, 7)),
    ],
)
def test_what_it_fills_with_is_known(transform, fill):
    assert own_padding.fill_of(transform) == fill


@pytest.mark.parametrize(
    "transform",
    [Random(9), Drawn(9), Further(9), Mirrored(9), Patched(9), ByLarge(9), ByTuple(9),
     ByInner(9), ByDefault(9), Left(1 << 40), Left("9"), v2.Pad(3), v2.Identity(), None],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_anything_else_is_none_of_these(transform):
    before = torch.get_rng_state()
    assert own_padding.fill_of(transform) is None
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("fill", "want"),
    [({tv_tensors.Mask: 255, "others": COLOUR}, 255), (0, 0), ({"others": [1, 2, 3]}, None)],
)
def test_what_it_fills_masks_with_is_known(fill, want):
    assert own_padding.mask_fill_of(Up(40, fill)) == want


def test_the_training_of_torchvisions_references_is_native(tmp_path):
    write_voc(tmp_path)
    train = v2.Compose([
        v2.ToImage(), v2.RandomResize(20, 80), v2.RandomHorizontalFlip(),
        Up(48, {tv_tensors.Mask: 255, "others": 0}), v2.RandomCrop(48),
        v2.ToDtype({tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None},
                   scale=True),
        v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), v2.ToPureTensor(),
    ])  # fmt: skip
    data = VOCSegmentation(str(tmp_path), image_set="train", transforms=train)
    data = wrap_dataset_for_transforms_v2(data)
    loader = fastload.DataLoader(data, 8, seed=1, shuffle=True)
    assert loader.explain().startswith("backend native")
    images, masks = next(iter(loader))
    assert (images.shape, masks.shape) == ((8, 3, 48, 48), (8, 1, 48, 48))
    assert {0, 255} < set(np.unique(masks).tolist())
    assert parity.measure(data, Setting(8, 4, 1)).largest() == 0
