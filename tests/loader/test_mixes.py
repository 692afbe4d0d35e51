"""fastload.mix: several data sets as one loader sees them."""

import copy
import json

import numpy as np
import pytest
import torch
from torch.utils.data import RandomSampler

import fastload
from fastload import transforms as T
from fastload.errors import PipelineError, SourceError, UsageError
from tests.conftest import encoded, textured
from tests.loader.resume_helpers import check_every_step, digest

OPS = [T.RandomResizedCrop((24, 32)), T.RandomHorizontalFlip(), T.ToImage()]
SIZES = {"one": 20, "two": 6, "three": 11}
CLASSES = {"one": ("cat", "dog"), "two": ("dog", "owl"), "three": ("cat",)}


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    """Three folders of classes, some of the same names."""
    root = tmp_path_factory.mktemp("mixes")
    for number, (name, size) in enumerate(SIZES.items()):
        for image in range(size):
            label = CLASSES[name][image % len(CLASSES[name])]
            file = root / name / label / f"{image:02}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(encoded(textured(40 + image, 60, 100 * number + image)))
    return {name: str(root / name) for name in SIZES}


def mixed(roots, **named):
    weights = {roots["one"]: 5, roots["two"]: 3, roots["three"]: 2}
    return fastload.mix(weights, OPS, **({"length": 40} | named))


def loader(data, batch_size=8, **named):
    return fastload.DataLoader(data, batch_size, shuffle=True, **({"seed": 4} | named))


def counts(roots, data, order):
    """How many samples each part has in an order."""
    names = [data.samples[sample][0] for sample in order]
    return [sum(name.startswith(f"{root}/") for name in names) for root in roots.values()]


def test_an_epoch_has_the_shares(roots):
    data = mixed(roots)
    one = loader(data, num_workers=2)
    assert len(data) == sum(SIZES.values())
    assert len(one) == 5
    assert counts(roots, data, one.sampler) == [20, 12, 8]
    assert [len(labels) for _, labels in one] == [8] * 5


def test_classes_of_one_name_are_one(roots):
    data = mixed(roots)
    assert data.classes == ("cat", "dog", "owl")
    for name, label in list(data.samples):
        assert data.classes[label] == name.split("/")[-2]
    assert sorted(torch.cat([labels for _, labels in loader(data)]).unique().tolist()) == [0, 1, 2]


def test_native_batches_are_the_references(roots):
    native, reference = (
        [batch for _ in range(2) for batch in loader(mixed(roots), backend=backend, **named)]
        for backend, named in (("native", {"num_workers": 2}), ("torch", {}))
    )
    for (images, labels), (want, wanted) in zip(native, reference, strict=True):
        assert labels.tolist() == wanted.tolist()
        assert (images.int() - want.int()).abs().max() <= 1  # as docs/differences.md says


def test_a_part_that_comes_again_is_augmented_anew(roots):
    data = fastload.mix({roots["two"]: 1}, OPS, by="weights", length=18)
    images = torch.cat([images for images, _ in loader(data)])
    assert len({digest(image) for image in images}) == 18


def test_without_a_seed_each_epoch_has_its_own(roots):
    torch.manual_seed(1)
    one = loader(mixed(roots), seed=None)
    first, second = ([labels.tolist() for _, labels in one] for _ in range(2))
    assert first != second
    torch.manual_seed(1)
    assert [labels.tolist() for _, labels in loader(mixed(roots), seed=None)] == first


def test_resumes_at_every_step(roots):
    assert check_every_step(lambda: loader(mixed(roots), num_workers=1)) > 0


@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize("batch", [1, 2])
def test_resumes_with_other_ranks_and_batches(roots, world, batch):
    """What two ranks have left is what any others go on with."""

    def ranks(world, batch):
        data = mixed(roots)
        return [
            fastload.DataLoader(
                data, batch, seed=4, sampler=fastload.DistributedSampler(data, world, rank, seed=4)
            )
            for rank in range(world)
        ]

    def rows(iterators):
        """Batches in the order of all ranks, an image each."""
        out = []
        for batches in zip(*iterators, strict=True):
            images = torch.stack([images for images, _ in batches], 1).flatten(0, 1)
            out += [digest(image) for image in images]
        return out

    before = ranks(2, 4)
    iterators = [iter(one) for one in before]
    taken = rows([[next(one)] for one in iterators])
    state = json.loads(json.dumps(before[0].state_dict()))
    left = rows(iterators)
    after = ranks(world, batch)
    for one in after:
        one.load_state_dict(copy.deepcopy(state))
    assert state["position"] == len(taken) == 8
    assert rows(map(iter, after)) == left


def test_another_mix_is_not_gone_on_with(roots):
    state = loader(mixed(roots)).state_dict()
    other = loader(mixed(roots, length=41))
    with pytest.raises(UsageError, match=r"order is of .*mixture=.*; use the same sampler"):
        other.load_state_dict(state)


def test_weights_of_numpy_and_of_any_unit(roots):
    of_numpy = np.float32(5), np.int64(3), 2
    for weights in (of_numpy, (5e-310, 3e-310, 2e-310), (5e307, 3e307, 2e307)):
        parts = dict(zip(roots.values(), weights, strict=True))
        data = fastload.mix(parts, OPS, length=40)
        assert counts(roots, data, fastload.DistributedSampler(data, 1, 0)) == [20, 12, 8]


def test_when_an_epoch_ends(roots):
    def shares(**named):
        data = fastload.mix({roots["one"]: 0.5, roots["two"]: 0.25, roots["three"]: 0.25}, **named)
        return counts(roots, data, fastload.DistributedSampler(data, 1, 0))

    assert shares() == [12, 6, 6]  # until the six of "two" were seen
    assert shares(until="all") == [22, 11, 11]
    assert shares(length=4) == [2, 1, 1]
    assert shares(by="epochs") == [10, 2, 3]


def test_other_weights_from_a_draw_on(roots):
    data = mixed(roots, length=20, schedule={20: {roots["one"]: 1}, 40: [0, 1, 1]})
    order = fastload.DistributedSampler(data, 1, 0)
    assert [counts(roots, data, order) for _ in range(3)] == [[10, 6, 4], [20, 0, 0], [0, 10, 10]]


def test_parts_that_are_open(roots):
    one, two = (fastload.open(roots[name], OPS) for name in ("one", "two"))
    data = fastload.mix([(one, 1), (roots["two"], 1)], OPS)
    same = fastload.mix([(one, 1), (two, 1)])
    assert [digest(batch) for batch in loader(data)] == [digest(batch) for batch in loader(same)]
    other = fastload.open(roots["three"], [T.ToImage()])
    with pytest.raises(PipelineError) as error:
        fastload.mix([(one, 1), (other, 1)])
    assert str(error.value) == (
        "mix: part 1: pipeline: image sizes may still differ after the last op, so they cannot be "
        "stacked; end CROP with RandomResizedCrop, CenterCrop or Resize((height, width))"
    )


def test_explain_says_the_shares(roots):
    line = next(line for line in loader(mixed(roots)).explain().split("\n") if "parts" in line)
    assert line == (
        f"  parts   {roots['one']} 50.00%, {roots['two']} 30.00%, {roots['three']} 20.00% of 40 "
        "draws in an epoch"
    )
    later = mixed(roots, schedule={80: [1, 1, 1]})
    assert "; other weights from draw 80" in loader(later).explain()


def test_an_order_is_wanted(roots):
    data = mixed(roots)
    with pytest.raises(UsageError) as error:
        fastload.DataLoader(data, 8)
    assert str(error.value) == (
        "DataLoader: dataset is a mix, whose order is that of its weights; give shuffle=True, or "
        "sampler=fastload.DistributedSampler(dataset)"
    )
    assert len(list(fastload.DataLoader(data, 37, sampler=RandomSampler(data)))) == 1


NEITHER = (
    "mix: parts are neither {path: weight, …} nor pairs of a data set, or a path, and a weight; "
    "give one of these"
)
WRONG = [
    ({}, {}, "mix: parts has no weight above 0 (got 0 parts); give one"),
    ({str(n): 1 for n in range(65_537)}, {}, "mix: parts has 65537 parts, want at most 65536"),
    ({"one": 0}, {}, "mix: parts has no weight above 0 (got 1 parts); give one"),
    ({"one": -1}, {}, "mix: parts has weight -1 for one, want a number from 0"),
    ({"one": float("nan")}, {}, "mix: parts has weight nan for one, want a number from 0"),
    ({"one": True}, {}, "mix: parts has weight True for one, want a number from 0"),
    ({"one": 1}, {"by": "x"}, "mix: by is 'x', want 'weights' or 'epochs'"),
    ({"one": 1}, {"until": "x"}, "mix: until is 'x', want 'first' or 'all'"),
    (
        {"one": 1},
        {"length": 0},
        "mix: length is 0, want a whole number from 1 to 68,719,476,736",
    ),
    (
        {"one": 1},
        {"length": 1 << 40},
        "mix: length is 1099511627776, want a whole number from 1 to 68,719,476,736",
    ),
    (
        {"one": 1},
        {"length": 4, "schedule": {3: 5}},
        "mix: schedule at 3 is 5, want weights of the parts",
    ),
    (
        {"one": 1},
        {"length": 4, "schedule": [1]},
        "mix: schedule has the draw [1], want a whole number from 0",
    ),
    *[
        (
            parts,
            {},
            NEITHER,
        )
        for parts in (None, "train", [("one",)], {5: 1}, [("one", 1, 2)])
    ],
    (
        {"one": 1},
        {"by": "epochs", "length": 3},
        "mix: by='epochs' says how long an epoch is; leave length and until out",
    ),
    (
        {"one": 1},
        {"schedule": {3: [1]}},
        "mix: schedule is given without length; say how many draws an epoch has",
    ),
    (
        {"one": 1},
        {"length": 4, "schedule": {3: {"two": 1}}},
        "mix: schedule at 3 has 'two', which is no part (want one); correct it",
    ),
    (
        {"one": 1},
        {"length": 4, "schedule": {3: [1, 1]}},
        "mix: schedule at 3 has 2 weights, want 1, one for each part",
    ),
    (
        {"one": 1},
        {"length": 4, "schedule": {-3: [1]}},
        "mix: schedule has the draw -3, want a whole number from 0",
    ),
]


@pytest.mark.parametrize(("parts", "named", "text"), WRONG)
def test_wrong_arguments(parts, named, text):
    with pytest.raises(UsageError) as error:
        fastload.mix(parts, **named)
    assert str(error.value) == text


def test_parts_that_cannot_be_mixed(roots, tmp_path):
    with pytest.raises(SourceError, match="nowhere: does not exist; check the path"):
        fastload.mix({str(tmp_path / "nowhere"): 1})
    seldom = {roots["one"]: 1e9, roots["two"]: 1}
    with pytest.raises(UsageError) as error:
        fastload.mix(seldom, length=2_000_000)
    assert str(error.value) == (
        f"mix: {roots['two']} has 0 of 2000000 draws in an epoch, want 1 in 1,048,576; give it "
        "more, or 0"
    )
    for weight, what in ((0.001, "no"), (1e300, "too many")):
        with pytest.raises(UsageError) as error:
            fastload.mix({roots["one"]: weight}, by="epochs")
        assert str(error.value) == (
            f"mix: an epoch has {what} draws (want 1 to 68,719,476,736); give length"
        )
