"""Views of which one is the other by chance share its draws: natively each view draws its own."""

import random

import pytest
from torchvision import transforms as v1

from fastload import transforms as T
from tests.lowering.test_own_classes import CROP, TENSOR, pictures

FIT = v1.CenterCrop((12, 15))
SHARED = "its views share a draw; give each its own"


def same_at_times(image):
    first = TENSOR(image)
    second = first if random.random() < 0.5 else TENSOR(image)
    return first, second


def another_at_times(image):
    first = TENSOR(image)
    second = TENSOR(image) if random.random() < 0.5 else first
    return first, second


def another_crop_at_times(image):
    """The draw is in what differs."""
    first = CROP(image)
    second = first if random.random() < 0.5 else FIT(image)
    return v1.ToTensor()(first), v1.ToTensor()(second)


@pytest.mark.parametrize("function", [same_at_times, another_at_times, another_crop_at_times])
def test_a_view_that_is_another_one_by_chance(function):
    assert pictures(function).unknown == [f"{__name__}.{function.__name__}: {SHARED}"]


def view_of(image):
    if random.random() < 0.5:
        image = v1.functional.hflip(image)
    return TENSOR(image)


def apart(image):
    """Each view has its own chance, and its own draws after it."""
    return view_of(image), view_of(image)


def test_views_with_chances_of_their_own():
    view = (T.RandomHorizontalFlip(0.5), T.RandomResizedCrop((12, 15)), T.ToTensor())
    assert pictures(apart) == ((), (view, view), None, [])


def still(image):
    """What draws nothing may be shared."""
    image = v1.CenterCrop(9)(image)
    first = v1.functional.hflip(image) if random.random() < 0.5 else image
    return v1.ToTensor()(first), v1.ToTensor()(image)


def test_what_draws_nothing_may_be_shared():
    made = pictures(still)
    assert made.unknown == []
    flip = T.RandomHorizontalFlip(0.5)
    assert made.views == (
        (T.CenterCrop(9), flip, T.ToTensor()),
        (T.CenterCrop(9), T.ToTensor()),
    )
