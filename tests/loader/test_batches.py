"""What a loader hands out: every sample once, the right labels, memory that is nobody else's."""

import gc
import weakref

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from fastload.transforms import (
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToImage,
    TrivialAugmentWide,
)

OPS = [RandomResizedCrop((16, 24)), RandomHorizontalFlip()]
WORKERS = (0, 1, 4)


def digest(batches) -> list[bytes]:
    return [images.numpy().tobytes() + labels.numpy().tobytes() for images, labels in batches]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_kept_epoch_holds_distinct_correct_batches(folder, workers):
    data = fastload.open(folder, [Resize((16, 24))])
    loader = fastload.DataLoader(data, 7, num_workers=workers)
    kept = list(loader)  # far more batches than slots
    assert [len(labels) for _, labels in kept] == [7, 7, 7, 7, 7, 5]
    position = 0
    for images, labels in kept:
        for image, label in zip(images, labels, strict=True):
            path, want = data.samples[position]
            with Image.open(path) as opened:
                pixels = np.asarray(
                    opened.convert("RGB").resize((24, 16), Image.Resampling.BILINEAR)
                )
            np.testing.assert_array_equal(image.permute(1, 2, 0).numpy(), pixels)
            assert label == want
            position += 1
    assert position == len(data) == 40


def test_one_seed_gives_identical_batches_with_any_worker_count(folder):
    epochs = {}
    for workers in WORKERS:
        loader = fastload.DataLoader(
            fastload.open(folder, OPS), 6, shuffle=True, num_workers=workers, seed=11
        )
        epochs[workers] = [digest(loader), digest(loader)]
    assert epochs[0] == epochs[1] == epochs[4]
    assert epochs[0][0] != epochs[0][1]


def test_a_samples_pixels_do_not_depend_on_the_batch_size(folder):
    def images(batch_size: int) -> dict[int, bytes]:
        loader = fastload.DataLoader(fastload.open(folder, OPS), batch_size, seed=3)
        flat = torch.cat([images for images, _ in loader])
        return {i: image.numpy().tobytes() for i, image in enumerate(flat)}

    assert images(1) == images(7) == images(40) == images(64)


def test_the_second_epoch_has_another_order_and_other_crops(folder):
    loader = fastload.DataLoader(fastload.open(folder, OPS), 40, shuffle=True, num_workers=1)
    (first, labels), (second, other_labels) = next(iter(loader)), next(iter(loader))
    assert not torch.equal(labels, other_labels)
    assert not torch.equal(first, second)


def test_torch_manual_seed_governs_order_and_pixels(folder):
    def epoch(generator=None):
        torch.manual_seed(5)
        return digest(
            fastload.DataLoader(fastload.open(folder, OPS), 8, shuffle=True, generator=generator)
        )

    assert epoch() == epoch()
    assert (
        epoch(torch.Generator().manual_seed(1))
        == epoch(torch.Generator().manual_seed(1))
        != epoch()
    )


def test_shuffle_gives_torchs_own_permutation(folder):
    def labels(kind):
        torch.manual_seed(9)
        data = ImageFolder(folder, v1.Compose([v1.Resize((16, 24)), v1.ToTensor()]))
        return torch.cat(
            [labels for _, labels in kind(data, 8, shuffle=True, num_workers=1)]
        ).tolist()

    assert labels(fastload.DataLoader) == labels(torch.utils.data.DataLoader)


@pytest.mark.parametrize("api", ["v1", "v2"])
def test_torchvisions_image_folder_gives_torchs_batches(folder, api):
    first, second = [v1.ToTensor()], [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    norm = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    module, last = (v1, first) if api == "v1" else (v2, second)
    data = ImageFolder(
        folder,
        module.Compose(
            [module.Resize(20), module.CenterCrop((18, 19)), *last, module.Normalize(**norm)]
        ),
    )
    ours = fastload.DataLoader(data, 9, num_workers=2, drop_last=True)
    assert ours.explain().startswith("backend native, 2 threads, device cpu\n")
    theirs = torch.utils.data.DataLoader(data, 9, drop_last=True)
    assert len(ours) == len(theirs) == 4
    for (images, labels), (want, want_labels) in zip(ours, theirs, strict=True):
        assert type(images) is torch.Tensor
        torch.testing.assert_close(images, torch.as_tensor(want), rtol=0, atol=0)
        assert torch.equal(labels, want_labels)
        assert labels.dtype == torch.int64


def test_slots_return_when_the_last_tensor_is_freed(folder):
    loader = fastload.DataLoader(fastload.open(folder, OPS), 4, num_workers=1, prefetch_factor=2)
    addresses = set()
    for _ in range(5):
        for images, _ in loader:
            addresses.add(images.data_ptr())
            del images
    # Depth 2 and 7 more of few images, a ring of 11 free ones and the batch in hand; 50 batches
    # passed
    assert len(addresses) <= 13


def test_a_view_keeps_its_slot(folder):
    loader = fastload.DataLoader(fastload.open(folder, OPS), 4, num_workers=2, seed=1)
    views, copies = [], []
    for _ in range(3):
        for images, _ in loader:
            views.append(images[1, :, 3:5])
            copies.append(views[-1].clone())
    assert all(torch.equal(view, copy) for view, copy in zip(views, copies, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("workers", WORKERS)
def test_an_early_break_leaves_a_loader_that_goes_on(folder, workers):
    loader = fastload.DataLoader(fastload.open(folder, OPS), 4, num_workers=workers, seed=2)
    for _ in range(3):
        iterator = iter(loader)
        next(iterator)
        gone = weakref.ref(iterator)
        del iterator
        gc.collect()
        assert gone() is None
    assert len(list(loader)) == 10


def test_two_live_iterators_are_two_epochs(folder):
    loader = fastload.DataLoader(fastload.open(folder, OPS), 4, num_workers=2, seed=2)
    pairs = list(zip(loader, loader, strict=True))
    assert len(pairs) == 10
    assert not torch.equal(pairs[0][0][0], pairs[0][1][0])


@pytest.mark.parametrize(
    "options", [{"backend": "native"}, {"backend": "torch"}, {"seed": 2}, {"batch_size": None}]
)
def test_set_epoch_refuses_what_is_no_epoch_and_changes_nothing(folder, options):
    told = []
    data = ImageFolder(folder, v2.Compose([v2.Resize((16, 24)), v2.PILToTensor()]))
    data.set_epoch = told.append
    loader = fastload.DataLoader(data, **{"batch_size": 4, **options}, shuffle=True)
    for epoch in (-1, 1.5):
        with pytest.raises(fastload.UsageError) as caught:
            loader.set_epoch(epoch)
        problem = f"epoch is {epoch}, want a whole number from 0 to 4294967295; epochs count from 0"
        assert str(caught.value) == f"DataLoader.set_epoch: {problem}"
    loader.set_epoch(np.int64(3))
    assert told == [3]


def test_set_epoch_brings_an_epoch_back(folder):
    loader = fastload.DataLoader(fastload.open(folder, OPS), 4, shuffle=True, seed=2)
    epochs = [digest(loader) for _ in range(3)]
    loader.set_epoch(1)
    assert [digest(loader), digest(loader)] == epochs[1:]


def test_repeated_samples_get_crops_of_their_own(folder):
    data = fastload.open(folder, OPS)
    images, labels = next(iter(fastload.DataLoader(data, 6, sampler=[3, 3, 3, 5, 3, 5], seed=1)))
    assert len({image.numpy().tobytes() for image in images}) == 6
    assert len(set(labels.tolist())) <= 2
    alone, _ = next(iter(fastload.DataLoader(data, 1, sampler=[3], seed=1)))
    assert torch.equal(alone[0], images[0])


def test_a_loader_can_be_pickled(folder):
    import pickle

    loader = fastload.DataLoader(fastload.open(folder, OPS), 4, shuffle=True, num_workers=2, seed=2)
    want = digest(loader)
    copy = pickle.loads(pickle.dumps(loader))
    copy.set_epoch(0)
    assert digest(copy) == want


def test_samplers_and_batch_samplers_are_followed(folder):
    data = fastload.open(folder, OPS)
    order = [5, 1, -1, 39]
    got = torch.cat([labels for _, labels in fastload.DataLoader(data, 3, sampler=order)]).tolist()
    assert got == [data.samples[i][1] for i in order]
    batches = [[1], [2, 3, 4], [7, 8]]
    assert [
        len(labels) for _, labels in fastload.DataLoader(data, batch_sampler=batches, num_workers=2)
    ] == [1, 3, 2]


def test_stats_count_every_stage(folder):
    ops = [RandomResizedCrop(16), TrivialAugmentWide(), ToImage()]
    loader = fastload.DataLoader(fastload.open(folder, ops), 4, num_workers=2)
    assert loader.stats()["stages"] == {}
    list(loader)
    stages = loader.stats()["stages"]
    assert {stage: found["samples"] for stage, found in stages.items()} == dict.fromkeys(
        ("read", "decode", "resize", "augment", "store"), 40
    )
    assert all(found["wall_s"] > 0 for found in stages.values())


@pytest.mark.long
def test_a_process_that_ends_in_mid_epoch_ends_at_once(program, folder):
    code = f"""
import fastload
from fastload.transforms import RandomResizedCrop
loader = fastload.DataLoader(fastload.open({folder!r}, [RandomResizedCrop(16)]), 4, num_workers=2)
kept = iter(loader)
next(kept)
print("ok")
"""
    done = program("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
