"""Classes of the user's that only pass the image on are looked into; those that do anything else
are not, and none is run.
"""

import pytest
import torch
from torchvision import transforms

import fastload
from fastload.lowering import forwarding, lower_transform
from tests.frameworks.helpers import Mine, made

CHAIN = transforms.Compose([transforms.RandomResizedCrop((12, 15)), transforms.ToTensor()])


class Preset:
    def __init__(self, held=CHAIN):
        self.transforms = held

    def __call__(self, img):
        """As torchvision's presets have it."""
        return self.transforms(img)


class Inherited(Preset):
    """Nothing of its own."""


class Typed:
    def __init__(self):
        self.pipeline = Preset()

    def __call__(self, x: object) -> torch.Tensor:
        return self.pipeline(x)


class Defaulted(Preset):
    def __call__(self, img=None):
        return self.transforms(img)


@pytest.mark.parametrize("kind", [Preset, Inherited, Typed, Defaulted])
def test_what_passes_on_is_what_it_holds(kind):
    assert lower_transform(kind()) == lower_transform(CHAIN)
    assert lower_transform(kind())[1] == []


class Twice(Preset):
    def __call__(self, img):
        return self.transforms(self.transforms(img))


class Keyword(Preset):
    def __call__(self, *, img):
        return self.transforms(img)


class Several(Preset):
    def __call__(self, *img):
        return self.transforms(img)


class Other(Preset):
    def __call__(self, img):
        return self.transforms.transforms(img)


class Swapped(Preset):
    def __call__(self, img):
        return img(self.transforms)


class Property(Preset):
    def __init__(self):
        self.__dict__["transforms"] = CHAIN

    @property
    def transforms(self):
        raise AssertionError("run")


class Attributes(Preset):
    def __getattribute__(self, name):
        raise AssertionError("run") if name == "transforms" else AttributeError(name)


class Missing(Preset):
    def __init__(self):
        pass

    def __getattr__(self, name):
        raise AssertionError("run")


@pytest.mark.parametrize(
    "kind",
    [Twice, Keyword, Several, Other, Swapped, Property, Attributes, Missing],
    ids=lambda kind: kind.__name__,
)
def test_what_does_anything_else_is_not_looked_into(kind):
    thing = kind()
    assert forwarding.inner(thing) is None


def test_a_closure_is_not_looked_into():
    other = CHAIN

    class Closed(Preset):
        def __call__(self, img):
            return other(img)

    assert forwarding.inner(Closed()) is None


def test_files_with_annotations_as_text(folder):
    names = {"__name__": None}
    exec(
        "from __future__ import annotations\nclass Preset:\n def __call__(self, image: str):\n  "
        "return self.held(image)",
        names,
    )
    preset = names["Preset"]()
    preset.held = CHAIN
    assert forwarding.inner(preset) is CHAIN


def test_torchvisions_lambda_is_a_function_that_nobody_sees_into():
    reason = lower_transform(transforms.Lambda(len))[1]
    assert reason == [
        ("torchvision.transforms.transforms.Lambda calls len, which fastload cannot see into")
    ]


def test_what_holds_itself_is_a_reason():
    preset = Preset()
    preset.transforms = preset
    assert lower_transform(preset) == ((), [f"{__name__}.Preset holds itself"])


def test_changes_of_what_is_held_are_seen(folder):
    loader = made("native", folder, Preset(transforms.Compose(list(CHAIN.transforms))))
    assert next(iter(loader))[0].shape == (8, 3, 12, 15)
    loader.dataset.transform.transforms.transforms[0] = transforms.RandomResizedCrop((7, 9))
    assert next(iter(loader))[0].shape == (8, 3, 7, 9)
    loader.dataset.transform.transforms = transforms.Compose(
        [transforms.Lambda(lambda _: torch.zeros(2))]
    )
    assert next(iter(loader))[0].shape == (8, 2)


class Odd:
    """Makes tensors; its attributes are no list of transforms."""

    def __init__(self, held):
        self.transforms = held

    def __call__(self, image):
        return torch.tensor([image.width, image.height])


def once():
    yield from CHAIN.transforms


@pytest.mark.parametrize(
    "held", [CHAIN, 5, once(), {"a": 1}, len, None], ids=lambda held: type(held).__name__
)
def test_a_users_transform_may_call_anything_transforms(folder, held):
    data = Mine(folder, Odd(held))
    got, want = (list(cls(data, 8)) for cls in (fastload.DataLoader, torch.utils.data.DataLoader))
    assert all(
        torch.equal(one[0], other[0]) and torch.equal(one[1], other[1])
        for one, other in zip(got, want, strict=True)
    )
    if held is not None and hasattr(held, "send"):
        assert len(list(held)) == 2  # nothing was taken of it
