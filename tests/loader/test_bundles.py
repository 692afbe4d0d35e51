"""Small batches of pixels are made several as one, and handed out as if each were made alone."""

import itertools
import os
import shutil

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from fastload import transforms as T
from fastload.engine import bundles
from fastload.engine.bundles import Bundled
from fastload.engine.epoch import Threaded
from fastload.errors import BackendError, SampleError
from tests.beton.layout import Writer
from tests.conftest import textured
from tests.loader.test_asked_together import Backwards
from tests.lowering.dataset_helpers import cifar, made

CHAIN = v2.Compose([
    v2.RandomCrop((28, 24)), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32)
])  # fmt: skip
COUNT, SIZE = 50, 4


def loader(data=None, workers=1, size=SIZE, **given):
    given = {"seed": 3, "shuffle": True, "seek_index": "off", **given}
    data = pixels() if data is None else data
    return fastload.DataLoader(data, size, num_workers=workers, backend="native", **given)


def pixels(count=COUNT):
    return cifar(count=count, transform=CHAIN)


def same(one, other):
    torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("size", [1, 3, 4, 16, 50, 70])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_are_those_of_the_callers_thread(workers, size, drop_last):
    made = loader(workers=workers, size=size, drop_last=drop_last)
    bundled, alone = iter(made), loader(workers=0, size=size, drop_last=drop_last)
    assert type(bundled._batches) is Bundled
    for several, each in itertools.zip_longest(bundled, alone):
        assert type(several) is type(each)
        for one, other in zip(several, each, strict=True):
            same(one, other)
            assert one.stride() == other.stride()
            assert one.untyped_storage().nbytes() == one.nbytes
    same(list(made)[-1:], list(alone)[-1:])  # of the second epoch


def test_images_of_one_channel():
    """The caller gets one of three that are made."""
    pixels = np.stack([textured(20, 30, number)[..., 0] for number in range(COUNT)])
    chain = v2.Compose([v2.Resize((12, 15)), v2.ToImage()])
    data = made(
        "MNIST", data=torch.from_numpy(pixels), targets=torch.arange(COUNT), transform=chain
    )
    bundled = iter(loader(data))
    assert type(bundled._batches) is Bundled
    for several, each in itertools.zip_longest(bundled, loader(data, 0)):
        same(several, each)
        assert several[0].shape[1] == 1
        assert several[0].stride() == each[0].stride()


def test_several_pictures_of_each_image(tmp_path):
    cells = [[("raw", textured(20, 30, number)), number] for number in range(COUNT)]
    path = tmp_path / "raw.beton"
    path.write_bytes(Writer([("image", "image"), ("label", "int")], cells).bytes())
    views = T.Views([
        ([T.RandomResizedCrop((12, 16)), T.ToImage()], 2), [T.Resize((9, 8)), T.ToImage()],
    ])  # fmt: skip
    bundled = iter(loader(fastload.open(path, views)))
    assert type(bundled._batches) is Bundled
    for several, each in itertools.zip_longest(bundled, loader(fastload.open(path, views), 0)):
        assert [len(one) for one in (several, each)] == [2, 2]
        for one, other in zip([*several[0], several[1]], [*each[0], each[1]], strict=True):
            same(one, other)


def test_a_batch_that_is_kept_is_never_written_again():
    kept = list(loader(cifar(count=400, transform=CHAIN)))
    for one, other in zip(kept, loader(cifar(count=400, transform=CHAIN), 0), strict=True):
        same(one, other)


def test_one_batch_shares_nothing_with_the_next():
    """What autograd counts of one is not counted of another; labels may be resized."""
    batches = iter(loader())
    with torch.inference_mode():
        images, labels = next(batches)
    other, _ = next(batches)
    images += 1
    labels.resize_(2 * SIZE)
    assert (images._version, other._version) == (1, 0)
    assert not images.is_inference()


def test_a_schedule_of_sizes_keeps_them():
    given = {"size_schedule": [24], "drop_last": True}
    data = cifar(count=COUNT, transform=v2.Compose([v2.RandomResizedCrop(28), v2.ToImage()]))
    bundled = iter(loader(data, **given))
    assert type(bundled._batches) is Bundled
    same(list(bundled), list(loader(data, 0, **given)))


def test_what_only_fills_a_batch_up_is_told():
    data = cifar(count=COUNT + 3, transform=CHAIN)
    sampler = fastload.DistributedSampler(
        data, num_replicas=2, rank=1, shuffle=False, eval_exact=True
    )
    given = {"sampler": sampler, "shuffle": False}
    bundled = list(loader(data, **given))
    same(bundled, list(loader(data, 0, **given)))
    assert sum(int(valid.sum()) for _, _, valid in bundled) == (COUNT + 3) // 2


@pytest.mark.parametrize("first", [1, 7, 8, 9])
def test_an_epoch_is_resumed_within_a_bundle(first):
    made, again = loader(), loader()
    batches = iter(made)
    for _ in range(first):
        next(batches)
    again.load_state_dict(made.state_dict())
    same(list(again), list(batches))


def test_as_many_as_pytorch_has_are_under_way():
    batches = iter(loader(cifar(count=160, transform=CHAIN), workers=2))
    epoch = batches._batches
    for step in range(40):
        under_way = len(epoch.left) + sum(map(len, epoch.bundles))
        assert min(4, 40 - step) <= under_way <= batches.depth == 23
        next(batches)
    assert next(batches, None) is None


def mixed(folder, tmp_path, bad=()):
    """10 images in memory, then 12 files, some of them cut off."""
    shutil.copytree(folder, tmp_path / "files")
    chain = v2.Compose([v2.RandomResizedCrop(24), v2.ToImage()])
    files = ImageFolder(str(tmp_path / "files"), chain)
    for number in bad:
        os.truncate(files.samples[number][0], 100)
    return ConcatDataset([cifar(count=10, transform=chain), Subset(files, list(range(12)))])


def test_images_that_are_encoded_are_made_with_them(folder, tmp_path):
    data = mixed(folder, tmp_path)
    bundled = iter(loader(data))
    assert type(bundled._batches) is Bundled
    same(list(bundled), list(loader(data, 0)))


def outcomes(made, batches):
    """Of each step: its batch, or its error's text."""
    for _ in range(len(made)):
        try:
            yield next(batches)
        except SampleError as error:
            yield str(error)


def errors_of(outcome):
    return [one for one in outcome if isinstance(one, str)]


@pytest.mark.parametrize("on_error", ["raise", "substitute", "skip"])
def test_a_bad_image_is_its_own_batches(folder, tmp_path, on_error):
    data, found, told = mixed(folder, tmp_path, bad=[2, 9]), [], []
    for workers in (1, 0):
        listed = tmp_path / f"{workers}.jsonl"
        list_of = {} if on_error == "raise" else {"bad_samples": listed}
        made = loader(data, workers, on_error=on_error, max_bad=0.9, **list_of)
        found.append(list(outcomes(made, iter(made))))
        told.append(listed.read_text().splitlines() if list_of else errors_of(found[-1]))
    assert len(errors_of(found[0])) == (2 if on_error == "raise" else 0)
    assert told[0] == told[1]
    assert len(told[0]) == 2
    for several, each in zip(*found, strict=True):
        if isinstance(several, str):
            assert several == each
        else:
            same(several, each)


@pytest.mark.parametrize(
    "given",
    [
        {"sampler": Backwards(COUNT), "shuffle": False},
        {"timeout": 30},
        {"size": 512},
        {"mix": T.MixUp(alpha=0.4)},
    ],
)
def test_others_are_made_one_by_one(given):
    assert type(iter(loader(**given))._batches) is Threaded


COLOUT = [T.RandomCrop(24), T.ColOut(0.2, 0.2), T.ToImage()]


@pytest.mark.parametrize(
    "chain", [COLOUT, T.Views([[T.CenterCrop(24), T.ToImage()], COLOUT])], ids=["one", "a view"]
)
def test_what_is_drawn_for_a_whole_batch_is_of_one(chain):
    one, alone = (iter(loader(cifar(count=COUNT, transform=chain), each)) for each in (1, 0))
    assert type(one._batches) is Threaded
    same(list(one), list(alone))


@pytest.mark.parametrize("mode", ["resize", "crop"])
def test_a_schedule_that_changes_finished_batches_draws_for_each(mode):
    schedule = fastload.ProgressiveResize(total_epochs=10, mode=mode)
    data = cifar(count=COUNT, transform=v2.Compose([v2.RandomResizedCrop(28), v2.ToImage()]))
    one, alone = (iter(loader(data, each, size_schedule=schedule)) for each in (1, 0))
    assert type(one._batches) is Threaded
    same(list(one), list(alone))


@pytest.mark.parametrize(
    ("images", "together", "count"),
    [(64, 8, 8), (100, 8, 5), (256, 8, 2), (512, 5, 1), (None, 1, 1)],
)
def test_a_bundle_has_at_most_512_images(images, together, count):
    plan = loader()._route.plan
    assert bundles.size(plan, images, together) == count


def test_a_child_of_fork_is_told_that_batches_are_elsewhere():
    batches = iter(loader())
    next(batches)
    child = os.fork()
    if not child:
        try:
            next(batches)
        except BackendError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_nothing_comes_after_the_end():
    batches = iter(loader())
    next(batches)
    batches._batches.close()
    assert next(batches, None) is None
