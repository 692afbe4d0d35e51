"""Filters that are named by texts, as torchvision 0.29 began to take them."""

import inspect

import pytest
from torchvision.transforms import v2

from fastload.lowering.filters import takes
from fastload.lowering.torchvision_ops import ops


class Old:
    def __init__(self, interpolation: object = v2.InterpolationMode.BILINEAR) -> None: ...


class New:
    def __init__(self, interpolation: object = "bilinear") -> None: ...


@pytest.mark.parametrize(
    ("transform", "text", "taken"),
    [(Old(), "bilinear", False), (New(), "bilinear", True), (New(), "BILINEAR", False)],
)
def test_a_class_whose_default_is_a_text_takes_texts(
    transform: object, text: str, taken: bool
) -> None:
    assert takes(transform, text) == taken


def test_a_text_is_the_mode_of_its_value_where_torchvision_takes_it() -> None:
    default = inspect.signature(v2.Resize).parameters["interpolation"].default

    def lowered(filter: object) -> object:
        return ops(v2.Resize(9, interpolation=filter), lambda _: ((), []))

    if isinstance(default, str):
        assert lowered("bicubic") == lowered(v2.InterpolationMode.BICUBIC)
    else:
        with pytest.raises(TypeError, match="is text, which torchvision refuses"):
            lowered("bicubic")
