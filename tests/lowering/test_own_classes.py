"""Classes and functions of the user's are followed: each is the ops that its source says, or has a
reason.
"""

import random

import numpy as np
import pytest
import torch
import torch.utils.data
from PIL import Image, ImageFilter, ImageOps
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from fastload import transforms as T
from fastload.lowering import chain, lower_transform, reach
from fastload.transforms.blur import PillowBlur
from tests.lowering import own_classes as own

CROP = v1.RandomResizedCrop((12, 15))
OPS = (T.RandomResizedCrop((12, 15)),)
TENSOR = v1.Compose([CROP, v1.ToTensor()])
TENSOR_OPS = (*OPS, T.ToTensor())
CENTRE = v1.Compose([v1.CenterCrop(9), v1.ToTensor()])
CENTRE_OPS = (T.CenterCrop(9), T.ToTensor())
HERE = "tests.lowering.own_classes"


def pictures(transform):
    reach.refresh()
    return chain.lower_pictures(transform)


@pytest.mark.parametrize(
    ("transform", "views"),
    [
        (own.Two(TENSOR), [TENSOR_OPS] * 2),
        (own.Pair(TENSOR, CENTRE), [TENSOR_OPS, CENTRE_OPS]),
        (own.Many(TENSOR, 3), [TENSOR_OPS] * 3),
        (own.MultiCrop(TENSOR, TENSOR, CENTRE, 4), [TENSOR_OPS] * 2 + [CENTRE_OPS] * 4),
        (
            own.WeakStrong(CROP, v1.Compose([CROP, v1.RandomInvert()]), v1.ToTensor()),
            [TENSOR_OPS, (*OPS, T.RandomInvert(), T.ToTensor())],
        ),
        (v1.Compose([v1.CenterCrop(9), own.Two(v1.ToTensor())]), [CENTRE_OPS] * 2),
        (v1.Lambda(lambda x: (TENSOR(x), CENTRE(x))), [TENSOR_OPS, CENTRE_OPS]),
    ],
    ids=lambda it: type(it).__name__,
)
def test_views_of_every_writing(transform, views):
    assert pictures(transform) == ((), tuple(views), None, [])


BLUR = PillowBlur((0.1, 2.0))


@pytest.mark.parametrize(
    ("transform", "ops"),
    [
        (own.Chain(CROP, v1.ToTensor()), TENSOR_OPS),
        (own.Blur(), [T.RandomApply([BLUR], 0.5)]),
        (own.Blur(1.5), [T.RandomApply([BLUR], 1.0)]),
        (own.ScaledBlur(0.3), [T.RandomApply([BLUR], 0.3)]),
        (own.Solarize(0.2), [T.RandomApply([T.RandomSolarize(128, 1.0)], 0.2)]),
        (own.Solarize(0.2, 99), [T.RandomApply([T.RandomSolarize(99, 1.0)], 0.2)]),
        (own.Grey(0.1), [T.RandomApply([T.Grayscale(3)], 0.1)]),
        (
            own.OneOrOther(v1.RandomInvert(1.0), v1.RandomEqualize(1.0)),
            [T.RandomChoice([T.RandomInvert(1.0), T.RandomEqualize(1.0)], (0.25, 0.75))],
        ),
        (
            own.OneOrOther(CROP, v1.Compose([CROP, v1.RandomInvert(1.0)])),
            [*OPS, T.RandomApply([T.RandomInvert(1.0)], 0.75)],
        ),
        (own.Flip(0.3), [T.RandomHorizontalFlip(0.3)]),
        (own.Flip(0), []),
        (own.LastFlip(), [T.RandomVerticalFlip(0.25), T.ToTensor()]),
        (own.to_rgb, []),
        (own.rgb, []),
        (own.grey, [T.Grayscale(1)]),
        (v1.Compose([own.grey, own.to_rgb]), [T.Grayscale(3)]),
        (v1.Lambda(own.to_rgb), []),
        (v2.Lambda(own.to_rgb), []),
        (v1.RandomApply([own.Solarize(2.0)], 0.5),
         [T.RandomApply([T.RandomApply([T.RandomSolarize(128, 1.0)], 1.0)], 0.5)]),
    ],
    ids=lambda it: type(it).__name__,
)  # fmt: skip
def test_one_image_of_every_writing(transform, ops):
    assert lower_transform(transform) == (tuple(ops), [])


UNKNOWN = "is not one that fastload knows"


def test_code_without_its_source_is_not_guessed(tmp_path):
    """Made by exec; and from a file that says something else now."""
    names = {"__name__": "made_up"}
    exec("def made(image):\n  return image.convert('RGB')", names)
    assert lower_transform(names["made"])[1] == [
        f"made_up.made {UNKNOWN}: its source cannot be read"
    ]
    path = tmp_path / "changed.py"
    text = "def other(image):\n    return image.convert('{}')\n"
    path.write_text(text.format("RGB"))
    exec(compile(text.format("L"), str(path), "exec"), names)
    assert lower_transform(names["other"])[1] == [
        f"made_up.other {UNKNOWN}: its source cannot be read"
    ]


def test_two_lambdas_in_a_line_are_not_confused():
    first, second = lambda x: x.convert("L"), lambda x: x.convert("RGB")
    assert all("cannot be read" in lower_transform(each)[1][0] for each in (first, second))


@pytest.mark.parametrize(
    ("holder", "name", "transform", "text"),
    [
        (Image.Image, "convert", own.to_rgb, "PIL.Image.Image.convert"),
        (Image.Image, "filter", own.Blur(), "PIL.Image.Image.filter"),
        (ImageFilter.GaussianBlur, "filter", own.Blur(), "PIL.ImageFilter.GaussianBlur.filter"),
    ],
)
def test_a_patched_pillow_is_noticed(holder, name, transform, text, monkeypatch):
    assert lower_transform(transform)[1] == []
    monkeypatch.setattr(holder, name, lambda image, *_: image)
    assert lower_transform(transform)[1] == [
        f"{chain.type_name(transform)} {UNKNOWN}: it calls {text}, which was patched"
    ]


def test_a_patch_that_is_called_by_name_is_followed(monkeypatch):
    """As any other function of the program's."""
    monkeypatch.setattr(random, "random", lambda: 0.0)
    solarized = (T.RandomSolarize(128, 1.0),)
    assert lower_transform(own.Solarize(0.5)) == (solarized, [])
    monkeypatch.setattr(ImageOps, "solarize", lambda image, _: image)
    assert lower_transform(own.Solarize(0.5)) == ((), [])
    monkeypatch.setattr(random, "random", iter([0.0]).__next__)
    assert lower_transform(own.Solarize(0.5))[1] == [
        f"{HERE}.Solarize {UNKNOWN}: it calls `random.random()`"
    ]


def explained(loader):
    return loader.explain().splitlines()[0]


def test_later_changes_are_seen(folder, monkeypatch):
    """Of what an object holds, of its class, and of a global."""
    data = ImageFolder(folder, own.Two(TENSOR))
    loader = fastload.DataLoader(data, 4)
    views, _ = next(iter(loader))
    assert [view.shape for view in views] == [(4, 3, 12, 15)] * 2
    data.transform.base_transform = CENTRE
    assert next(iter(loader))[0][1].shape == (4, 3, 9, 9)
    monkeypatch.setattr(own.Two, "__call__", own.Many.__call__)
    data.transform.transform, data.transform.n_views = CENTRE, 3
    assert len(next(iter(loader))[0]) == 3
    assert explained(loader).startswith("backend native")
    monkeypatch.setattr(own.Two, "__call__", lambda _, image: torch.tensor(image.size))
    assert next(iter(loader))[0].shape == (4, 2)
    assert explained(loader).startswith("PyTorch's own engine")


FIXED = v1.Compose([v1.Resize((12, 15)), v1.ToTensor()])


@pytest.mark.parametrize(
    "transform",
    [
        own.Two(FIXED),
        own.Pair(FIXED, CENTRE),
        own.MultiCrop(FIXED, CENTRE, CENTRE, 2),
        v1.Compose([own.Blur(2.0, 1.3, 1.3), FIXED]),
        v1.Compose([own.Solarize(2.0), own.to_rgb, FIXED]),
        v1.Compose([v1.Resize((12, 15)), own.Blur(2.0, 31.7, 31.7), own.Grey(2.0), v1.ToTensor()]),
        v1.Compose([v1.Resize((12, 15)), own.Blur(2.0, 0.0, 0.0), own.Grey(-1), v1.ToTensor()]),
    ],
    ids=lambda it: type(it).__name__,
)
def test_natively_the_pixels_of_torch(folder, transform):
    """What draws nothing that counts is equal bit by bit, for lists and for tuples of views."""
    data = ImageFolder(folder, transform)
    ours, theirs = fastload.DataLoader(data, 4), torch.utils.data.DataLoader(data, 4)
    if not isinstance(transform, v1.Compose) or transform.transforms[-1] is not FIXED:
        assert explained(ours).startswith("backend native"), ours.explain()
    for got, want in zip(ours, theirs, strict=True):
        assert type(got[0]) is type(want[0])
        torch.testing.assert_close(got, want, rtol=0, atol=0)


def test_the_blurs_radius_is_distributed_as_pythons():
    image = Image.fromarray(np.random.default_rng(2).integers(0, 256, (24, 30, 3), np.uint8))
    blur, op = own.Blur(0.7, 0.5, 3.0), lower_transform(own.Blur(0.7, 0.5, 3.0))[0][0]
    random.seed(1)
    torch.manual_seed(1)
    spread = [
        np.array([np.asarray(make(image), float).std() for _ in range(400)]) for make in (blur, op)
    ]
    assert abs(spread[0].mean() - spread[1].mean()) < 4.5 * spread[0].std() / np.sqrt(200)
    assert 0.8 < spread[0].std() / spread[1].std() < 1.25
