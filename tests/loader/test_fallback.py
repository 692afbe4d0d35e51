"""What is not lowered runs on PyTorch's own engine, unchanged, and explain() says why."""

import pytest
import torch
from torch.utils.data import TensorDataset
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload.transforms import RandomResizedCrop
from tests.loader.explained import COMPOSE, END, own

NUMBERS = TensorDataset(torch.arange(10))


class MyFolder(ImageFolder):
    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        return -image, label


class MyResize(v1.Resize):
    pass


RESIZES_LATE = (
    "backend native cannot run this plan: op 2 (RandomResizedCrop) resizes after op 1 "
    "(CenterCrop); "
    "one resize at the start is what a record holds"
)


def chain(*parts):
    return v1.Compose([v1.RandomResizedCrop(8), *parts])


def test_other_data_sets_run_as_in_torch():
    loader = fastload.DataLoader(NUMBERS, 4, num_workers=1)
    assert isinstance(loader, torch.utils.data.DataLoader)
    assert [batch[0].tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert loader.explain() == own(
        "data set torch.utils.data.dataset.TensorDataset is not one that fastload reads "
        "(want torchvision's ImageFolder or another of docs/pipelines.md, or fastload.open)",
        workers=True,
    )


def test_an_overridden_class_is_never_lowered(folder):
    loader = fastload.DataLoader(MyFolder(folder, chain(v1.ToTensor())), 4)
    assert "test_fallback.MyFolder is not one that fastload can follow" in loader.explain()
    assert next(iter(loader))[0].max() <= 0


@pytest.mark.parametrize(
    ("transform", "reasons"),
    [
        (None, ("ImageFolder has no transform, so its images are no tensors",)),
        (chain(), ("its transform makes no tensor (no ToImage, PILToTensor or ToTensor)",)),
        (
            chain(v1.ElasticTransform(), v1.ToTensor()),
            (
                (
                    "transform torchvision.transforms.transforms.ElasticTransform is not one that "
                    "fastload knows"
                ),
            ),
        ),
        (
            v1.Compose([v1.CenterCrop(9), v1.RandomResizedCrop(8), v1.ToTensor()]),
            (RESIZES_LATE,),
        ),
        (
            v1.Compose([v1.ToTensor(), v1.RandomResizedCrop(8)]),
            (
                (
                    "op 2 (RandomResizedCrop): belongs to CROP, but op 1 (ToTensor) is STORE; move "
                    "it before op 1"
                ),
            ),
        ),
    ],
    ids=str,
)
def test_reasons_are_told(folder, transform, reasons):
    native = "ToTensor" if "ToTensor" in str(transform) else ""
    loader = fastload.DataLoader(ImageFolder(folder, transform), 4)
    lacks = END if transform else COMPOSE
    assert loader.explain() == own(*reasons, native=native, lacks=lacks)


def test_a_subclassed_transform_is_not_taken_for_its_parent(folder):
    loader = fastload.DataLoader(
        ImageFolder(folder, v1.Compose([MyResize((8, 9)), v1.ToTensor()])), 4
    )
    assert "MyResize is not one that fastload knows" in loader.explain()
    assert next(iter(loader))[0].shape == (4, 3, 8, 9)


def collate(samples):
    return len(samples)


def test_arguments_that_only_torch_honours(folder):
    data = ImageFolder(folder, chain(v1.ToTensor()))
    loader = fastload.DataLoader(data, 4, collate_fn=collate)
    assert loader.explain() == own(f"collate_fn is {collate!r}", native="ToTensor")
    assert next(iter(loader)) == 4
    assert fastload.DataLoader(data, None).explain() == own(
        "batch_size=None: there are no batches to make", native="ToTensor"
    )
    assert fastload.DataLoader(data, 4, timeout=5).explain() == own(
        "timeout is 5 s, and there are no workers", native="ToTensor"
    )
    assert (
        "worker_init_fn"
        in fastload.DataLoader(data, 4, num_workers=1, worker_init_fn=collate).explain()
    )


def test_a_transform_swapped_later_is_noticed(folder):
    data = ImageFolder(folder, chain(v1.ToTensor()))
    loader = fastload.DataLoader(data, 4)
    assert next(iter(loader))[0].shape == (4, 3, 8, 8)
    data.transform = v1.Compose([v1.Resize((5, 6)), v1.ToTensor()])
    assert next(iter(loader))[0].shape == (4, 3, 5, 6)


def test_an_argument_changed_later_is_noticed(folder):
    data = ImageFolder(folder, chain(v1.ToTensor()))
    loader = fastload.DataLoader(data, 4)
    data.transform.transforms[0].size = (5, 6)
    assert next(iter(loader))[0].shape == (4, 3, 5, 6)
    assert "RandomResizedCrop(size=(5, 6)" in loader.explain()


def test_accelerate_keeps_every_argument(folder):
    data = ImageFolder(folder, chain(v1.PILToTensor()))
    theirs = torch.utils.data.DataLoader(
        data, 4, shuffle=True, num_workers=1, drop_last=True, prefetch_factor=3
    )
    ours = fastload.accelerate(theirs, seed=4)
    assert (ours.batch_size, ours.num_workers, ours.drop_last, ours.prefetch_factor) == (
        4,
        1,
        True,
        3,
    )
    assert ours.sampler is theirs.sampler
    assert ours.explain().startswith("backend native, 1 threads, device cpu")
    assert next(iter(ours))[0].shape == (4, 3, 8, 8)
    batches = torch.utils.data.DataLoader(data, batch_sampler=[[1, 2], [3]])
    assert [len(labels) for _, labels in fastload.accelerate(batches)] == [2, 1]
    with pytest.raises(
        fastload.UsageError, match=r"^accelerate: got list, want a torch\.utils\.data\.DataLoader$"
    ):
        fastload.accelerate([1])


def test_an_explicit_backend_is_never_silently_another(folder):
    data = ImageFolder(folder, chain(v1.ElasticTransform(), v1.ToTensor()))
    text = (
        r"^loader: backend='native' cannot run this data set: transform "
        r"torchvision.transforms.transforms.ElasticTransform is not one"
    )
    with pytest.raises(fastload.BackendError, match=text):
        fastload.DataLoader(data, 4, backend="native")
    with pytest.raises(
        fastload.BackendError,
        match=r"^backend 'dalli' is unknown \(want auto, native, torch, ffcv, dali, dali-own\); "
        r"did you mean dali\?$",
    ):
        fastload.DataLoader(fastload.open(folder, [RandomResizedCrop(8)]), 4, backend="dalli")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"num_workers": -1},
            (
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            ),
        ),
        ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
        ({"shuffle": True, "sampler": [1]}, "sampler option is mutually exclusive with shuffle"),
        ({"prefetch_factor": 2}, None),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        (
            {"device": "tpu"},
            "DataLoader: device is 'tpu', want None, 'cpu', 'cuda' or 'cuda:0', 'cuda:1', …",
        ),
        ({"seed": -1}, "DataLoader: seed is -1, want None or a whole number from 0 to 2**64 - 1"),
    ],
    ids=str,
)
def test_wrong_arguments(folder, arguments, text):
    with pytest.raises(ValueError) as caught:
        fastload.DataLoader(fastload.open(folder, [RandomResizedCrop(8)]), **arguments)
    if text is None:  # torch's own words, which differ between its versions
        with pytest.raises(ValueError) as torchs:
            torch.utils.data.DataLoader(NUMBERS, **arguments)
        text = str(torchs.value)
    assert str(caught.value) == text
