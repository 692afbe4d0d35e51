"""A loader that does not run natively says so, once, in one line that can be silenced."""

import warnings
from typing import Any

import pytest
import torch
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload
from fastload import FallbackWarning

NATIVE = [transforms.RandomResizedCrop(8), transforms.ToTensor()]
UNKNOWN = transforms.Lambda(lambda image: id(image) and image)


def said(loader: Any, epochs: int = 1, action: str = "default") -> list[warnings.WarningMessage]:
    """FallbackWarnings of whole epochs."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action, FallbackWarning)
        for _ in range(epochs):
            list(loader)
    return [one for one in found if one.category is FallbackWarning]


def loader(folder: Any, *ops: Any, **options: Any) -> fastload.DataLoader[Any]:
    return fastload.DataLoader(ImageFolder(folder, transforms.Compose(ops)), 4, **options)


def test_a_native_loader_says_nothing(folder: Any) -> None:
    assert said(loader(folder, *NATIVE)) == []
    assert said(loader(folder, *NATIVE, backend="torch")) == []  # as it was asked for


def test_an_unknown_transform_is_named_once(folder: Any) -> None:
    (one,) = said(loader(folder, UNKNOWN, *NATIVE), epochs=3)
    text = str(one.message)
    assert text.startswith(
        "loader: PyTorch's own engine runs this data set, only JPEG decoding is faster: "
    )
    assert "Lambda" in text
    assert text.endswith("loader.explain() tells all, docs/pipelines.md what runs natively")
    assert "\n" not in text
    assert one.filename == __file__  # the program's line


def test_further_reasons_are_counted(folder: Any) -> None:
    (one,) = said(loader(folder, UNKNOWN, *NATIVE, UNKNOWN, collate_fn=lambda samples: samples))
    reasons = loader(folder, UNKNOWN, *NATIVE, collate_fn=list).stats()["fallbacks"]
    assert len(reasons) > 1
    assert " more); loader.explain()" in str(one.message)


def test_a_data_set_of_ones_own_is_named() -> None:
    data = torch.utils.data.TensorDataset(torch.zeros(8, 3))
    (one,) = said(fastload.DataLoader(data, 4))
    assert "TensorDataset" in str(one.message)


def test_the_torch_backend_is_named_where_native_cannot(folder: Any) -> None:
    ops = [fastload.transforms.Resize(12), fastload.transforms.Resize((8, 9))]
    (one,) = said(fastload.DataLoader(fastload.open(folder, ops), 4))
    assert str(one.message).startswith(
        "loader: the torch backend runs this data set, no faster than before: backend native "
    )


def test_it_can_be_silenced_or_made_an_error(folder: Any) -> None:
    ours = loader(folder, UNKNOWN, *NATIVE)
    assert said(ours, action="ignore") == []
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        with pytest.raises(FallbackWarning):
            iter(ours)
    assert len(list(ours)) == len(ours)  # nothing was lost by the error
