"""What a loader has looked at is looked at again: by identity, with everything kept."""

import copy
import pickle
import random

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from fastload import _native
from fastload.lowering import Marks, lower, watched
from fastload.lowering.marks import Equal, Live


class Odd:
    """An item whose comparisons say yes to everything, or raise."""

    def __eq__(self, other):
        raise RuntimeError("asked")

    __hash__ = None


def test_lists_are_compared_by_identity():
    one, odd = (1, 2), Odd()
    assert _native.same_items([], [])
    assert _native.same_items([one, odd, 1, None], [one, odd, 1, None])
    assert not _native.same_items([odd], [Odd()])
    assert not _native.same_items([1], [True])
    assert not _native.same_items([300, 1], [300])
    assert not _native.same_items([(one, 2)], [(one, 2)])
    assert _native.same_items([[one, 5]], [[one, 5]])
    assert not _native.same_items([[one, 5]], [[one, 5, 6]])
    assert not _native.same_items([[[1]]], [[[1]]])  # one level of lists is enough: rows
    assert not _native.same_items([[1]], [(1,)])
    with pytest.raises(TypeError):
        _native.same_items([1], (1,))


def test_rows_are_compared_by_identity():
    one, odd = (1, 2), Odd()
    assert _native.same_rows([], [])
    assert _native.same_rows([(one, odd), (), (5,)], [[one, odd], [], [5]])
    assert not _native.same_rows([(odd,)], [[Odd()]])
    assert not _native.same_rows([(one, 5)], [[5, one]])
    assert not _native.same_rows([(one,)], [[one, 6]])
    assert not _native.same_rows([(one,)], [[one], [one]])
    assert not _native.same_rows([(one,)], [(one,)])  # was a list
    with pytest.raises(TypeError, match="held: want rows that are tuples"):
        _native.same_rows([[one]], [[one]])


def changes():
    """Of a value: what it is made by, and what changes it in place."""
    row = [["a", 1], ["b", 2]]
    yield "list", ["a", "b"], lambda it: it.__setitem__(0, "c")
    yield "order", ["a", "b"], lambda it: it.reverse()
    yield "length", ["a"], lambda it: it.append("b")
    yield "row", row, lambda it: it[1].__setitem__(1, 3)
    yield "row's kind", [["a", 1]], lambda it: it.__setitem__(0, tuple(it[0]))
    yield "row among others", [["a", 1], ("c", 3)], lambda it: it[0].__setitem__(1, 3)
    yield "array", np.arange(5), lambda it: it.__iadd__(1)
    yield "strided", np.arange(10)[::2], lambda it: it.__setitem__(-1, 0)
    yield "tensor", torch.arange(5), lambda it: it.neg_()
    yield "through numpy", torch.arange(5), lambda it: it.numpy().__setitem__(2, 7)
    yield "view of a tensor", torch.arange(6).view(2, 3), lambda it: it.t_()
    yield "live", Live(torch.zeros(4)), lambda it: it.value.resize_(9)


@pytest.mark.parametrize(
    ("value", "change"), [pytest.param(*rest, id=name) for name, *rest in changes()]
)
def test_a_change_in_place_is_seen(value, change):
    marks = Marks([None, value])
    assert marks.fit([None, value])
    assert marks.fit([None, value])
    change(value)
    assert not marks.fit([None, value])
    assert Marks([value]).fit([value])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1, True),
        (1, 1.0),
        (0.0, None),
        ("a", b"a"),
        (range(3), range(4)),
        ([1], (1,)),
        ([1], None),
        (np.arange(3), [0, 1, 2]),
    ],
    ids=str,
)
def test_values_that_are_equal_only_in_number_are_others(before, after):
    assert Marks([before]).fit([before])
    assert not Marks([before]).fit([after])
    assert not Marks([after]).fit([before])
    assert not Marks([before]).fit([before, before])


def test_types_of_arrays_count():
    whole = np.arange(4)
    assert not Marks([whole]).fit([whole.astype(np.int32)])
    assert not Marks([whole]).fit([whole.reshape(2, 2)])
    assert not Marks([whole]).fit([torch.arange(4)])
    assert Marks([whole]).fit([whole.copy()])
    assert not Marks([np.array([[1, 2]], object)]).fit([np.array([[1, 2]], object)])


def test_an_address_is_never_anothers():
    """CPython gives the place of a dropped object to the next one of its size."""
    held = {"samples": ("a", 1)}
    marks = Marks([held["samples"]])
    for number in range(1000):
        held["samples"] = ("b", number)
        assert not marks.fit([held["samples"]])


def test_our_own_values_are_compared_as_values():
    assert Marks([Equal((1, "a"))]).fit([Equal((1, "a"))])
    assert not Marks([Equal((1, "a"))]).fit([Equal((1, "b"))])
    assert not Marks([Equal(torch.zeros(2))]).fit([Equal(torch.zeros(2))])  # no answer is no


def test_copies_know_nothing():
    for copied in (
        copy.deepcopy(Marks([[1]])),
        pickle.loads(pickle.dumps(Marks([Equal(test_copies_know_nothing)]))),
    ):
        assert not copied.fit([[1]])


def test_a_data_set_that_holds_itself_or_lacks_what_it_needs_is_not_read(folder):
    data = ImageFolder(folder, v2.Compose([v2.Resize((12, 15)), v2.ToImage()]))
    inside = Subset(data, [0])
    inside.dataset = inside
    assert lower(inside) == (
        None,
        ["data set torch.utils.data.dataset.Subset is not as fastload knows it: it holds itself"],
    )
    both = ConcatDataset([data])
    del both.cumulative_sizes
    text = "it raises AttributeError: 'ConcatDataset' object has no attribute 'cumulative_sizes'"
    assert lower(both)[1] == [
        f"data set torch.utils.data.dataset.ConcatDataset is not as fastload knows it: {text}"
    ]
    for broken in (inside, both):
        assert Marks(watched(broken)).fit(watched(broken))


def test_any_change_of_a_list_of_samples_is_seen(folder):
    """Random edits: a mark fits exactly as long as nothing was edited."""
    draw = random.Random(5)
    data = ImageFolder(folder, v2.Compose([v2.Resize((12, 15)), v2.ToImage()]))
    for _ in range(200):
        marks = Marks(watched(data))
        assert marks.fit(watched(data))
        before = list(data.samples)
        edit(data.samples, draw)
        same = len(before) == len(data.samples) and all(
            a is b for a, b in zip(before, data.samples, strict=True)
        )
        assert marks.fit(watched(data)) == same


def edit(samples, draw):
    a, b = (draw.randrange(len(samples)) for _ in range(2))
    match draw.randrange(6):
        case 0:
            samples[a] = (samples[a][0], draw.randrange(3))
        case 1:
            samples[a], samples[b] = samples[b], samples[a]
        case 2:
            samples.append(samples[a])
        case 3 if len(samples) > 5:
            del samples[a]
        case 4:
            samples[a:b] = samples[a:b][::-1]
        case _:
            draw.shuffle(samples)
