"""What parity says of labels, masks, and values beside images."""

import torch

from fastload.parity import targets

NONE = float("nan")


def test_labels_and_arrays():
    labels = torch.tensor([1, 2, 3])
    assert targets.problem(labels, labels.clone()) == ""
    assert targets.problem(torch.tensor([1, 5, 3]), labels) == (
        "1 of 3 targets of a batch are others"
    )
    assert (
        targets.problem(labels[:2], labels) == "targets are torch.int64 [2], want torch.int64 [3]"
    )
    rows = torch.tensor([[NONE, 1.0], [2.0, 3.0]])
    assert targets.problem(rows.clone(), rows) == ""
    assert targets.problem(rows.nan_to_num(), rows) == "1 of 2 targets of a batch are others"


def test_lists_and_dictionaries():
    want = {"txt": ["a", "b"], "own": [torch.ones(2), torch.zeros(1)], "n": torch.tensor([1, 2])}
    same = {"txt": ["a", "b"], "own": [torch.ones(2), torch.zeros(1)], "n": torch.tensor([1, 2])}
    assert targets.problem(same, want) == ""
    assert targets.problem(same | {"txt": ["a", "c"]}, want) == (
        "txt: 1 of 2 targets of a batch are others (first 'c', want 'b')"
    )
    assert targets.problem(same | {"txt": ["a"]}, want) == "txt: 1 targets of a batch, want 2"
    assert targets.problem(same | {"own": [torch.ones(2), torch.ones(1)]}, want).startswith(
        "own: 1 of 2 targets of a batch are others (first tensor([1.])"
    )
    assert targets.problem(same | {"n": [1, 2]}, want) == "n: targets are a list, want a Tensor"
    assert targets.problem({"txt": ["a", "b"]}, want) == "targets are txt, want txt, own, n"
