"""A state taken before any step, restored anywhere, gives exactly the batches that were left."""

import json
import shutil

import numpy as np
import pytest
import torch
import torch.utils.data
from torch.utils.data import RandomSampler, WeightedRandomSampler
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from fastload import DistributedSampler, PixelBatchSampler, ShuffleSampler
from fastload import transforms as T

from .resume_cases import OPS, maker
from .resume_helpers import LARGE, SMALL, check_every_step, check_some, digest, told


def samplers(kind):
    """A new sampler for 40 samples."""
    if kind == "repeats":
        return DistributedSampler(40, seed=5, repeats=3)
    if kind == "weights":
        return DistributedSampler(40, seed=5, weights=np.arange(40))
    if kind == "replacement":
        return RandomSampler(range(40), replacement=True, num_samples=25)
    return WeightedRandomSampler(torch.arange(40.0), 25)


PLAIN = {
    "threads": {},
    "caller": {"num_workers": 0},
    "reference": {"backend": "torch", "num_workers": 0},
    "drawn seed": {"seed": None},
    "drawn seed, caller": {"seed": None, "num_workers": 0},
    "in order": {"shuffle": False, "drop_last": True},
    "mixed": {"mix": T.MixUp(alpha=0.4), "batch_size": 4},
    "sizes by step": {
        "size_schedule": fastload.ProgressiveResize(total_steps=30, increment=2, delay=0.1)
    },
    "views": {"data": "views"},
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_state_before_every_step(folder, name):
    options = dict(PLAIN[name])
    if name == "sizes by step":
        options["data"] = fastload.open(folder, [T.RandomResizedCrop(16)])
    if options.get("data") == "views":
        options["data"] = fastload.open(folder, T.Views([(OPS, 2)]))
    most = LARGE if "drawn" in name else SMALL
    assert check_every_step(maker(folder, **options), most=most) > 22


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_workers": 0, "mix": T.CutMix(alpha=1.0)},
        {"backend": "torch", "num_workers": 0},
        {"on_error": "substitute"},
    ],
    ids=["threads", "mixed", "reference", "bad images"],
)
def test_states_of_two_hundred_steps(folder, tmp_path, options):
    where = tmp_path / "images"
    shutil.copytree(folder, where)
    if "on_error" in options:
        for path in sorted(where.glob("*/*.jpg"))[::9]:
            path.write_bytes(b"no image")
        options = {**options, "max_bad": 1.0}
    assert check_some(maker(str(where), batch_size=2, **options), 200) == 210


@pytest.mark.parametrize("kind", ["repeats", "weights", "replacement", "torch's weights"])
def test_samples_that_come_again_keep_their_occurrences(folder, kind):
    make = maker(folder, shuffle=None)
    torch.manual_seed(7)
    assert check_every_step(lambda: make(sampler=samplers(kind)), epochs=1, most=LARGE) > 9


def test_a_users_generator_is_kept(folder):
    make = maker(folder, seed=None)
    first = make(generator=torch.Generator().manual_seed(3))
    batches, states = told(first, 3)
    for epoch, step in ((0, 0), (0, 5), (1, 0), (1, 13), (1, 14), (1, 15)):
        assert len(json.dumps(states[epoch][step])) <= LARGE
        loader = make(generator=torch.Generator())
        loader.load_state_dict(states[epoch][step])
        rest = [*batches[epoch][step:]] if step < 15 else batches[epoch + 1]
        assert [digest(batch) for batch in loader] == rest
        if step < 15:  # the generator is where it was: the next epoch is the next one too
            assert [digest(batch) for batch in loader] == batches[epoch + 1]


def test_the_programs_generator_is_left_alone(folder):
    make = maker(folder, seed=None, num_workers=0)
    states = [state for epoch in told(make(), 1)[1] for state in epoch[:-1]]
    for state in (states[0], states[1], states[-1]):
        loader = make()
        loader.load_state_dict(state)
        before = torch.get_rng_state()
        list(loader)
        assert torch.equal(torch.get_rng_state(), before)


def test_pixel_batches(folder):
    def make():
        schedule = fastload.progressive.PerEpoch((8, 16))
        data = fastload.open(folder, [T.RandomResizedCrop(16)])
        order = PixelBatchSampler(ShuffleSampler(40, 2), schedule, 16, 4, multiple=1)
        return fastload.DataLoader(
            data, batch_sampler=order, size_schedule=schedule, seed=4, num_workers=1
        )

    assert check_every_step(make) == (3 + 2) + (10 + 2)


class Mine(ImageFolder):
    """Not lowered: PyTorch's own engine runs it."""

    def __getitem__(self, index):
        return super().__getitem__(hash(index))  # a call that is not followed


@pytest.mark.parametrize("workers", [0, 1])
def test_on_pytorchs_own_engine(folder, workers):
    transform = v2.Compose([v2.RandomResizedCrop(12), v2.ToImage()])
    data = Mine(folder, transform)

    def make():
        return fastload.DataLoader(
            data, 10, shuffle=True, num_workers=workers, seed_samples=True, seed=None
        )

    torch.manual_seed(2)
    assert make().explain().startswith("PyTorch's own engine")
    assert check_every_step(make, epochs=1, most=LARGE) == 6


def test_own_engine_without_batches(folder):
    data = Mine(folder, v2.Compose([v2.Resize((4, 6)), v2.ToImage()]))
    assert (
        check_every_step(lambda: fastload.DataLoader(data, None, shuffle=True, seed=3), epochs=1)
        == 42
    )


def test_persistent_workers_go_on(folder):
    make = maker(folder, persistent_workers=True)
    loader = make()
    batches, states = told(loader, 2)
    loader.load_state_dict(states[0][9])
    assert [digest(batch) for batch in loader] == batches[0][9:]
    assert [digest(batch) for batch in loader] == batches[1]


def test_a_second_resume(folder):
    make = maker(folder)
    whole = told(make(), 1)[0][0]
    first = make()
    iterator = iter(first)
    for _ in range(4):
        next(iterator)
    second = make(num_workers=0)
    second.load_state_dict(first.state_dict())
    iterator = iter(second)
    for _ in range(3):
        next(iterator)
    third = make()
    third.load_state_dict(second.state_dict())
    assert second.state_dict()["step"] == 7
    assert [digest(batch) for batch in third] == whole[7:]


def test_batches_that_were_only_prefetched_are_not_counted(folder):
    loader = maker(folder, prefetch_factor=4)()
    iterator = iter(loader)
    next(iterator)
    assert loader.state_dict()["step"] == 1


def test_epoch_edges(folder):
    make = maker(folder)
    loader = make()
    assert (loader.state_dict()["epoch"], loader.state_dict()["step"]) == (0, 0)
    iterator = iter(loader)
    for _ in range(14):
        next(iterator)
    assert (loader.state_dict()["epoch"], loader.state_dict()["step"]) == (0, 14)
    other = make()
    other.load_state_dict(loader.state_dict())
    assert list(other) == []  # what was left of epoch 0
    assert other.state_dict()["epoch"] == 1
    assert next(iterator, None) is None
    assert (loader.state_dict()["epoch"], loader.state_dict()["step"]) == (1, 0)


def test_set_epoch_of_the_states_epoch_keeps_its_place_and_another_drops_it(folder):
    make = maker(folder)
    batches, states = told(make(), 3)
    loader = make()
    loader.load_state_dict(states[1][6])
    loader.set_epoch(1)
    assert [digest(batch) for batch in loader] == batches[1][6:]
    loader.load_state_dict(states[1][6])
    loader.set_epoch(2)
    assert [digest(batch) for batch in loader] == batches[2]


def test_an_error_is_a_step_too(bad_folder):
    root = bad_folder({f"{n}.jpg": b"bad" for n in range(1, 3)})
    loader = fastload.DataLoader(fastload.open(root, OPS), 1, num_workers=1)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(fastload.SampleError):
        next(iterator)
    assert loader.state_dict()["step"] == 2
