"""Programs that go wrong: the same exception types as in torch, when the batch is due, and the
epoch goes on.
"""

import re

import numpy as np
import pytest
import torch
from PIL import UnidentifiedImageError
from torchvision.datasets import ImageFolder

from fastload.errors import UnidentifiedImageSampleError

from .kinds import CLASSES, KINDS, TRANSFORM, Numbers, first, opened

WORKERS = (0, 1)


def outcomes(loader, most: int = 20) -> list[object]:
    """Per batch: how many samples it has, or the type of the exception.

    An epoch goes on behind an exception.
    """
    found: list[object] = []
    with opened(loader) as iterator:
        while len(found) < most:
            try:
                batch = next(iterator)
            except StopIteration:
                break
            except Exception as error:
                found.append(type(error))
            else:
                found.append(len(batch[1]) if isinstance(batch, list) else len(batch))
    return found


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(
    ("sampler", "want"),
    [
        ([0, 40, 1, 2], [1, IndexError, 1, 1]),
        ([-41], [IndexError]),
        ([0, "1"], [1, TypeError]),
        ([1.0, 1], [TypeError, 1]),
        ([None], [TypeError]),
    ],
    ids=str,
)
def test_an_index_that_is_none(kind, folder, workers, sampler, want):
    assert outcomes(kind.make(folder, 1, sampler=sampler, num_workers=workers)) == want


class Shifted(ImageFolder):
    """It calculates with the sample's number."""

    def __getitem__(self, index):
        path, label = self.samples[(index + 1) % len(self.samples)]
        return self.transform(self.loader(path)), label


@pytest.mark.parametrize(
    ("sampler", "error"), [([-2], IndexError), ([np.int32(2)], TypeError), ([3], None)], ids=str
)
def test_a_number_that_a_data_set_calculates_with(kind, folder, sampler, error):
    loader = kind.loader(Shifted(folder, TRANSFORM), 1, sampler=sampler)
    native = kind.name == "native" and kind.differs("number")
    if kind.name != "own":
        assert outcomes(loader) == [error if native and error else 1]


def test_the_text_of_a_bad_index(kind, folder):
    with pytest.raises(IndexError) as caught:
        first(kind.make(folder, 1, sampler=[40]))
    if kind.name == "native":
        assert kind.differs("bad index")
        assert (
            str(caught.value) == "data set: index 40 is outside (want -40 to 39); check the sampler"
        )
    else:
        assert str(caught.value) == "list index out of range"


@pytest.mark.parametrize("workers", WORKERS)
def test_batches_that_are_none(kind, folder, workers):
    loader = kind.make(folder, batch_sampler=[[0], 3, [1, 2], [99], [4]], num_workers=workers)
    assert outcomes(loader) == [1, TypeError, 2, IndexError, 1]


@pytest.mark.parametrize("workers", WORKERS)
def test_an_empty_batch(kind, folder, workers):
    assert outcomes(kind.make(folder, batch_sampler=[[0], [], [1, 2]], num_workers=workers)) == [
        1,
        IndexError,
        2,
    ]


class Failing:
    """A sampler whose generator fails on the way."""

    def __iter__(self):
        yield from [0, 1, 2]
        raise KeyError("sampler")

    def __len__(self):
        return 6


def test_a_sampler_that_fails(kind, folder):
    iterator = iter(kind.make(folder, 2, sampler=Failing()))
    assert len(next(iterator)[1]) == 2
    with pytest.raises(KeyError, match=r"^'sampler'$"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


class Lying:
    def __init__(self, indices, length):
        self.indices, self.length = indices, length

    def __iter__(self):
        return iter(self.indices)

    def __len__(self):
        return self.length


@pytest.mark.parametrize(("indices", "length"), [([1, 2], 9), ([1, 2, 3, 4], 1)])
@pytest.mark.parametrize("workers", WORKERS)
def test_a_sampler_that_lies_about_its_length(kind, folder, indices, length, workers):
    loader = kind.make(folder, 1, sampler=Lying(indices, length), num_workers=workers)
    assert len(loader) == length
    assert outcomes(loader) == [1] * len(indices)


def told(loader) -> list[str]:
    """What goes wrong with a loader: in iter(), or batch by batch."""
    try:
        return [str(outcome) for outcome in outcomes(loader)]
    except Exception as error:
        return [type(error).__name__, str(error)]


class Refusing:
    """A sampler that fails before its first index."""

    def __iter__(self):
        raise KeyError("no order")

    def __len__(self):
        return 3


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # torch's own, where iter() fails in its constructor
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(
    "given",
    [{"sampler": 5}, {"sampler": Refusing()}, {"batch_sampler": Refusing()}, {"batch_sampler": 5}],
    ids=["number", "failing", "batches failing", "batches number"],
)
def test_samplers_that_give_nothing(kind, folder, workers, given):
    assert told(kind.make(folder, num_workers=workers, **given)) == told(
        KINDS[0].make(folder, num_workers=workers, **given)
    )


@pytest.mark.parametrize("workers", WORKERS)
def test_a_data_set_that_changes_between_epochs(kind, folder, workers):
    data = kind.images(folder)
    loader = kind.loader(data, 16, num_workers=workers)
    assert outcomes(loader) == [16, 16, 8]
    del data.samples[20:]
    assert len(loader) == 2
    assert outcomes(loader) == [16, 4]
    data.samples.clear()
    assert outcomes(loader) == []


@pytest.mark.parametrize("workers", WORKERS)
def test_a_data_set_that_changes_during_an_epoch(kind, folder, workers):
    data = kind.images(folder)
    with opened(kind.loader(data, 16, num_workers=workers)) as iterator:
        next(iterator)
        del data.samples[20:]
        if workers or (kind.name == "native" and kind.differs("change")):
            assert [len(labels) for _, labels in iterator] == [16, 8]
            return
        with pytest.raises(IndexError, match=r"^list index out of range$"):
            next(iterator)


@pytest.mark.parametrize("length", [-1, 2.5, "ten"], ids=str)
def test_a_length_that_is_none(cls, length):
    class Odd(Numbers):
        def __len__(self):
            return length

    def run(one):
        try:
            return told(one(Odd(10), 4))
        except Exception as error:  # already in the constructor
            return [type(error).__name__, str(error)]

    assert run(cls) == run(CLASSES[0])
    assert "TypeError" in run(cls)[0] or "ValueError" in run(cls)[0]


@pytest.mark.parametrize(
    "data", [object(), None, 5, [1.5, 2.5]], ids=lambda data: type(data).__name__
)
def test_a_data_set_that_is_none(cls, data):
    def run(one):
        try:
            return told(one(data))
        except Exception as error:
            return [type(error).__name__, str(error)]

    assert run(cls) == run(CLASSES[0])


def test_a_data_set_that_lies_about_its_length(cls):
    class Short(Numbers):
        def __len__(self):
            return 12

    assert outcomes(cls(Short(10), 4)) == [4, 4, IndexError]


def refuse(samples):
    raise ValueError("cannot collate")


@pytest.mark.parametrize("workers", WORKERS)
def test_a_collate_that_raises(kind, folder, workers):
    loader = kind.loader(kind.images(folder), 16, collate_fn=refuse, num_workers=workers)
    assert outcomes(loader) == [ValueError] * 3
    where = (
        r"(?s)^Caught ValueError in DataLoader worker process 0\..*cannot collate"
        if workers
        else r"^cannot collate$"
    )
    with pytest.raises(ValueError, match=where):
        first(loader)


@pytest.mark.parametrize("workers", WORKERS)
def test_a_transform_that_returns_none(kind, folder, workers):
    loader = kind.loader(kind.images(folder, lambda _: None), 16, num_workers=workers)
    with pytest.raises(
        TypeError, match=re.escape("default_collate: batch must contain tensors, numpy arrays")
    ):
        first(loader)


@pytest.mark.parametrize("workers", WORKERS)
def test_images_that_cannot_be_decoded(kind, bad_folder, workers):
    root = bad_folder({"1bad.jpg": b"no image", "2worse.jpg": b""})
    loader = kind.make(root, 1, num_workers=workers)
    wanted = UnidentifiedImageSampleError if kind.name == "native" else UnidentifiedImageError
    assert issubclass(wanted, UnidentifiedImageError)
    assert outcomes(loader) == [1, wanted, wanted]
    if kind.name == "native":
        assert kind.differs("bad image")
        assert loader.stats()["bad_samples"] == 2
    whole = kind.loader(kind.images(root, TRANSFORM), 3, num_workers=workers)
    assert outcomes(whole) == [wanted]


def test_a_worker_that_dies(cls):
    class Deadly(Numbers):
        def __getitem__(self, index):
            import os

            os._exit(3)

    with pytest.raises(
        RuntimeError, match=r"^DataLoader worker \(pid\(?s?\)? \d+\) exited unexpectedly"
    ):
        first(cls(Deadly(), num_workers=1))


def test_samples_of_different_shapes(cls):
    class Ragged(Numbers):
        def __getitem__(self, index):
            return torch.zeros(index + 1)

    with pytest.raises(RuntimeError, match=r"^stack expects each tensor to be equal size"):
        first(cls(Ragged(), 2))
