"""Known data sets with steps of the user's own in their transform: what stands behind these runs
natively, and the batches are the stock loader's, bit for bit.
"""

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import transforms
from torchvision.datasets import CIFAR10, ImageFolder
from torchvision.transforms import v2

import fastload
from fastload import _native
from fastload.image.lazy import SUPPORTED
from fastload.loader import divided
from tests.loader.ending_chains import (
    CASES,
    CHAINS,
    END,
    HEAD,
    V2,
    Own,
    Rgb,
    Tensors,
    batches,
    chain,
    check,
    images,
)  # fmt: skip

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="lazy images need Pillow 11.1"),
    pytest.mark.filterwarnings("ignore::fastload.FallbackWarning"),
]


class Fruit(Own):
    """Cannot be followed either, and refuses some images."""

    def __call__(self, image):
        if image.width > 150:
            raise LookupError(f"no fruit in {image.size}")
        return super().__call__(image)


@pytest.fixture
def folder(tmp_path):
    return images(tmp_path)


@pytest.fixture
def stored(monkeypatch):
    """The sizes of what was stored natively."""
    made = []
    store = _native.store

    def counted(image, *rest):
        made.append(image.shape[:2])
        store(image, *rest)

    monkeypatch.setattr(_native, "store", counted)
    return made


@pytest.mark.parametrize(("name", "workers"), CASES)
def test_batches_are_the_stock_loaders(folder, name, workers):
    data = ImageFolder(folder, chain(name))
    assert divided.steps(data) == CHAINS[name][1]
    check(data, num_workers=workers)


@pytest.mark.parametrize("name", ["second", "tensors", "first's end"])
@pytest.mark.parametrize("workers", [0, 1])
def test_the_second_api(folder, name, workers):
    crop = v2.RandomResizedCrop((40, 56))
    steps = {
        "second": [crop, Own(), *V2],
        "tensors": [crop, *V2, Tensors()],
        "first's end": [crop, Own(), *END],
    }
    data = ImageFolder(folder, v2.Compose(steps[name]))
    assert divided.steps(data)
    check(data, num_workers=workers)


@pytest.mark.long
@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_workers_that_are_not_forked(folder, context):
    check(ImageFolder(folder, chain("end")), num_workers=1, multiprocessing_context=context)


@pytest.mark.parametrize("workers", [0, 1])
def test_parts_and_unions(folder, workers):
    data = ImageFolder(folder, chain("end"))
    other = ImageFolder(folder, transforms.Compose([transforms.Resize((40, 56)), Own(), *END]))
    check(Subset(data, [5, 2, 2, 9, 0, 7]), num_workers=workers)
    check(ConcatDataset([data, Subset(other, range(6))]), num_workers=workers)


def test_images_in_memory(stored):
    data = object.__new__(CIFAR10)
    data.transform, data.target_transform, data.transforms = chain("end"), None, None
    data.data = np.random.default_rng(1).integers(0, 256, (9, 32, 32, 3), np.uint8)
    data.targets = list(range(9))
    check(data)
    assert len(stored) == 9


def test_each_image_is_stored_once_where_its_batch_lies(folder, stored):
    data = ImageFolder(folder, chain("end"))
    for batch, _ in fastload.DataLoader(data, 4):
        assert batch.untyped_storage().nbytes() == batch.nbytes
    assert stored == [(40, 56)] * 12
    list(fastload.DataLoader(data, 4, lazy_images=False))
    assert len(stored) == 12


@pytest.mark.parametrize("batch", [None, 1])
def test_without_batches_and_with_a_collate_function_of_ones_own(folder, batch):
    data = ImageFolder(folder, chain("end"))
    options = {"batch_size": batch, "collate_fn": (lambda samples: samples[0]) if batch else None}
    ours = batches(fastload.DataLoader(data, **options))
    theirs = batches(DataLoader(data, **options))
    kept = [image.clone() for image, _ in ours]
    for (image, label), (want, number) in zip(ours, theirs, strict=True):
        assert torch.equal(image, want)
        assert label == number
        image.zero_()  # has memory of its own
    assert sum(map(torch.count_nonzero, kept)) > 0


def test_images_that_do_not_fit_one_batch_raise_what_pytorch_raises(folder):
    data = ImageFolder(folder, transforms.Compose([Own(), *END]))
    with pytest.raises(RuntimeError) as theirs:
        list(DataLoader(data, 4))
    with pytest.raises(RuntimeError) as ours:
        list(fastload.DataLoader(data, 4))
    assert str(ours.value) == str(theirs.value)
    check(data, batch_size=1)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_of_the_users_step_is_raised_and_the_next_batch_is_made(folder, workers):
    data = ImageFolder(folder, transforms.Compose([Fruit(), transforms.Resize((40, 56)), *END]))
    seen = []
    for kind in (fastload.DataLoader, DataLoader):
        torch.manual_seed(5)
        loader, out = iter(kind(data, 2, num_workers=workers)), []
        for _ in range(6):
            try:
                out.append([part.tolist() for part in next(loader)])
            except LookupError as error:
                out.append(str(error).splitlines()[-1])
        seen.append(out)
    assert seen[0] == seen[1]
    assert any(isinstance(one, list) for one in seen[0])


def test_a_damaged_image_raises_what_pillow_raises(folder):
    path = folder / "b" / "3.jpg"
    path.write_bytes(path.read_bytes()[:400])
    data = ImageFolder(folder, chain("end"))
    errors = []
    for kind in (fastload.DataLoader, DataLoader):
        with pytest.raises(OSError) as error:
            list(kind(data, 4))
        errors.append((type(error.value), str(error.value)))
    assert errors[0] == errors[1]


def greyed(image):
    return image.convert("L") if torch.rand(()) < 0.5 else image


def test_images_of_another_mode_are_the_users_steps_own(folder, stored):
    steps = [*HEAD, transforms.Lambda(greyed), Rgb(), *END]
    check(ImageFolder(folder, transforms.Compose(steps)))
    assert len(stored) == 12
    ones = [
        *HEAD,
        transforms.Lambda(lambda image: image.copy().convert("L")),
        transforms.ToTensor(),
    ]
    check(ImageFolder(folder, transforms.Compose([*ones, transforms.Normalize((0.5,), (0.2,))])))
    assert len(stored) == 12
