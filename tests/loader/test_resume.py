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

from .resume_helpers import LARGE, SMALL, check_every_step, check_some, digest, told

OPS = [T.RandomResizedCrop((12, 16)), T.RandomHorizontalFlip()]


def maker(folder, **fixed):
    """Loaders over the same images; keywords of a call win."""

    def make(**named):
        options = {"batch_size": 3, "shuffle": True, "seed": 4, "num_workers": 2, **fixed, **named}
        return fastload.DataLoader(
            options.pop("data", None) or fastload.open(folder, OPS), **options
        )

    return make


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


def test_another_machine(folder):
    """Workers and backend may change between the parts of a run."""
    make = maker(folder)
    check_every_step(make, lambda: make(num_workers=0), epochs=1)
    check_every_step(make, lambda: make(num_workers=1, prefetch_factor=5), epochs=1)
    check_every_step(make, lambda: make(backend="torch", num_workers=0), epochs=1)
    check_every_step(lambda: make(backend="torch", num_workers=0), make, epochs=1)


def rows(loader):
    """Every sample's bytes with its label, in order."""
    return [
        (digest(image), int(label))
        for images, labels in loader
        for image, label in zip(images, labels, strict=True)
    ]


@pytest.mark.parametrize(("size", "step"), [(2, 4), (6, 2), (1, 5), (12, 8), (4, 4), (7, 14)])
def test_another_batch_size(folder, size, step):
    """`step` batches of 3, then batches of `size`; the last case is a finished epoch."""
    make = maker(folder)
    whole, loader = rows(make()), make()
    iterator = iter(loader)
    taken = sum(len(next(iterator)[1]) for _ in range(step))
    other = make(batch_size=size)
    other.load_state_dict(loader.state_dict())
    assert rows(other) == whole[taken:]


def world(make, ranks, state=None, **named):
    """The loaders of all ranks, as one epoch in the global order: per step the rows of all ranks in
    turn.
    """
    loaders = [
        make(sampler=named["sampler"](ranks, rank), batch_size=12 // ranks) for rank in range(ranks)
    ]
    if state:
        for loader in loaders:
            loader.load_state_dict(state)
    return loaders


@pytest.mark.parametrize("kind", ["shuffle", "torch", "repeats", "weights"])
@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 2), (2, 3)])
def test_another_world(folder, kind, before, after):
    makes = {
        "shuffle": lambda ranks, rank: ShuffleSampler(40, 6, num_replicas=ranks, rank=rank),
        "torch": lambda ranks, rank: torch.utils.data.DistributedSampler(
            range(40), ranks, rank, seed=6
        ),
        "repeats": lambda ranks, rank: DistributedSampler(40, ranks, rank, seed=6, repeats=3),
        "weights": lambda ranks, rank: DistributedSampler(
            40, ranks, rank, seed=6, weights=np.arange(40)
        ),
    }
    make = maker(folder, shuffle=None, drop_last=True)

    def steps(loaders):
        return [
            [
                (digest(batch[0][n]), int(batch[1][n]))
                for n in range(len(batches[0][1]))
                for batch in batches
            ]
            for batches in zip(*loaders, strict=True)
        ]

    whole = steps(world(make, before, sampler=makes[kind]))
    assert len(whole) == 3
    loaders = world(make, before, sampler=makes[kind])
    iterators = [iter(loader) for loader in loaders]
    for iterator in iterators:
        next(iterator)
    states = [loader.state_dict() for loader in loaders]
    assert all(state == states[0] for state in states)
    assert steps(world(make, after, states[0], sampler=makes[kind])) == whole[1:]


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


def refused(loader, state):
    with pytest.raises(fastload.UsageError) as caught:
        loader.load_state_dict(state)
    return str(caught.value)


def test_states_that_are_another_loaders(folder, tmp_path, bad_folder):
    make = maker(folder)
    loader = make()
    next(iter(loader))
    state = loader.state_dict()
    where = "DataLoader.load_state_dict: "
    assert refused(make(batch_size=5), state) == (
        where
        + "3 samples were taken, which is no multiple of 5 (batches of 5 on 1 ranks); use a batch "
        "size that divides, such as 3"
    )
    assert refused(make(seed=9), state) == (
        where + "the state's order is of ShuffleSampler(seed=4), the loader's of "
                "ShuffleSampler(seed=9); use the same sampler\n"
        + where + "the state has seed 4, the loader 9; use the same seed, or leave it out"
    )  # fmt: skip
    other = fastload.open(bad_folder({}), OPS)
    assert (
        refused(make(data=other), state)
        == where + "the state is of a data set of 40 samples, this one has 1; use the same data set"
    )
    names = {**state, "names": "0" * 16}
    assert refused(make(), names) == (
        where + f"the state is of a data set with other names or labels (got {'0' * 16}, want "
        f"{state['names']}); use the same data set"
    )
    batches = [[0, 1, 2]] * 3
    lines = (
        "a step of the state has 3 samples on 1 ranks, of the loader unknown samples on 1 ranks",
        "use the same batch sampler on as many ranks",
    )
    assert refused(make(batch_size=1, shuffle=None, batch_sampler=batches), state).splitlines()[
        1
    ] == where + "; ".join(lines)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 2}, "version is 2, want 1; use the fastload that wrote the state"),
        ({"step": -1}, "step is -1, want a whole number from 0 to 9223372036854775807"),
        ({"epoch": "1"}, "epoch is '1', want a whole number from 0 to 4294967295"),
        ({"world": None}, "world is None, want a whole number from 1 to 9223372036854775807"),
        ({"generator": "AAAA"}, "generator is no state of a torch.Generator on the CPU"),
        ({"generator": 7}, "generator is no state of a torch.Generator on the CPU"),
        ({"names": 5}, "names is 5, want a text"),
    ],
)
def test_states_that_are_none(folder, change, text):
    make = maker(folder)
    assert (
        refused(make(), {**make().state_dict(), **change}) == f"DataLoader.load_state_dict: {text}"
    )


def test_what_is_no_state_at_all(folder):
    loader = maker(folder)()
    for given, kind in (({}, "dict"), (None, "NoneType"), ([1], "list")):
        want = (
            f"DataLoader.load_state_dict: got {kind} without 'version', want what "
            "DataLoader.state_dict() gave"
        )
        assert refused(loader, given) == want
    state = loader.state_dict()
    del state["bad"], state["names"]
    assert (
        refused(loader, state)
        == "DataLoader.load_state_dict: the state has no bad, names; want what "
        "DataLoader.state_dict() gave"
    )


def test_a_state_is_made_without_the_data(folder):
    """Its time does not grow with the data set: names are read once, of 64 samples."""
    loader = maker(folder)()
    iterator = iter(loader)
    loader.state_dict()
    source, asked = loader._route.plan.source, []
    object.__setattr__(source, "name", asked.append)
    next(iterator)
    loader.state_dict()
    assert asked == []
