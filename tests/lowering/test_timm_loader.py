"""timm's create_loader: its loader, collate function, worker start and prefetcher, through
fastload.accelerate.
"""

import functools

import pytest
import torch
from timm.data import Mixup, create_dataset, create_loader
from timm.data.loader import MultiEpochsDataLoader, PrefetchLoader, _worker_init, fast_collate

import fastload
from fastload.loader import arguments

# timm leaves closing files to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
OPTIONS = {
    "input_size": (3, 24, 24),
    "batch_size": 8,
    "num_workers": 1,
    "device": torch.device("cpu"),
    "persistent_workers": False,
}


def made(folder, **options):
    return create_loader(create_dataset("", folder), **OPTIONS | options)


@pytest.mark.parametrize("prefetcher", [True, False])
def test_evaluation_is_the_same(folder, prefetcher):
    loader = made(folder, use_prefetcher=prefetcher, crop_pct=0.9, interpolation="bicubic")
    ours = fastload.accelerate(loader)
    inner = ours.loader if prefetcher else ours
    assert type(ours) is (PrefetchLoader if prefetcher else fastload.DataLoader)
    assert inner.explain().startswith("backend native, 1 threads")
    assert len(ours) == len(loader) == 5
    for (images, labels), (want, want_labels) in zip(ours, loader, strict=True):
        assert images.dtype == want.dtype == torch.float32
        assert torch.equal(images, want)
        assert torch.equal(labels, want_labels)
        assert labels.dtype == want_labels.dtype


@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "auto_augment": "rand-m9-mstd0.5-inc1",
            "interpolation": "random",
            "re_prob": 0.5,
            "re_mode": "pixel",
        },
    ],
    ids=["defaults", "strong"],
)
def test_training_loaders_run_natively(folder, options):
    loader = made(folder, is_training=True, **options)
    ours = fastload.accelerate(loader, seed=3)
    assert ours is not loader
    assert ours.loader is not loader.loader
    assert ours.random_erasing is loader.random_erasing
    assert ours.loader.explain().startswith("backend native, 1 threads")
    assert ours.loader.drop_last
    batches = list(ours)
    assert [images.shape for images, _ in batches] == [(8, 3, 24, 24)] * 5
    assert batches[0][0].dtype == torch.float32


def test_what_the_collate_function_would_cut_is_not_taken(folder):
    loader = made(
        folder, use_prefetcher=False, collate_fn=fast_collate
    )  # floats from the transform, uint8 from the collate function
    assert "collate_fn is <function fast_collate" in fastload.accelerate(loader).explain()
    mixing = made(folder, is_training=True, collate_fn=functools.partial(Mixup, 0.2))
    assert "collate_fn is functools.partial" in fastload.accelerate(mixing).loader.explain()


def test_only_timms_own_worker_start_is_passed_over():
    assert arguments.only_seeds(functools.partial(_worker_init, worker_seeding="all"))
    assert not arguments.only_seeds(functools.partial(_worker_init, worker_seeding=print))
    assert not arguments.only_seeds(functools.partial(print, worker_seeding="all"))
    assert arguments.only_seeds(_worker_init)


def test_loaders_with_an_iteration_of_their_own_are_refused(folder):
    loader = made(folder, is_training=True, use_multi_epochs_loader=True)
    with pytest.raises(
        fastload.UsageError,
        match=r"MultiEpochsDataLoader has its own __iter__ and __len__, which would be lost; use "
        r"it as it is$",
    ):
        fastload.accelerate(loader)
    assert isinstance(loader.loader, MultiEpochsDataLoader)
