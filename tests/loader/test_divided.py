"""The user's data set is run by a divided copy: what a program sees of it."""

import pickle

import pytest
import torch
from torch.utils.data import DataLoader, get_worker_info
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload
from fastload.image.lazy import SUPPORTED
from fastload.loader import divided
from tests.loader.ending_chains import (
    END,
    HEAD,
    MEAN,
    STD,
    Own,
    Rgb,
    Tensors,
    chain,
    check,
    images,
)  # fmt: skip
from tests.loader.explained import own

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="lazy images need Pillow 11.1"),
    pytest.mark.filterwarnings("ignore::fastload.FallbackWarning"),
]


@pytest.fixture
def folder(tmp_path):
    return images(tmp_path)


def test_changes_are_seen_at_once(folder):
    seen = []
    for kind in (fastload.DataLoader, DataLoader):
        steps = [*HEAD, Own(), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
        data = ImageFolder(folder, transforms.Compose(steps))
        torch.manual_seed(5)
        loader, out = iter(kind(data, 2)), []
        out.append(next(loader)[0])
        data.transform.transforms[-1].mean = (0, 0, 0)
        out.append(next(loader)[0])
        data.transform.transforms.pop()
        out.append(next(loader)[0])
        data.transform = transforms.Compose([transforms.Resize((20, 30)), Own(), *END])
        out.append(next(loader)[0])
        data.samples[8:10] = data.samples[:2]
        out.append(next(loader)[0])
        seen.append(out)
    assert [tuple(one.shape[2:]) for one in seen[0]] == [(40, 56)] * 3 + [(20, 30)] * 2
    assert all(map(torch.equal, *seen))


@pytest.mark.parametrize("batch_size", [2, None])
def test_numbers_that_are_changed_in_place_count_at_once(folder, batch_size):
    def images(kind):
        mean, std = [0.5, 0.4, 0.3], torch.tensor([0.5, 0.4, 0.3])
        steps = [transforms.Resize((20, 30)), Own(), transforms.ToTensor()]
        data = ImageFolder(folder, transforms.Compose([*steps, transforms.Normalize(mean, std)]))
        torch.manual_seed(5)
        loader = iter(kind(data, batch_size))
        yield next(loader)[0]
        mean[0] = 0.1
        yield next(loader)[0]
        std.fill_(2.0)
        yield next(loader)[0]

    ours, theirs = list(images(fastload.DataLoader)), list(images(DataLoader))
    assert all(map(torch.equal, ours, theirs))


def replaced(_):
    get_worker_info().dataset.transform = transforms.Compose(
        [transforms.Resize((20, 30)), Own(), *END]
    )
    assert type(get_worker_info().dataset) is ImageFolder


def test_a_worker_init_fn_finds_the_users_data_set(folder):
    data = ImageFolder(folder, chain("end"))
    batches = check(data, num_workers=1, worker_init_fn=replaced)
    assert batches[0][0].shape[2:] == (20, 30)


def test_each_sample_seeded(folder):
    data = ImageFolder(folder, chain("end"))
    options = {"batch_size": 4, "seed_samples": True, "seed": 3}
    plain, ours = (
        list(fastload.DataLoader(data, **options, lazy_images=lazily)) for lazily in (False, True)
    )
    for batch, want in zip(ours, plain, strict=True):
        assert all(map(torch.equal, batch, want))


class Named(transforms.Normalize):
    """A step of torchvision's with another method."""

    def forward(self, image):
        return -image


def test_it_is_said(folder):
    data = ImageFolder(folder, chain("end"))
    loader = fastload.DataLoader(data, 4)
    lines = loader.explain().splitlines()
    reasons = [line.strip() for line in lines[2:-1]]
    assert lines == own(*reasons, native="ToTensor, Normalize").splitlines()
    off = fastload.DataLoader(data, 4, lazy_images=False)
    assert off.explain().splitlines()[0] == "PyTorch's own engine, unchanged:"


def test_what_is_not_divided(folder):
    def steps(*last):
        return divided.steps(ImageFolder(folder, transforms.Compose([*HEAD, Own(), *last])))

    assert steps() == ()
    assert steps(transforms.ToTensor(), Named(MEAN, STD)) == ("ToTensor",)
    assert steps(transforms.PILToTensor(), Tensors()) == ()
    assert steps(transforms.ToTensor(), transforms.Normalize((0.5, 0.5), (1, 1))) == ()
    assert divided.steps(ImageFolder(folder, Own())) == ()
    assert divided.steps(range(3)) == ()


def test_the_copy_stays_where_it_was_made(folder):
    data = divided.Divided(ImageFolder(folder, transforms.Compose([Rgb(), *END])))
    image, label = data[1]
    again = pickle.loads(pickle.dumps(data))
    assert vars(again)["_copy"] is None
    assert torch.equal(again[1][0], image)
    assert (again[1][1], len(again), again.classes) == (label, 12, ["a", "b"])
