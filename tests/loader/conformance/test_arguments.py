"""The constructor: names, defaults, errors in torch's words, and what the attributes are
afterwards.
"""

import inspect
import re

import pytest
import torch
import torch.utils.data
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

import fastload

from .kinds import Numbers, Stream

NUMBERS = Numbers()
TORCHS = inspect.signature(torch.utils.data.DataLoader.__init__).parameters
OURS = inspect.signature(fastload.DataLoader.__init__).parameters


def test_every_argument_of_torchs_stands_where_it_does_in_torch():
    shared = [name for name in OURS if name in TORCHS]
    assert shared == list(TORCHS)
    assert [(OURS[name].default, OURS[name].kind) for name in shared] == [
        (one.default, one.kind) for one in TORCHS.values()
    ]
    assert {OURS[name].kind for name in set(OURS) - set(TORCHS)} == {inspect.Parameter.KEYWORD_ONLY}


BAD = [
    (
        {"num_workers": -1},
        ValueError,
        "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
    ),
    ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
    (
        {"prefetch_factor": 2},
        ValueError,
        (
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        ),
    ),
    (
        {"num_workers": 1, "prefetch_factor": -2},
        ValueError,
        "prefetch_factor option should be non-negative",
    ),
    ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
    (
        {"batch_size": 0},
        ValueError,
        "batch_size should be a positive integer value, but got batch_size=0",
    ),
    (
        {"batch_size": 2.5},
        ValueError,
        "batch_size should be a positive integer value, but got batch_size=2.5",
    ),
    (
        {"batch_size": True},
        ValueError,
        "batch_size should be a positive integer value, but got batch_size=True",
    ),
    ({"drop_last": 1}, ValueError, "drop_last should be a boolean value, but got drop_last=1"),
    (
        {"shuffle": True, "sampler": [1]},
        ValueError,
        "sampler option is mutually exclusive with shuffle",
    ),
    *(
        (
            {"batch_sampler": [[1]], **other},
            ValueError,
            (
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                "drop_last"
            ),
        )
        for other in ({"batch_size": 2}, {"shuffle": True}, {"sampler": [1]}, {"drop_last": True})
    ),
    (
        {"batch_size": None, "drop_last": True},
        ValueError,
        "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
    ),
    (
        {"multiprocessing_context": "fork"},
        ValueError,
        (
            "multiprocessing_context can only be used with multi-process loading (num_workers > "
            "0), but got num_workers=0"
        ),
    ),
    (
        {"num_workers": 1, "multiprocessing_context": "knife"},
        ValueError,
        (
            "multiprocessing_context option should specify a valid start method in "
            f"{torch.multiprocessing.get_all_start_methods()!r}, but got "
            "multiprocessing_context='knife'"
        ),
    ),
    (
        {"num_workers": 1, "multiprocessing_context": 5},
        TypeError,
        (
            "multiprocessing_context option should be a valid context object or a string "
            "specifying the start method, "
            "but got multiprocessing_context=5"
        ),
    ),
    (
        {"dataset": Stream(3), "shuffle": True},
        ValueError,
        (
            "DataLoader with IterableDataset: expected unspecified shuffle option, but got "
            "shuffle=True"
        ),
    ),
    (
        {"dataset": Stream(3), "sampler": [1]},
        ValueError,
        "DataLoader with IterableDataset: expected unspecified sampler option, but got sampler=[1]",
    ),
    (
        {"dataset": Stream(3), "batch_sampler": [[1]]},
        ValueError,
        (
            "DataLoader with IterableDataset: expected unspecified batch_sampler option, but got "
            "batch_sampler=[[1]]"
        ),
    ),
    (
        {"dataset": Numbers(0), "shuffle": True},
        ValueError,
        "num_samples should be a positive integer value, but got num_samples=0",
    ),
]


@pytest.mark.parametrize(("arguments", "error", "text"), BAD, ids=lambda value: str(value)[:40])
def test_wrong_arguments(cls, arguments, error, text):
    with pytest.raises(error) as caught:
        cls(**{"dataset": NUMBERS, **arguments})
    assert str(caught.value) == text


def test_an_unknown_argument(cls):
    text = "DataLoader.__init__() got an unexpected keyword argument 'batchsize'"
    hint = ". Did you mean 'batch_size'?"  # of Python, since 3.13
    with pytest.raises(TypeError) as caught:
        cls(NUMBERS, batchsize=3)
    assert str(caught.value).removesuffix(hint) == text


def test_a_loader_without_workers_has_no_timeout(kind, folder):
    with pytest.raises(AssertionError) as theirs:
        iter(torch.utils.data.DataLoader(NUMBERS, timeout=5))
    with pytest.raises(AssertionError) as caught:
        iter(
            kind.make(folder, timeout=5)
            if kind.name != "native"
            else kind.loader(kind.images(folder), timeout=5)
        )
    assert str(caught.value) == str(theirs.value)  # none before torch 2.5


def test_defaults(kind, folder):
    loader = kind.make(folder)
    assert type(loader.sampler) is SequentialSampler
    assert type(loader.batch_sampler) is BatchSampler
    found = {
        name: getattr(loader, name)
        for name in TORCHS
        if name in vars(loader) and name not in ("sampler", "batch_sampler", "dataset")
    }
    assert found == {name: one.default for name, one in TORCHS.items() if name in found} | {
        "collate_fn": torch.utils.data.default_collate
    }
    assert loader.multiprocessing_context is None
    assert loader._iterator is None


def test_attributes_are_what_was_given(kind, folder):
    generator, init = torch.Generator(), print
    loader = kind.loader(
        kind.images(folder),
        4,
        True,
        None,
        None,
        1,
        len,
        False,
        True,
        3.5,
        init,
        "fork",
        generator,
        persistent_workers=True,
    )
    assert (loader.batch_size, loader.num_workers, loader.drop_last, loader.timeout) == (
        4,
        1,
        True,
        3.5,
    )
    assert (loader.collate_fn, loader.worker_init_fn, loader.generator) == (len, init, generator)
    assert (
        loader.prefetch_factor,
        loader.persistent_workers,
        loader.pin_memory,
        loader.pin_memory_device,
    ) == (2, True, False, "")
    assert loader.multiprocessing_context.get_start_method() == "fork"
    assert type(loader.sampler) is RandomSampler
    assert loader.sampler.generator is generator
    assert loader.batch_sampler.sampler is loader.sampler


def test_batch_samplers_and_no_batches(kind, folder):
    batches = [[1, 2], [3]]
    loader = kind.make(folder, batch_sampler=batches)
    assert (loader.batch_size, loader.drop_last, loader.batch_sampler) == (None, False, batches)
    single = kind.loader(kind.images(folder), None)
    assert (single.batch_size, single.batch_sampler, single.collate_fn) == (
        None,
        None,
        torch.utils.data.default_convert,
    )


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_attributes_that_stay(kind, folder, name):
    loader = kind.make(folder)
    with pytest.raises(
        ValueError, match=rf"^{name} attribute should not be set after DataLoader is initialized$"
    ):
        setattr(loader, name, 3)


def test_the_context_is_checked_when_it_is_set_later(kind, folder):
    loader = kind.make(folder, num_workers=1)
    with pytest.raises(ValueError, match="should specify a valid start method"):
        loader.multiprocessing_context = "knife"
    loader.multiprocessing_context = "fork"
    assert len(list(loader)) == 40


@pytest.mark.parametrize(
    ("arguments", "length"),
    [
        ({}, 40),
        ({"batch_size": 7}, 6),
        ({"batch_size": 7, "drop_last": True}, 5),
        ({"batch_size": 64}, 1),
        ({"batch_size": 64, "drop_last": True}, 0),
        ({"batch_size": None}, 40),
        ({"sampler": [3, 4, 5], "batch_size": 2}, 2),
        ({"batch_sampler": [[1], [2, 3]]}, 2),
        ({"shuffle": True, "batch_size": 3}, 14),
    ],
    ids=str,
)
def test_length(kind, folder, arguments, length):
    loader = kind.loader(kind.images(folder), **arguments)
    assert len(loader) == length
    assert len(list(loader)) == length


def test_a_sampler_without_a_length(kind, folder):
    loader = kind.make(folder, 2, sampler=iter([1, 2, 3]))
    with pytest.raises(TypeError, match=re.escape("has no len()")):
        len(loader)
    assert [len(labels) for _, labels in loader] == [2, 1]


def test_it_is_a_loader_and_a_generic(kind, folder):
    assert isinstance(kind.make(folder), torch.utils.data.DataLoader)
    assert kind.loader[int] is not None


def test_the_number_of_workers_may_be_too_large(kind, folder, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    if kind.name == "native":
        assert kind.differs("no processes")
        assert len(list(kind.make(folder, num_workers=3))) == 40
        return
    with pytest.warns(
        UserWarning,
        match=r"^This DataLoader will create 3 worker processes in total\. Our suggested max "
        r"number of worker",
    ):
        kind.loader(kind.images(folder), num_workers=3)
