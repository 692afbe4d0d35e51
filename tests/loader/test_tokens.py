"""Loaders whose batches are patches of a budget of tokens."""

import copy
import json

import pytest
import torch
from PIL import Image
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from fastload import BucketSampler, TokenSampler
from fastload import transforms as T
from fastload.backends.native import drawing
from fastload.errors import BackendError, PipelineError, SampleError, UsageError

from .resume_helpers import check_every_step, check_some, digest, told_once

naflex = pytest.importorskip("timm.data.naflex_transforms")
PATCH, LENGTHS = 8, (12, 20)
NORM = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
HOW = {
    "evaluation": [T.Resize((40, 40), "bicubic"), T.ToTensor(), T.Normalize(*NORM)],
    "bytes": [T.Resize((40, 40), "bicubic"), T.ToImage()],
    "covered": [T.Resize(40), T.CenterCrop(40), T.ToImage()],
    "bfloat16": [T.Resize((40, 40)), T.ToTensor(), T.ToDtype(torch.bfloat16)],
    "training": [
        *(T.RandomResizedCrop(40, interpolation="bicubic"), T.RandomHorizontalFlip()),
        *(T.RandAugment(), T.ToTensor(), T.Normalize(*NORM), T.RandomErasing(1.0)),
    ],
}


@pytest.fixture(autouse=True)
def own_cache(cache):
    """No sizes of other tests."""


def make(folder, name="bytes", tokens=80, world=1, rank=0, **options):
    data = options.pop("data", None) or fastload.open(folder, HOW[name])
    how = {"lengths": LENGTHS, "patch": PATCH, "num_replicas": world, "rank": rank, "seed": 5}
    sampler = TokenSampler(data, tokens, **how | options.pop("sampler", {}))
    return fastload.DataLoader(data, batch_sampler=sampler, **{"seed": 3, **options})


def order(loader):
    """What is in each batch of its first epoch."""
    sampler = copy.copy(loader.batch_sampler)
    sampler.set_epoch(0)
    return list(sampler.batches())


def digests(loader):
    return [digest(batch) for batch in loader]


def padded(image, tokens):
    """A row as timm makes it of an image [3, H, W]."""
    row = naflex.patchify_image(image, (PATCH, PATCH))
    more = tokens.length - len(row[0])
    return [torch.cat([part, part.new_zeros((more, *part.shape[1:]))]) for part in row]


@pytest.mark.parametrize("name", ["evaluation", "bytes"])
@pytest.mark.parametrize("workers", [0, 2])
def test_values_are_those_of_timms_transforms(folder, name, workers):
    loader, samples = make(folder, name, num_workers=workers), ImageFolder(folder).samples
    last = transforms.PILToTensor()
    if name == "evaluation":
        last = transforms.Compose([transforms.ToTensor(), transforms.Normalize(*NORM)])
    parts, seen = order(loader), 0
    for part, (inputs, labels) in zip(parts, loader, strict=True):
        assert labels.tolist() == [samples[sample][1] for sample in part.samples]
        for n, sample in enumerate(part.samples):
            size = part.tokens.grids[n].prod()
            resize = [naflex.ResizeToSequence(PATCH, length) for length in LENGTHS]
            image = Image.open(samples[sample][0]).convert("RGB")
            made = [last(one(image)) for one in resize]
            (want,) = {m.shape: m for m in made if m[0].numel() == size * PATCH**2}.values()
            row = padded(want, part.tokens)
            for key, value in zip(("patches", "patch_coord", "patch_valid"), row, strict=True):
                torch.testing.assert_close(inputs[key][n], value, rtol=0, atol=0)
            seen += 1
    assert seen == 40


@pytest.mark.parametrize("name", ["training", "covered", "bfloat16"])
def test_each_image_is_that_of_a_batch_of_its_size(folder, name):
    """As Pillow makes it, with the same draws: batches of one size are tested against torchvision
    elsewhere.
    """
    loader, data = make(folder, name, num_workers=2), fastload.open(folder, HOW[name])
    alone = {}
    for part, (inputs, _) in zip(order(loader), loader, strict=True):
        for n, (sample, grid) in enumerate(zip(part.samples, part.tokens.grids, strict=True)):
            size = (int(grid[0]) * PATCH, int(grid[1]) * PATCH)
            if size not in alone:
                sampler = BucketSampler(data, 40, buckets=[size], shuffle=False)
                one = fastload.DataLoader(data, batch_sampler=sampler, seed=3, backend="torch")
                alone[size] = next(iter(one))[0]
            want = padded(alone[size][sample], part.tokens)
            assert inputs["patches"].dtype == want[0].dtype
            assert torch.equal(inputs["patches"][n], want[0])


def test_threads_change_nothing(folder):
    alone = digests(make(folder, "training"))
    for workers in (1, 3):
        loader = make(folder, "training", num_workers=workers)
        assert digests(loader) == alone
        assert digests(loader) != alone  # the next epoch
    assert len(alone) == len(make(folder))


def test_recorded_draws_are_the_same(folder, monkeypatch):
    """As of sizes that come often: then a part is drawn and made without Python."""
    wanted = digests(make(folder, "evaluation", tokens=40))
    monkeypatch.setattr(drawing, "FIRST_PARTS", 1)
    loader = make(folder, "evaluation", tokens=40, num_workers=2)
    assert digests(loader) == wanted
    loader.set_epoch(0)
    assert digests(loader) == wanted
    drawn = [runner.pictures[0].drawing for runner in loader._engine.runners.values()]
    assert all(one.recorded for one in drawn)


def test_torchvisions_data_set_runs_natively(folder):
    chain = v2.Compose([v2.Resize((40, 40), v2.InterpolationMode.BICUBIC), v2.PILToTensor()])
    data = ImageFolder(folder, chain)
    assert digests(make(folder, data=data)) == digests(make(folder, "bytes"))


@pytest.mark.parametrize("options", [{"num_workers": 1}, {"sampler": {"drop_last": True}}])
def test_a_state_before_every_step(folder, options):
    assert check_every_step(lambda: make(folder, **options), epochs=1) > 6


@pytest.mark.long
def test_states_of_two_hundred_steps(folder):
    assert check_some(lambda: make(folder, tokens=40, num_workers=1), 200) >= 200


def test_another_world_of_the_same_images_in_a_step_goes_on(folder):
    """Four rows on one rank, or one on each of four: every step has the same samples."""
    same = {"lengths": 20, "padding": 0.9}
    given, states = told_once(make(folder, sampler=same))
    whole = order(make(folder, sampler=same))
    for step in (0, 1, len(given) - 1):
        ranks = []
        for rank in range(4):
            loader = make(folder, tokens=20, world=4, rank=rank, sampler=same)
            loader.load_state_dict(json.loads(json.dumps(states[step])))
            ranks.append([len(labels) for _, labels in loader])
        assert {len(each) for each in ranks} == {len(given) - step}
        wanted = [len(part.samples) for part in whole[step:]]
        assert [-(-count // 4) for count in wanted] == ranks[0]


def test_a_state_of_other_rows_is_refused(folder):
    loader = make(folder)
    next(iter(loader))
    state = loader.state_dict()
    for other in ({"lengths": (12, 24)}, {"patch": 4}, {"padding": 0.5}):
        with pytest.raises(UsageError, match="use the same sampler"):
            make(folder, sampler=other).load_state_dict(state)
    assert len(state["sampler"]) < 128


@pytest.mark.parametrize("workers", [0, 2])
def test_a_bad_image_costs_its_batch_or_itself(bad_folder, workers):
    root = bad_folder({"b.jpg": b"none", "c.jpg": b""})
    how = {"on_error": "raise", "max_bad": 1.0, "num_workers": workers}
    loader = make(root, tokens=60, **how)
    with pytest.raises(SampleError, match=r"b\.jpg|c\.jpg"):
        list(loader)
    for policy, left in (("substitute", 3), ("skip", 1)):
        loader = make(root, tokens=60, **how | {"on_error": policy})
        with pytest.warns(fastload.BadSamplesWarning):
            found = list(loader)
        assert sum(len(labels) for _, labels in found) == left
        for inputs, labels in found:
            assert {len(value) for value in inputs.values()} == {len(labels)}


def test_an_epoch_goes_on_after_a_batch_that_failed(bad_folder):
    loader = make(bad_folder({"b.jpg": b"none"}), tokens=60, num_workers=1, max_bad=1.0)
    found, failed, steps, batches = 0, 0, len(loader), iter(loader)
    for _ in range(steps):
        try:
            found += len(next(batches)[1])
        except SampleError:
            failed += 1
    assert failed == 1
    assert found in (0, 1)
    with pytest.raises(StopIteration):
        next(batches)


def test_memory_is_one_ring_of_slots(folder):
    loader = make(folder, num_workers=2, prefetch_factor=2)
    for _ in range(4):
        for _ in loader:
            pass
    (ring,) = loader._engine.rings
    assert ring.nbytes <= 80 * PATCH**2 * 3
    assert len(ring._free) <= loader._engine.depth + 2


def test_batches_that_are_kept_stay_as_they_are(folder):
    kept = list(make(folder, num_workers=2))
    assert [digest(batch) for batch in kept] == digests(make(folder))


def test_an_epoch_may_be_left_early(folder):
    loader = make(folder, num_workers=2)
    first = digest(next(iter(loader)))
    loader.set_epoch(0)
    assert digests(loader)[0] == first


def test_explain_says_what_batches_are(folder):
    loader = make(folder, num_workers=1)
    (line,) = [line for line in loader.explain().splitlines() if line.startswith("  tokens")]
    assert line == f"  tokens  {loader.batch_sampler.said()}"


def test_show_draws_each_image_in_its_size(folder):
    loader = make(folder, "bytes")
    picture = fastload.show(loader, 6)
    assert repr(picture) == "fastload.show: 6 images"
    first = [grid for part in order(loader) for grid in part.tokens.grids.tolist()][:6]
    shown = [card.pictures[1].size[::-1] for card in picture.contents.cards]
    ratios = [high / wide for high, wide in first]
    assert [height / width for height, width in shown] == pytest.approx(ratios, rel=0.05)


REFUSED = {
    "padded": (
        [T.RandomCrop(40, padding=4), T.ToImage()], {}, PipelineError,
        (
            "TokenSampler: nothing resizes the images to their patches; begin with Resize and "
            "RandomCrop, or RandomResizedCrop\nTokenSampler: op 1 (RandomCrop) has no other "
            "shape; leave it out, or give batch_size in place of the sampler"
        ),
    ),
    "schedule": (
        HOW["bytes"], {"size_schedule": [20]}, UsageError,
        "DataLoader: size_schedule and TokenSampler are both given; choose one",
    ),
    "mix": (
        HOW["evaluation"], {"mix": T.MixUp(num_classes=3)}, PipelineError,
        "TokenSampler: mix mixes images of one size; leave it out",
    ),
    "views": (
        T.Views([HOW["bytes"], HOW["bytes"]]), {}, PipelineError,
        "TokenSampler: Views give several pictures of an image; give one transform",
    ),
    "gray": (
        [T.Resize((40, 40)), T.Grayscale(), T.ToImage()], {}, PipelineError,
        "TokenSampler: images have 1 channel, want 3; leave Grayscale out",
    ),
    "another backend": (
        HOW["bytes"], {"backend": "torch"}, BackendError,
        "loader: backend 'torch' makes no patches; use backend='native'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(folder, name):
    ops, options, kind, text = REFUSED[name]
    data = fastload.open(folder, ops)
    with pytest.raises(kind) as error:
        make(folder, data=data, **options)
    assert str(error.value) == text


def test_rows_that_are_dropped_leave_no_whole_patches(folder):
    data = fastload.open(folder, [T.Resize((40, 40)), T.ColOut(0.2), T.ToImage()])
    with pytest.raises(PipelineError, match=r"the pipeline ends with .*; leave out ops that drop"):
        make(folder, data=data)


def test_what_is_not_native_is_no_silent_fallback(folder):
    data = ImageFolder(folder, v2.Compose([lambda image: image.rotate(3), v2.PILToTensor()]))
    with pytest.raises(BackendError, match="TokenSampler cannot run this data set: "):
        make(folder, data=data)
