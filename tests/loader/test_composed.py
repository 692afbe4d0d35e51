"""Data sets of the user's own, which call torchvision's Compose: the steps of it that make a tensor
run natively, and the batches are the stock loader's, bit for bit.
"""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.transforms import v2

import fastload
from fastload import _native
from fastload.attach.stages import STAGES, split_transforms
from fastload.image.lazy import SUPPORTED
from fastload.loader import composing
from tests.loader.ending_chains import (
    CASES,
    CHAINS,
    END,
    HEAD,
    MEAN,
    NAMES,
    STD,
    V2,
    Own,
    batches,
    chain,
    check,
    images,
)  # fmt: skip
from tests.loader.explained import own

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="lazy images need Pillow 11.1"),
    pytest.mark.filterwarnings("ignore::fastload.FallbackWarning"),
]
STOCK = transforms.Compose.__call__, v2.Compose.forward


class Boxes(Dataset):
    """A data set that fastload cannot follow: it looks at the image."""

    def __init__(self, folder, transform):
        self.paths = sorted(folder.rglob("*.*"))
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            pixels = image.convert("RGB")
        return self.transform(pixels), torch.tensor([*pixels.size])


class Counted(Boxes):
    """It counts, and tells how many images were stored natively so far in its process."""

    def __getitem__(self, index):
        stored = []
        store = _native.store
        try:
            _native.store = lambda *args: stored.append(store(*args))
            image, _ = super().__getitem__(index)
        finally:
            _native.store = store
        return image, len(stored)


@pytest.fixture
def folder(tmp_path):
    return images(tmp_path)


@pytest.mark.parametrize(("name", "workers"), CASES)
def test_batches_are_the_stock_loaders(folder, name, workers):
    data = Boxes(folder, chain(name))
    assert composing.names(data) == CHAINS[name][1]
    check(data, num_workers=workers)
    assert (transforms.Compose.__call__, v2.Compose.forward) == STOCK


@pytest.mark.long
@pytest.mark.parametrize("start", ["fork", "forkserver"])
def test_they_run_natively_in_workers(folder, start):
    data = Counted(folder, v2.Compose([v2.RandomResizedCrop((40, 56)), Own(), *V2]))
    seen = []
    for kind in (fastload.DataLoader, DataLoader):
        how = start if kind is fastload.DataLoader else "fork"  # the fastest to begin
        loader = kind(data, 4, shuffle=True, num_workers=2, multiprocessing_context=how)
        seen.append(batches(loader))
    for (image, stored), (other, none) in zip(*seen, strict=True):
        assert torch.equal(image, other)
        assert stored.tolist() == [1] * len(image)
        assert not none.any()


def test_steps_that_a_profiler_times_run_natively_all_the_same(folder):
    data = Counted(folder, transforms.Compose([*HEAD, *END]))
    want = batches(DataLoader(data, 4))
    assert split_transforms(data)
    STAGES.start()
    seen = batches(fastload.DataLoader(data, 4))
    assert {"RandomResizedCrop", "ToTensor"} <= STAGES.stop().keys()
    for (image, stored), (other, _) in zip(seen, want, strict=True):
        assert torch.equal(image, other)
        assert stored.tolist() == [1] * len(image)


class Views:
    """Chains that lie in another object; one is called by another."""

    def __init__(self):
        inner = transforms.Compose(END)
        self.chains = {"small": transforms.Compose([transforms.Resize((20, 30)), inner])}
        self.large = chain("end")

    def __call__(self, image):
        return {"small": self.chains["small"](image), "large": [self.large(image)] * 2}


def test_chains_in_other_objects(folder):
    data = Boxes(folder, Views())
    assert composing.names(data) == ("Compose", "ToTensor", "Normalize")
    seen = [batches(kind(data, 4, shuffle=True)) for kind in (fastload.DataLoader, DataLoader)]
    for (ours, _), (theirs, _) in zip(*seen, strict=True):
        assert torch.equal(ours["small"], theirs["small"])
        assert all(map(torch.equal, ours["large"], theirs["large"]))


class Secretive:
    def __getattribute__(self, name):
        raise RuntimeError(f"asked for {name}")


def test_what_a_data_set_holds_is_not_run(folder):
    data = Boxes(folder, Views())
    data.others = [Secretive(), np, DataLoader, {"more": Secretive()}]
    assert composing.names(data) == ("Compose", "ToTensor", "Normalize")


def test_what_is_changed_counts_at_once(folder):
    seen = []
    for kind in (fastload.DataLoader, DataLoader):
        mean = [0.1, 0.2, 0.3]
        normal = transforms.Normalize(mean, np.array(STD))
        data = Boxes(folder, transforms.Compose([*HEAD, transforms.ToTensor(), normal]))
        torch.manual_seed(5)
        loader, out = iter(kind(data, 2)), []
        out.append(next(loader)[0])
        mean[1] = 0.5
        out.append(next(loader)[0])
        normal.std[0] = 9
        out.append(next(loader)[0])
        normal.mean, normal.std = torch.tensor(MEAN), torch.tensor(STD)
        out.append(next(loader)[0])
        normal.std.mul_(2)
        out.append(next(loader)[0])
        data.transform.transforms.pop()
        out.append(next(loader)[0])
        seen.append(out)
    assert all(map(torch.equal, *seen))


class Named(Boxes):
    """It calls its transform by the argument's name, or with an array."""

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            pixels = image.convert("RGB")
        named = type(self.transform) is transforms.Compose
        image = self.transform(img=pixels) if named else self.transform(np.array(pixels))
        return image.view(-1), image.stride()


@pytest.mark.parametrize("made", [transforms.Compose(END), v2.Compose(V2)])
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.long)])
def test_images_by_name_and_arrays(folder, made, workers):
    data = Named(folder, made)
    seen = [kind(data, None, num_workers=workers) for kind in (fastload.DataLoader, DataLoader)]
    for (ours, strides), (theirs, want) in zip(*seen, strict=True):
        assert torch.equal(ours, theirs)
        assert strides == want


class Tensors(transforms.Compose):
    """A class of the user's own is left alone."""

    def __call__(self, image):
        return super().__call__(image) + 1


def test_what_it_does_not_divide(folder):
    for steps in ([*HEAD, Own()], [Own(), transforms.ToTensor(), Own.__call__]):
        assert composing.names(Boxes(folder, transforms.Compose(steps))) in ((), ("ToTensor",))
    data = Counted(folder, Tensors([*HEAD, *END]))
    assert composing.names(data) == ()
    seen = [batches(kind(data, 4)) for kind in (fastload.DataLoader, DataLoader)]
    for (ours, stored), (theirs, _) in zip(*seen, strict=True):
        assert torch.equal(ours, theirs)
        assert not stored.any()


def test_a_compose_that_a_program_has_replaced_stays(folder, monkeypatch):
    calls = []

    def call(self, image):
        calls.append(self)
        return STOCK[0](self, image)

    monkeypatch.setattr(transforms.Compose, "__call__", call)
    data = Counted(folder, transforms.Compose([*HEAD, *END]))
    assert not any(stored.any() for _, stored in batches(fastload.DataLoader(data, 4)))
    assert len(calls) == len(data)


def test_an_error_of_a_step_is_its_own(folder):
    def refuse(image):
        raise LookupError(f"no {image.size}")

    data = Boxes(folder, transforms.Compose([*HEAD, refuse, *END]))
    with pytest.raises(LookupError, match=r"^no \(56, 40\)$"):
        next(iter(fastload.DataLoader(data, 4)))


def test_explained(folder):
    lines = fastload.DataLoader(Boxes(folder, chain("end")), 4).explain().splitlines()
    assert "\n".join(lines) == own(*(line[2:] for line in lines[2:-1]), native=", ".join(NAMES))
    assert lines[2].startswith("  data set tests.loader.test_composed.Boxes is not one that ")
