"""One bad image costs one image: the others are what they would have been, and no label meets
another image's pixels.
"""

import os

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import DistributedSampler
from fastload import transforms as T
from fastload.errors import SampleError
from fastload.plan import bad_samples
from fastload.spec import Work

from .on_error_helpers import BAD, OPS, PER_CLASS, colour, fill, loader, with_bad_ones
from .test_bad_sample_list import lines


@pytest.fixture
def broken(tmp_path, encode):
    return with_bad_ones(tmp_path, encode)


def indices(made, epoch=0):
    """Sample numbers of each batch, bad ones too."""
    made.set_epoch(epoch)
    found = [work.samples.tolist() for work in made._works(made._route.plan, 3, epoch)]
    made.set_epoch(epoch)
    return found


def same(ones, others):
    assert len(ones) == len(others) > 0
    for one, other in zip(ones, others, strict=True):
        for a, b in zip(one, other, strict=True):
            if isinstance(a, list):
                same([a], [b])
            else:
                torch.testing.assert_close(a, b, rtol=0, atol=0)


def images_fit_labels(batch):
    means = batch[0].float().mean(dim=(2, 3))
    wanted = torch.tensor([colour(int(label)) for label in batch[1]]).float()
    assert (means - wanted).abs().max() < 12


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("policy", ["substitute", "skip"])
def test_the_good_samples_are_untouched(broken, tmp_path, encode, policy, backend):
    clean = loader(fill(tmp_path / "clean", encode, bad=()), "raise", backend="native")
    made = loader(broken, policy, backend=backend, num_workers=0 if backend == "torch" else 2)
    for epoch in range(3):
        order = indices(made, epoch)
        clean.set_epoch(epoch)
        batches = list(made)
        for samples, (images, labels), (want, right) in zip(order, batches, clean, strict=True):
            good = [place for place, sample in enumerate(samples) if sample not in BAD]
            mine = range(len(good)) if policy == "skip" else good
            assert len(images) == len(labels) == (len(good) if policy == "skip" else len(samples))
            assert torch.equal(images[list(mine)], want[good])
            assert torch.equal(labels[list(mine)], right[good])
            images_fit_labels((images, labels))
    assert made.stats()["bad_samples"] >= 3 * len(BAD)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_all_backends_and_any_workers_give_the_same(broken, workers):
    want = list(loader(broken, backend="torch", num_workers=0))
    same(list(loader(broken, num_workers=workers)), want)
    same(
        list(loader(broken, num_workers=workers)),
        list(loader(broken, backend="torch", num_workers=1)),
    )


KINDS = {
    "views": {"ops": T.Views([(OPS, 2), [T.RandomResizedCrop(9)]])},
    "mix": {
        "mix": T.CutMix(alpha=1.0),
        "ops": [*OPS, T.ToImage(), T.ToDtype("float32", scale=True)],
    },
    "fast": {"decode_scale": "fast", "ops": [T.Resize((6, 6)), T.RandomHorizontalFlip()]},
    "sizes": {"size_schedule": [8, 12], "ops": [T.RandomResizedCrop(16)]},
    "augmented": {"ops": [*OPS, T.TrivialAugmentWide()]},
    "window": {"ops": [T.RandomCrop((7, 9)), T.RandomHorizontalFlip()]},  # takes no smaller image
}


@pytest.mark.parametrize("kind", KINDS)
def test_substitutes_go_through_the_whole_pipeline(broken, kind):
    want = [list(loader(broken, backend="torch", num_workers=0, **KINDS[kind]))]
    same(list(loader(broken, **KINDS[kind])), want[0])


@pytest.mark.parametrize("kind", ["views", "fast", "augmented", "window"])
def test_shorter_batches_of_every_kind(broken, kind):
    same(
        list(loader(broken, "skip", **KINDS[kind])),
        list(loader(broken, "skip", backend="torch", num_workers=0, **KINDS[kind])),
    )


def test_who_stands_in_is_drawn_by_key_alone(broken):
    def rows(made):
        return sorted(
            (bytes(image.numpy().tobytes()), int(label))
            for images, labels in made
            for image, label in zip(images, labels, strict=True)
        )

    whole = rows(loader(broken))
    assert rows(loader(broken, batch_size=1)) == rows(loader(broken, batch_size=40)) == whole
    ranks = [
        loader(
            broken, shuffle=None, sampler=fastload.ShuffleSampler(40, 3, num_replicas=2, rank=rank)
        )
        for rank in range(2)
    ]
    assert sorted(row for rank in ranks for row in rows(rank)) == whole


def test_a_resumed_run_gives_the_same(broken):
    made = loader(broken)
    whole, states = [], []
    iterator = iter(made)
    while True:
        states.append(made.state_dict())
        if (batch := next(iterator, None)) is None:
            break
        whole.append(batch)
    for step in (1, 3, 5):
        other = loader(broken, num_workers=0)
        other.load_state_dict(states[step])
        same(list(other), whole[step:])
        assert other._progress.bad == made._progress.bad == len(BAD)


def test_only_samples_of_the_users_sampler_stand_in(broken):
    part = [0, 3, 5, 11, 12, 20]
    made = loader(broken, shuffle=None, sampler=part, batch_size=3)
    for samples, (_, labels) in zip([part[:3], part[3:]], made, strict=True):
        good = {sample // PER_CLASS for sample in samples if sample not in BAD}
        assert set(labels.tolist()) <= good


@pytest.mark.parametrize(
    "sampler",
    [
        torch.utils.data.RandomSampler(range(15)),
        DistributedSampler(40, weights=[1.0] * 20 + [0.0] * 20),
    ],
)
def test_nothing_stands_in_that_a_known_sampler_leaves_out(broken, sampler):
    for _, labels in loader(broken, shuffle=None, sampler=sampler, batch_size=8):
        assert set(labels.tolist()) <= {0, 1}


@pytest.mark.parametrize("channels_last", [False, True])
def test_what_is_left_lies_in_memory_as_whole_batches_do(broken, channels_last):
    ops = [T.RandomResizedCrop((24, 32)), T.ToImage(channels_last=channels_last)]
    for workers in (0, 2):
        batches = list(loader(broken, "skip", ops=ops, num_workers=workers))
        assert len({len(labels) for _, labels in batches}) > 1
        assert {images.stride() for images, _ in batches} == {
            (3 * 24 * 32, 1, 3 * 32, 3) if channels_last else (3 * 24 * 32, 24 * 32, 32, 1)
        }


def test_a_batch_without_any_good_sample(broken):
    batches = [[0, 1], [3, 12], [4, 5]]
    made = loader(broken, "skip", shuffle=None, batch_size=1, batch_sampler=batches)
    assert [len(labels) for _, labels in made] == [2, 2]
    assert made._progress.step == 3
    with pytest.raises(SampleError, match=r"00003\.jpg, sample 3: cannot be decoded"):
        list(loader(broken, shuffle=None, batch_size=1, batch_sampler=batches))
    ranks = DistributedSampler(40, 2, 1, shuffle=False)
    with pytest.raises(fastload.BadSamplesError) as caught:
        list(loader(broken, "skip", shuffle=None, sampler=ranks, batch_size=1))
    assert (
        str(caught.value)
        == "on_error='skip': nothing is left of a batch, and other ranks have theirs; use "
        "'substitute'"
    )


def test_a_file_that_vanishes(broken):
    made = loader(broken, shuffle=False)
    reference = loader(broken, shuffle=False, backend="torch", num_workers=0)
    os.unlink(os.path.join(broken, "class0", "00000.jpg"))
    same(list(made), list(reference))


@pytest.mark.long
def test_a_function_that_fails(broken):
    pytest.importorskip("numba")

    @fastload.transforms.custom
    def picky(image):
        if image[0, 0, 0] > 150:
            raise ValueError("too red")
        return image

    ops = [*OPS, picky]
    want = list(loader(broken, ops=ops, backend="torch", num_workers=0, max_bad=1.0))
    made = loader(broken, ops=ops, max_bad=1.0)
    same(list(made), want)
    assert {int(label) for _, labels in want for label in labels} <= {0, 1, 2}
    assert made.stats()["bad_samples"] >= 10
    skipped = loader(broken, "skip", ops=ops, max_bad=1.0)
    same(
        list(skipped),
        list(loader(broken, "skip", ops=ops, backend="torch", num_workers=0, max_bad=1.0)),
    )


def test_exact_evaluation_counts_no_substitute(broken):
    ranks = [
        loader(
            broken,
            shuffle=None,
            sampler=DistributedSampler(40, 3, rank, shuffle=False, eval_exact=True),
        )
        for rank in range(3)
    ]
    counts = [int(batch[2].sum()) for made in ranks for batch in made]
    assert sum(counts) == 40 - len(BAD)


def test_one_percent_of_two_thousand(tmp_path, encode):
    """The gate: three epochs of 2,000 images, 20 of them broken."""
    broken = tuple(range(50, 2000, 100))
    root = fill(tmp_path / "many", encode, broken, per_class=500)
    path = tmp_path / "bad.jsonl"
    made = loader(
        root,
        ops=[T.RandomResizedCrop(8, scale=(0.5, 1))],
        batch_size=64,
        bad_samples=path,
        max_bad=0.02,
    )
    for _ in range(3):
        count = 0
        for batch in made:
            images_fit_labels(batch)
            count += len(batch[1])
        assert count == 2000
    assert sorted(row["index"] for row in lines(path)) == list(broken)


def test_candidates_are_others_and_never_come_as_themselves():
    work = Work(np.arange(7), np.zeros(7, np.int64), 1, 2, 3)
    for place in range(7):
        found = bad_samples.candidates(work, place, 7)
        assert len(found) > 8
        assert set(found.tolist()) <= set(range(7)) - {place}
    twice = bad_samples.standing_in(bad_samples.standing_in(work, 2, 5, work, 3), 2, 6, work, 3)
    assert twice.samples.tolist() == [0, 1, 6, 3, 4, 5, 6]
    assert twice.occurrences.tolist() == [0, 0, 65536 // 3 - 1, 0, 0, 0, 0]
    assert work.samples.tolist() == list(range(7))


def test_the_reference_names_a_file_that_cannot_be_read(broken):
    made = loader(broken, "raise", shuffle=False, backend="torch", num_workers=0)
    path = os.path.join(broken, "class0", "00000.jpg")
    os.unlink(path)
    with pytest.raises(SampleError) as caught:
        next(iter(made))
    assert str(caught.value) == f"{path}, sample 0: cannot be read (No such file or directory)"


def test_images_are_what_the_test_says(broken):
    """The broken files are broken, the others not."""
    data = fastload.open(broken)
    for number in range(40):
        try:
            assert isinstance(data[number][0], Image.Image)
            assert number not in BAD
        except SampleError:
            assert number in BAD
