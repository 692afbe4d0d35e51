"""One bad image costs one image: the others are what they would have been, and no label meets
another image's pixels.
"""

import json
import os
import warnings
from pathlib import Path

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

OPS = [T.RandomResizedCrop((8, 12), scale=(0.5, 1)), T.RandomHorizontalFlip()]
CLASSES, PER_CLASS = 4, 10
BAD = (3, 11, 12, 13, 30)  # two ways in turn: no image at all, and one that is cut off


def colour(label: int) -> tuple[int, int, int]:
    """Of all images of a class."""
    return (40 + 50 * label, 200 - 40 * label, 90)


def fill(root, encode, bad=BAD, per_class=PER_CLASS):
    """ROOT/CLASS/NAME.jpg, all images of a class in its colour; those in `bad` are broken."""
    good = {}
    for label in range(CLASSES):
        pixels = np.broadcast_to(np.array(colour(label), np.uint8), (48, 40, 3)).copy()
        pixels[::7, ::5] += 9
        good[label] = encode(pixels, quality=95)
    for number in range(CLASSES * per_class):
        label = number // per_class
        path = root / f"class{label}" / f"{number:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = good[label]
        path.write_bytes(
            data if number not in bad else (b"no image", data[: len(data) * 2 // 3])[number % 2]
        )
    return str(root)


@pytest.fixture
def broken(tmp_path, encode):
    return fill(tmp_path / "data", encode)


def loader(root, policy="substitute", ops=OPS, **named):
    options = {
        "batch_size": 6,
        "shuffle": True,
        "seed": 3,
        "num_workers": 2,
        "max_bad": 0.5,
        "backend": "native",
        **named,
    }
    return fastload.DataLoader(fastload.open(root, ops), on_error=policy, **options)


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
}


@pytest.mark.parametrize("kind", KINDS)
def test_substitutes_go_through_the_whole_pipeline(broken, kind):
    want = [list(loader(broken, backend="torch", num_workers=0, **KINDS[kind]))]
    same(list(loader(broken, **KINDS[kind])), want[0])


@pytest.mark.parametrize("kind", ["views", "fast", "augmented"])
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


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_the_list(broken, tmp_path, backend):
    path = tmp_path / "new" / "bad.jsonl"
    for _ in range(2):  # a second run lists nothing again
        made = loader(broken, bad_samples=path, backend=backend, num_workers=0)
        for _ in range(2):
            list(made)
    found = lines(path)
    assert sorted(row["index"] for row in found) == list(BAD)
    for row in found:
        assert list(row) == ["path", "index", "offset", "reason"]
        assert row["path"] == os.path.join(
            broken, f"class{row['index'] // PER_CLASS}", f"{row['index']:05d}.jpg"
        )
        assert row["offset"] == 0
        assert row["reason"].startswith("cannot be decoded (")


def test_the_list_in_the_cache(broken, cache):
    list(loader(broken))
    (path,) = (cache / "fastload" / "bad_samples").iterdir()
    assert len(lines(path)) == len(BAD)


def test_a_torn_line_is_passed_over(broken, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"path": 1}\n[]\n{"path": "x", "ind')
    list(loader(broken, bad_samples=path))
    text = path.read_bytes().splitlines()
    assert text[2] == b'{"path": "x", "ind'
    assert len(text) == 3 + len(BAD)
    assert all(json.loads(line)["index"] in BAD for line in text[3:])


def test_a_list_that_cannot_be_written_is_one_warning(broken, tmp_path):
    (tmp_path / "file").write_text("")
    made = loader(broken, bad_samples=tmp_path / "file" / "bad.jsonl", num_workers=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(made)
        list(made)
    want = (
        f"{tmp_path}/file/bad.jsonl: bad samples cannot be listed (File exists); give "
        "bad_samples=PATH that can be written"
    )
    assert [str(one.message) for one in caught] == [want]


def test_too_many(broken, tmp_path):
    path = tmp_path / "bad.jsonl"
    made = loader(broken, max_bad=1, bad_samples=path, shuffle=False, num_workers=0)
    with pytest.raises(fastload.BadSamplesError) as caught:
        list(made)
    first, second = str(caught.value).splitlines()
    assert first.startswith(
        os.path.join(broken, "class1", "00011.jpg") + ", sample 11: cannot be decoded ("
    )
    assert second == (
        f"{broken}: 2 bad samples in epoch 0, max_bad=1 allows 1 of 40; see {path}, mend or remove "
        "the files, or allow more"
    )
    list(loader(broken, max_bad=12 / 40, shuffle=False))


def test_the_budget_goes_on_after_resume(broken):
    made = loader(broken, max_bad=3, shuffle=False, num_workers=0)
    iterator = iter(made)
    next(iterator)
    assert made.state_dict()["bad"] == 1
    other = loader(broken, max_bad=3, shuffle=False, num_workers=0)
    other.load_state_dict(made.state_dict())
    with pytest.raises(
        fastload.BadSamplesError, match="4 bad samples in epoch 0, max_bad=3 allows 3 of 40"
    ):
        list(other)


def test_limits():
    assert [bad_samples.limit(most, 1000) for most in (0, 7, 0.0, 0.01, 0.0101, 1.0)] == [
        0,
        7,
        0,
        10,
        11,
        1000,
    ]


def test_a_file_that_vanishes(broken):
    made = loader(broken, shuffle=False)
    reference = loader(broken, shuffle=False, backend="torch", num_workers=0)
    os.unlink(os.path.join(broken, "class0", "00000.jpg"))
    same(list(made), list(reference))


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


@pytest.mark.parametrize(
    ("named", "text"),
    [
        (
            {"on_error": "ignore"},
            "DataLoader: on_error is 'ignore', want 'raise', 'substitute' or 'skip'",
        ),
        (
            {"max_bad": 1.5},
            (
                "DataLoader: max_bad is 1.5, want a share of the samples (0.0 to 1.0) or a number of "
                "them (0, 1, …)"
            ),
        ),
        (
            {"max_bad": True},
            (
                "DataLoader: max_bad is True, want a share of the samples (0.0 to 1.0) or a number of "
                "them (0, 1, …)"
            ),
        ),
        (
            {"bad_samples": "x"},
            (
                "DataLoader: bad_samples is given, but on_error='raise' lists none; leave it out, or "
                "use 'substitute' or 'skip'"
            ),
        ),
        (
            {"on_error": "skip", "mix": T.MixUp(alpha=1.0)},
            (
                "on_error: 'skip' would leave images of a mixed batch without their partners; use "
                "'substitute'"
            ),
        ),
    ],
)
def test_what_makes_no_sense(broken, named, text):
    with pytest.raises(fastload.FastloadError) as caught:
        fastload.DataLoader(fastload.open(broken, OPS), 4, **named)
    assert str(caught.value) == text


def test_pytorchs_own_engine_has_no_policy():
    data = torch.utils.data.TensorDataset(torch.arange(4))
    with pytest.raises(
        fastload.BackendError, match=r"^loader: on_error='skip' cannot run this data set: data set "
    ):
        fastload.DataLoader(data, on_error="skip")
    with pytest.raises(
        fastload.BackendError, match=r"^loader: eval_exact cannot run this data set: data set "
    ):
        fastload.DataLoader(data, sampler=DistributedSampler(4, eval_exact=True))


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
