"""fastload's own keywords stand in one place: the signature and the documentation follow it."""

import dataclasses
import inspect

import pytest
import torch.utils.data

import fastload
from fastload.loader.options import OWN, LoaderOptions


def test_the_signature_has_pytorchs_arguments_and_every_option_with_its_default():
    parameters = inspect.signature(fastload.DataLoader.__init__).parameters
    theirs = inspect.signature(torch.utils.data.DataLoader.__init__).parameters
    defaults = {field.name: field.default for field in dataclasses.fields(LoaderOptions)}
    own = {name: each for name, each in parameters.items() if name not in theirs}
    own.pop("in_order", None)  # before torch 2.6
    assert {name: each.default for name, each in own.items()} == defaults
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in own.values())


def test_every_option_is_documented_and_an_attribute():
    loader = fastload.DataLoader([1, 2], seed=5, max_bad=3, bad_samples=None)
    assert loader._own == LoaderOptions(seed=5, max_bad=3)
    assert {name: getattr(loader, name) for name in OWN} == dataclasses.asdict(loader._own)
    undocumented = [name for name in OWN if name not in (fastload.DataLoader.__doc__ or "")]
    assert not undocumented


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"num_workers": 1.5}, "num_workers is 1.5, want a whole number or 'auto'"),
        ({"bad_samples": 3}, "bad_samples is 3, want the path of a file"),
    ],
)
def test_arguments_of_other_types(given, said):
    with pytest.raises(TypeError) as raised:
        fastload.DataLoader([1, 2], **given)
    assert str(raised.value) == f"DataLoader: {said}"
