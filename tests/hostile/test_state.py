"""States of a loader that somebody changed: one typed line for each thing, never several for one."""

import pytest
import torch

import fastload
from fastload.errors import UsageError

WHERE = "DataLoader.load_state_dict"


def a_loader() -> fastload.DataLoader:
    return fastload.DataLoader(torch.utils.data.TensorDataset(torch.arange(12)), batch_size=3, shuffle=True, seed=1)


@pytest.mark.parametrize("name", ["sampler", "names"])
def test_texts_of_several_lines(name: str) -> None:
    loader = a_loader()
    with pytest.raises(UsageError) as refused:
        loader.load_state_dict(loader.state_dict() | {name: "a\nb"})
    assert str(refused.value) == f"{WHERE}: {name} is 'a\\nb', want one line"


@pytest.mark.parametrize("given", [None, [], "version", {"version": 1, 2: 3}, {"version": [1]}, {"version": float("nan")}], ids=repr)
def test_what_is_no_state(given: object) -> None:
    with pytest.raises(UsageError) as refused:
        a_loader().load_state_dict(given)  # type: ignore[arg-type]  # on purpose
    assert all(line.startswith(f"{WHERE}: ") for line in str(refused.value).splitlines())
