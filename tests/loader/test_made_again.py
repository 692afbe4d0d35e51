"""Loaders made of loaders, as Accelerate and other frameworks make them."""

import inspect

import pytest
import torch
import torch.utils.data
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload.transforms import RandomResizedCrop

OPS = [RandomResizedCrop((6, 9))]
NUMBERS = torch.utils.data.TensorDataset(torch.arange(10))


def remade(loader, **changed):
    """As frameworks do it: arguments found by name among the attributes, where they are not the
    defaults.
    """
    parameters = inspect.signature(type(loader).__init__).parameters
    held = {name: value for name, value in vars(loader).items() if not name.startswith("_")}
    held["multiprocessing_context"] = loader.multiprocessing_context
    given = {
        name: held[name]
        for name, one in parameters.items()
        if name in held and held[name] is not one.default
    }
    given = {
        name: value
        for name, value in given.items()
        if name not in ("batch_size", "sampler", "drop_last", "batch_sampler")
    }
    return type(loader)(**given, **changed)


def test_a_subclass_may_have_attributes_of_such_names(folder):
    class Loader(fastload.DataLoader):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.device = torch.device("cpu")
            self.options = self.mix = self.backend = self.seek_index = object()
            self.seed, self.size_schedule, self.decode = "mine", [9], lambda image: image
            self.max_bad, self.snapshot_every_n_steps = "few", "often"

    data = fastload.open(folder, OPS)
    for workers in (0, 1):
        settings = {"num_workers": workers, "shuffle": True, "seed": 5}
        want = fastload.DataLoader(data, 4, **settings)
        loader = Loader(data, 4, **settings)
        pairs = zip(loader, want, strict=True)
        assert all(a.equal(b) and c.equal(d) for (a, c), (b, d) in pairs)
        assert (loader.seed, loader.device.type) == ("mine", "cpu")
        assert loader.explain() == want.explain()
        again = fastload.DataLoader(data, 4, **settings)
        again.load_state_dict(loader.state_dict())
        assert fastload.accelerate(loader).seed == 5


def test_frameworks_can_make_it_again(folder):
    data = fastload.open(folder, [RandomResizedCrop(9)])
    loader = fastload.DataLoader(
        data,
        4,
        shuffle=True,
        num_workers=1,
        seed=3,
        size_schedule=[6, 9],
        decode_scale="fast",
        seek_index="off",
    )
    twin = remade(loader, batch_size=5, sampler=range(20))
    for name in (
        "dataset",
        "num_workers",
        "seed",
        "size_schedule",
        "decode_scale",
        "seek_index",
        "collate_fn",
        "backend",
        "device",
    ):
        assert getattr(twin, name) is getattr(loader, name) or getattr(twin, name) == getattr(
            loader, name
        )
    assert len(list(twin)) == 4
    other = remade(
        fastload.DataLoader(NUMBERS, 4, num_workers=1, seed_samples=True), sampler=[1, 2]
    )
    assert (other.seed_samples, other.prefetch_factor, len(list(other))) == (True, 2, 2)


class Counted(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(5))


class Own(torch.utils.data.DataLoader):
    def __iter__(self):
        return iter([1])


def every_kind_of_loader(folder, generator):
    make = torch.utils.data.DataLoader
    data = ImageFolder(folder, v1.Compose([v1.Resize((6, 9)), v1.ToTensor()]))
    shuffled = {"shuffle": True, "generator": generator, "drop_last": True, "timeout": 9}
    forked = {"multiprocessing_context": "fork", "persistent_workers": True, "prefetch_factor": 4}
    return (
        make(data, 8, pin_memory=False, num_workers=1, **shuffled),
        make(data, None, sampler=[1, 2]),
        make(data, batch_sampler=[[1], [2, 3]]),
        make(Counted(), 2, drop_last=True),
        make(Counted(), None),
        make(NUMBERS, 3, collate_fn=len, num_workers=1, **forked),
    )


def test_accelerate_takes_every_kind_of_loader(folder):
    generator = torch.Generator()
    for theirs in every_kind_of_loader(folder, generator):
        ours = fastload.accelerate(theirs)
        for name in (
            "dataset",
            "batch_size",
            "drop_last",
            "collate_fn",
            "num_workers",
            "prefetch_factor",
            "generator",
            "timeout",
        ):
            assert getattr(ours, name) is getattr(theirs, name) or getattr(ours, name) == getattr(
                theirs, name
            ), name
        if not isinstance(theirs.dataset, Counted):  # whose samplers say nothing
            assert ours._index_sampler is theirs._index_sampler or ours.sampler is theirs.sampler
        assert (ours.multiprocessing_context, ours.persistent_workers) == (
            theirs.multiprocessing_context,
            theirs.persistent_workers,
        )
        torch.manual_seed(1)
        generator.manual_seed(1)
        got = [str(batch) for batch in ours]
        torch.manual_seed(1)
        generator.manual_seed(1)
        assert got == [str(batch) for batch in theirs]


def test_accelerate_keeps_fastloads_options_and_refuses_what_it_would_lose(folder):
    loader = fastload.DataLoader(
        fastload.open(folder, OPS), 4, shuffle=True, seed=7, decode_scale="fast", backend="native"
    )
    twin = fastload.accelerate(loader, decode_scale="exact", num_workers=1)
    assert (twin.seed, twin.decode_scale, twin.backend, twin.sampler, twin.num_workers) == (
        7,
        "exact",
        "native",
        loader.sampler,
        1,
    )
    with pytest.raises(fastload.UsageError) as caught:
        fastload.accelerate(Own(NUMBERS))
    assert (
        str(caught.value)
        == f"accelerate: {Own.__module__}.Own has its own __iter__, which would be lost; use it as "
        "it is"
    )


def test_options_of_accelerate_win_over_what_contradicts_them(folder):
    data = fastload.open(folder, OPS)
    theirs = torch.utils.data.DataLoader(
        data, 4, shuffle=True, num_workers=2, persistent_workers=True, timeout=9, prefetch_factor=3
    )
    alone = fastload.accelerate(theirs, num_workers=0)
    assert (alone.num_workers, alone.prefetch_factor, alone.persistent_workers) == (0, None, False)
    assert alone.timeout == 0
    ordered = fastload.accelerate(theirs, shuffle=False)
    assert type(ordered.sampler) is torch.utils.data.SequentialSampler
    assert ordered.prefetch_factor == 3
    chosen = fastload.accelerate(theirs, batch_sampler=[[3, 1], [2]])
    assert [len(labels) for _, labels in chosen] == [2, 1]
    assert fastload.accelerate(theirs, num_workers=0, timeout=2).timeout == 2
