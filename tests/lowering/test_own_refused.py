"""Classes of the user's whose code has a step without a meaning, or one that native draws could not
follow: each has its reason, and PyTorch's engine runs it.
"""

import math
import random
from typing import NamedTuple

import pytest
import torch
from PIL import ImageFilter, ImageOps
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import functional as F
from torchvision.transforms import v2

import fastload
from fastload.lowering import lower_transform
from tests.lowering import own_classes as own
from tests.lowering.test_own_classes import TENSOR, pictures


class Base(own.Two):
    """What a refused class of below is made of."""

    def __init__(self, held=TENSOR):
        super().__init__(held)


class Shared(Base):
    def __init__(self):
        super().__init__(v1.RandomCrop(9))

    def __call__(self, x):
        x = self.base_transform(x)
        return [v1.ToTensor()(x), v1.ToTensor()(x)]


class Size(Base):
    def __call__(self, x):
        return self.base_transform(x.resize((9, 9)))


class Sets(Base):
    def __call__(self, x):
        self.seen = x
        return self.base_transform(x)


class Twice(Base):
    def __call__(self, x):
        radius = random.uniform(0.1, 2.0)
        blurred = x.filter(ImageFilter.GaussianBlur(radius))
        return [blurred, x.filter(ImageFilter.GaussianBlur(radius))]


class OneAnswer(Base):
    """The same for both views."""

    def __call__(self, x):
        do_it = random.random() < 0.5
        first = self.base_transform(x) if do_it else x
        return [first, self.base_transform(x) if do_it else x]


class OneAnswerLater(Base):
    def __call__(self, x):
        do_it = random.random() < 0.5
        if do_it:
            x = ImageOps.invert(x)
        if not do_it:
            x = self.base_transform(x)
        return x


class FilledByChance(Base):
    def __call__(self, x):
        crops = [x]
        crops.append(x) if random.random() < 0.5 else None
        return crops


class Renamed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base_transform = TENSOR

    def _call_impl(self, *given):
        raise AssertionError("run")

    def forward(self, x):
        return self.base_transform(x)


class Listed(Base):
    """A Lambda of the second API gets each view of its own."""

    def __init__(self):
        super().__init__(v2.Lambda(lambda views: views[0]))

    def __call__(self, x):
        return self.base_transform([x, x])


class TensorRadius(Base):
    def __call__(self, x):
        return x.filter(ImageFilter.GaussianBlur(torch.rand(1)))


class FlippedTensor(Base):
    def __call__(self, x):
        return F.hflip(self.base_transform(x))


class BothChances(Base):
    def __call__(self, x):
        return x if random.random() < 0.5 and random.random() < 0.5 else self.base_transform(x)


class CalledList(Base):
    """Python cannot call a list."""

    def __init__(self):
        super().__init__([v1.CenterCrop(9), v1.ToTensor()])

    def __call__(self, x):
        y = self.base_transform(x)
        return y  # noqa: RET504  so that it does more than pass the image on


class Generator(Base):
    """A `yield` that is never reached."""

    def __call__(self, x):
        return self.base_transform(x)
        yield x


class NoChance(Base):
    p = math.nan

    def __call__(self, x):
        return x if random.random() > self.p else self.base_transform(x)


class ByChance(Base):
    def __call__(self, x):
        if random.random() < 0.5:
            return [self.base_transform(x)]
        return [self.base_transform(x), self.base_transform(x)]


class OfTensor(Base):
    def __call__(self, x):
        return self.base_transform(x).convert("RGB")


class InPlace(Base):
    def __call__(self, x):
        x = self.base_transform(x)
        changed = v1.Normalize([0.5], [0.5], inplace=True)
        return changed(x)


class InPlaceHeld(Base):
    def __init__(self):
        super().__init__(v1.PILToTensor())
        self.last = v1.Normalize([0.5], [0.5], inplace=True)

    def __call__(self, x):
        x = self.base_transform(x)
        return [x, self.last(x)]


class Helped(Base):
    def add(self, crops, x):
        if random.random() < 0.5:
            crops.append(self.base_transform(x))
        else:
            crops.append(x)

    def __call__(self, x):
        crops = []
        self.add(crops, x)
        return crops


class Looked(Base):
    @property
    def base(self):
        raise AssertionError("run")

    def __call__(self, x):
        return self.base(x)


class Found(Base):
    def __getattr__(self, name):
        raise AssertionError("run")


class Nothing(Base):
    def __call__(self, x):
        self.base_transform(x)


class Resized(v1.Resize):
    """Nothing of its own."""


class Endless(Base):
    def __call__(self, x):
        return self(x)


class Deep(Base):
    def __call__(self, x):
        for _ in range(1000):
            for _ in range(1000):
                x = self.base_transform(x)
        return x


NORMALIZE = "torchvision.transforms.transforms.Normalize"
LAMBDA = (
    f"torchvision.transforms.v2._misc.Lambda calls {__name__}.Listed.__init__.<locals>.<lambda>"
)
BOTH = "random.random() < 0.5 and random.random() < 0.5"
UNKNOWN = "is not one that fastload knows"
HINT = "; fastload.transforms.Views makes several views natively"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Shared, ": its views share a draw; give each its own"),
        (Size, f" {UNKNOWN}: it uses `x.resize`{HINT}"),
        (Sets, f" {UNKNOWN}: it sets `self.seen`{HINT}"),
        (Twice, f" {UNKNOWN}: it uses a random number twice{HINT}"),
        (OneAnswer, f" {UNKNOWN}: it uses a random number twice{HINT}"),
        (OneAnswerLater, f" {UNKNOWN}: it uses a random number twice{HINT}"),
        (FilledByChance, f" {UNKNOWN}: it fills a list by chance{HINT}"),
        (Renamed, f" {UNKNOWN}: it has its own _call_impl{HINT}"),
        (
            Listed,
            f": {LAMBDA}, which fastload cannot see into",
        ),
        (TensorRadius, f" {UNKNOWN}: it blurs by a tensor{HINT}"),
        (FlippedTensor, f" {UNKNOWN}: it calls hflip of a tensor{HINT}"),
        (BothChances, f" {UNKNOWN}: it has `{BOTH}`{HINT}"),
        (CalledList, f" {UNKNOWN}: it calls `self.base_transform(x)`{HINT}"),
        (Generator, f" {UNKNOWN}: it gives its values one by one{HINT}"),
        (NoChance, f" {UNKNOWN}: it draws of an empty range or an endless one{HINT}"),
        (ByChance, f" {UNKNOWN}: it makes different things by chance{HINT}"),
        (OfTensor, f" {UNKNOWN}: it calls convert of a tensor{HINT}"),
        (InPlace, f" {UNKNOWN}: it calls `v1.Normalize([0.5], [0.5], inplace=True)`{HINT}"),
        (InPlaceHeld, f": {NORMALIZE} has inplace=True, and changes another image"),
        (Helped, f" {UNKNOWN}: it takes a list, and draws what to do{HINT}"),
        (Looked, f" {UNKNOWN}: it reads base, which a property makes{HINT}"),
        (Found, f" {UNKNOWN}: it finds its attributes in its own way{HINT}"),
        (Nothing, " makes no image, and no list of images"),
        (Deep, f" {UNKNOWN}: it does too much to follow{HINT}"),
        (Endless, " holds itself"),
    ],
    ids=lambda it: getattr(it, "__name__", None),
)
def test_what_else_it_does_is_a_reason(kind, reason):
    assert pictures(kind()).unknown == [f"{__name__}.{kind.__name__}{reason}"]


class Named(NamedTuple):
    """A tuple that is called, and is no chain."""

    first: object
    second: object

    def __call__(self, x):
        return [self.first(x), self.second(x)]


def test_a_tuple_that_is_called_is_no_chain():
    assert pictures(Named(TENSOR, TENSOR)).unknown == [
        f"{__name__}.Named {UNKNOWN}: it finds its attributes in its own way"
    ]


def test_timms_collate_is_not_for_views(folder):
    """It would make one tensor of a tuple of views."""
    loader_module = pytest.importorskip("timm.data.loader")
    data = ImageFolder(folder, own.Pair(v1.PILToTensor(), v1.PILToTensor()))
    loader = fastload.DataLoader(data, 1, collate_fn=loader_module.fast_collate)
    assert "collate_fn is <function fast_collate" in loader.explain()
    assert next(iter(loader))[0].ndim == 4


def test_a_librarys_subclass_is_not_followed_into_the_library():
    called = "torchvision.transforms.transforms.Resize.forward"
    assert lower_transform(Resized(9))[1] == [
        f"{__name__}.Resized {UNKNOWN}: it calls {called}{HINT}"
    ]
