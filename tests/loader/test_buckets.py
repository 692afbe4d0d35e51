"""Loaders whose batches have the sizes of aspect-ratio buckets."""

import copy
import json
from itertools import islice

import pytest
import torch
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from fastload import BucketSampler
from fastload import transforms as T
from fastload.errors import BackendError, PipelineError, UsageError

from .resume_helpers import check_every_step, check_some, digest, told_once

BUCKETS = [(24, 56), (40, 48), (40, 40), (48, 32), (56, 24)]
HOW = {
    "random crop": [T.Resize(40), T.RandomCrop(40), T.RandomHorizontalFlip(), T.ToImage()],
    "centre crop": [T.Resize(44), T.CenterCrop(40), T.ToTensor(), T.Normalize((0.5,), (0.5,))],
    "bicubic": [T.Resize(40, "bicubic"), T.CenterCrop(40), T.ToImage(channels_last=True)],
    "random box": [T.RandomResizedCrop(40, scale=(0.5, 1)), T.RandAugment(), T.ToTensor()],
    "stretched": [T.Resize((40, 40)), T.RandomHorizontalFlip(), T.ColOut(0.1), T.ToImage()],
}


@pytest.fixture(autouse=True)
def own_cache(cache):
    """No sizes of other tests."""


def make(folder, name="random crop", batch=4, world=1, rank=0, **options):
    data = fastload.open(folder, HOW[name])
    sampler = {"buckets": BUCKETS, "seed": 5, "num_replicas": world, "rank": rank}
    sampler |= options.pop("sampler", {})
    options = {"seed": 3, **options}
    return fastload.DataLoader(data, batch_sampler=BucketSampler(data, batch, **sampler), **options)


def taken(loader):
    return [(images.clone(), labels) for images, labels in loader]


def assert_same(got, want):
    assert len(got) == len(want)
    for (images, labels), (others, other_labels) in zip(got, want, strict=True):
        torch.testing.assert_close(images, others, rtol=0, atol=0)
        assert images.stride() == others.stride()
        assert torch.equal(labels, other_labels)


@pytest.mark.parametrize("name", HOW)
def test_backends_and_threads_give_the_same_pixels(folder, name):
    native = taken(make(folder, name, backend="native"))
    assert len({images.shape[2:] for images, _ in native}) == 5
    assert_same(taken(make(folder, name, backend="torch")), native)
    for workers in (1, 3):
        assert_same(taken(make(folder, name, num_workers=workers)), native)


def test_batches_have_the_sizes_of_their_buckets(folder):
    loader = make(folder, num_workers=1)
    sampler = copy.copy(loader.batch_sampler)
    sampler.set_epoch(0)
    wanted = [(part.size, len(part.samples)) for part in sampler.batches()]
    assert [(tuple(images.shape[2:]), len(images)) for images, _ in loader] == wanted
    assert len(loader) == len(wanted)


def test_pixels_are_torchvisions(folder):
    """Resize so that the image covers its bucket, then crop: px for px what torchvision makes."""
    loader = make(folder, "bicubic")
    samples = ImageFolder(folder).samples
    sampler = copy.copy(loader.batch_sampler)
    sampler.set_epoch(0)
    for part, (images, _) in zip(sampler.batches(), loader, strict=True):
        height, width = part.size
        for sample, image in zip(part.samples, images, strict=True):
            original = Image.open(samples[sample][0]).convert("RGB")
            factor = max(height / original.height, width / original.width)
            covering = [int(side * factor + 1e-9) for side in (original.height, original.width)]
            want = v2.functional.resize(original, covering, v2.InterpolationMode.BICUBIC)
            want = v2.functional.center_crop(want, [height, width])
            assert torch.equal(v2.functional.pil_to_tensor(want), image)


def test_a_square_bucket_is_the_pipeline_as_it_is(folder):
    data = fastload.open(folder, HOW["random crop"])
    sampler = BucketSampler(data, 4, buckets=[(40, 40)], shuffle=False)
    plain = fastload.DataLoader(data, 4, seed=3)
    assert_same(taken(fastload.DataLoader(data, batch_sampler=sampler, seed=3)), taken(plain))


def test_torchvisions_data_set_runs_natively(folder):
    chain = v2.Compose([v2.Resize(40), v2.RandomCrop(40), v2.PILToTensor()])
    data = ImageFolder(folder, chain)
    sampler = BucketSampler(data, 4, buckets=BUCKETS, seed=5)
    loader = fastload.DataLoader(data, batch_sampler=sampler, seed=3, num_workers=1)
    native = fastload.open(folder, [*HOW["random crop"][:2], T.ToImage()])
    other = BucketSampler(native, 4, buckets=BUCKETS, seed=5)
    assert_same(taken(loader), taken(fastload.DataLoader(native, batch_sampler=other, seed=3)))
    assert "native" in loader.explain().splitlines()[0]


def test_torchs_own_loader_takes_the_sampler(folder):
    data = ImageFolder(folder, v2.Compose([v2.Resize((8, 8)), v2.PILToTensor()]))
    sampler = BucketSampler(data, 4, buckets=BUCKETS, seed=5)
    lengths = [
        len(images) for images, _ in torch.utils.data.DataLoader(data, batch_sampler=sampler)
    ]
    assert sum(lengths) == 40
    assert len(lengths) == len(sampler)


def test_views_and_masks_follow(folder, tmp_path):
    pair = T.Views([[T.Resize(40), T.CenterCrop(40)], [T.Resize(20), T.CenterCrop(20)]])
    data = fastload.open(folder, pair)
    sampler = BucketSampler(data, 4, buckets=BUCKETS)
    for (large, small), _ in fastload.DataLoader(data, batch_sampler=sampler):
        assert [side // 2 for side in large.shape[2:]] == [*small.shape[2:]]
    for path, _ in ImageFolder(folder).samples:
        name = path.rsplit("/", 1)[1].replace("jpg", "png")
        image = Image.open(path)
        image.convert("L").save(tmp_path / name)
    ops = [T.Resize(40, "nearest"), T.RandomCrop(40), T.ToImage()]
    masked = fastload.open(
        folder, ops, masks=lambda path: str(tmp_path / path.rsplit("/", 1)[1].replace("jpg", "png"))
    )
    sampler = BucketSampler(masked, 4, buckets=BUCKETS)
    found = list(fastload.DataLoader(masked, batch_sampler=sampler, num_workers=1))
    assert all(masks.shape[-2:] == images.shape[2:] for images, masks in found)


@pytest.mark.parametrize("options", [{"num_workers": 1}, {"sampler": {"drop_last": True}}])
def test_a_state_before_every_step(folder, options):
    assert check_every_step(lambda: make(folder, batch=7, **options), epochs=1) > 6


@pytest.mark.long
def test_states_of_two_hundred_steps(folder):
    assert check_some(lambda: make(folder, batch=2, num_workers=1), 200) >= 200


def test_another_world_of_the_same_global_batch_goes_on(folder):
    """Four on one rank, or one on each of four: every step has the same samples and pixels."""
    given, states = told_once(make(folder, batch=4))
    whole = taken(make(folder, batch=4))
    for step in (0, 1, 6, len(given) - 1):
        text = json.dumps(states[step])
        parts = []
        for rank in range(4):
            loader = make(folder, batch=1, world=4, rank=rank)
            loader.load_state_dict(json.loads(text))
            parts.append(taken(loader))
        assert {len(part) for part in parts} == {len(given) - step}
        for (images, _), *shares in zip(whole[step:], *parts, strict=True):
            mine = {digest(image) for image in images}
            others = {digest(image) for share in shares for image in share[0]}
            assert mine <= others  # all of the step's; a last step may repeat some, drawn anew
            if not len(images) % 4:
                assert mine == others
    back = make(folder, batch=4)
    one = make(folder, batch=1, world=4, rank=2)
    list(islice(one, 5))
    back.load_state_dict(one.state_dict())
    assert [digest(batch) for batch in back] == given[5:]


def test_a_state_of_another_global_batch_is_refused(folder):
    loader = make(folder)
    next(iter(loader))
    state = loader.state_dict()
    for other in (make(folder, batch=2), make(folder, sampler={"buckets": BUCKETS[1:]})):
        with pytest.raises(UsageError, match="use the same sampler"):
            other.load_state_dict(state)
    assert len(state["sampler"]) < 128
    assert "global_batch=4" in state["sampler"]


def test_bad_images_do_not_end_an_epoch(bad_folder):
    root = bad_folder({"b.jpg": b"none", "c.jpg": b""})
    data = fastload.open(root, HOW["random crop"])
    sampler = BucketSampler(data, 3, buckets=BUCKETS)
    loader = fastload.DataLoader(
        data, batch_sampler=sampler, on_error="substitute", max_bad=1.0, seed=1
    )
    with pytest.warns(fastload.BadSamplesWarning):
        assert sum(len(images) for images, _ in loader) == 3


def test_memory_is_one_ring_of_slots_of_the_largest_batch(folder):
    loader = make(folder, num_workers=2, prefetch_factor=2)
    for _ in range(4):
        for _ in loader:
            pass
    (ring,) = loader._engine.rings
    largest = max(height * width for height, width in loader.batch_sampler.counts)
    assert ring.nbytes <= 4 * 3 * largest
    assert len(ring._free) <= loader._engine.depth + 2


def test_explain_says_the_buckets(folder):
    loader = make(folder, num_workers=1)
    (line,) = [line for line in loader.explain().splitlines() if line.startswith("  buckets")]
    assert line.startswith("  buckets 5 sizes (")
    assert line.endswith(loader.batch_sampler.said().rsplit("; ", 1)[1])


def test_show_draws_each_image_in_its_bucket(folder):
    loader = make(folder)
    state = loader.state_dict()
    picture = fastload.show(loader, 6)
    assert repr(picture) == "fastload.show: 6 images"
    first = [(images.shape[2], images.shape[3]) for images, _ in loader for _ in images]
    shown = [card.pictures[1].size[::-1] for card in picture.contents.cards]
    assert shown == first[:6]
    assert loader.batch_sampler.epoch == 0
    assert state["epoch"] == 0


REFUSED = {
    "padded": (
        [T.RandomCrop(40, padding=4), T.ToImage()],
        {},
        PipelineError,
        (
            "BucketSampler: nothing resizes the images to their bucket; begin with Resize and "
            "RandomCrop, or RandomResizedCrop\nBucketSampler: op 1 (RandomCrop) has no other "
            "shape; leave it out, or give batch_size in place of the sampler"
        ),
    ),
    "schedule": (
        HOW["random crop"],
        {"size_schedule": [20]},
        UsageError,
        "DataLoader: size_schedule and BucketSampler are both given; choose one",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(folder, name):
    ops, options, kind, text = REFUSED[name]
    data = fastload.open(folder, ops)
    with pytest.raises(kind) as error:
        fastload.DataLoader(data, batch_sampler=BucketSampler(data, 4, buckets=BUCKETS), **options)
    assert str(error.value) == text


def test_a_sampler_of_other_data_is_refused(folder):
    data = fastload.open(folder, HOW["random crop"])
    with pytest.raises(UsageError) as error:
        fastload.DataLoader(data, batch_sampler=BucketSampler([(3, 4)], 1, buckets=BUCKETS))
    assert str(error.value) == (
        "DataLoader: batch_sampler is of 1 images, the data set has 40; give both the same data set"
    )


def test_a_transform_that_has_no_other_shape_is_no_silent_fallback(folder):
    chain = v2.Compose([v2.Resize(40), v2.Pad(2), v2.CenterCrop(40), v2.PILToTensor()])
    data = ImageFolder(folder, chain)
    sampler = BucketSampler(data, 4, buckets=BUCKETS)
    with pytest.raises((PipelineError, BackendError), match="has no other shape"):
        fastload.DataLoader(data, batch_sampler=sampler)


class Mine(BucketSampler):
    """A class of the user's."""


class Around:
    """A batch sampler around another one, as for skipping batches."""

    def __init__(self, batch_sampler):
        self.batch_sampler = batch_sampler

    def __iter__(self):
        return iter(self.batch_sampler)


@pytest.mark.parametrize("name", ["Mine", "Around", "BatchSampler"])
def test_a_sampler_whose_sizes_would_be_lost_is_refused(folder, name):
    data = fastload.open(folder, HOW["random crop"])
    sampler = (Mine if name == "Mine" else BucketSampler)(data, 4, buckets=BUCKETS)
    given = {"batch_sampler": Around(sampler) if name == "Around" else sampler}
    with pytest.raises(UsageError) as error:
        fastload.DataLoader(data, **({"sampler": sampler} if name == "BatchSampler" else given))
    assert str(error.value) == (
        f"DataLoader: batch_sampler is of {name}, which does not say the sizes of the images that "
        "a BucketSampler gives; give the BucketSampler itself, as batch_sampler="
    )
