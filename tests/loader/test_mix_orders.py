"""A mix beside samplers that know nothing of its weights, and arguments that it would not use."""

import pytest
from torch.utils.data import RandomSampler
from torch.utils.data.distributed import DistributedSampler

import fastload
from fastload import UsageError
from fastload import transforms as T

OPS = [T.CenterCrop((24, 32)), T.ToImage()]


@pytest.fixture
def mixed(folder):
    parts = [(fastload.open(folder, OPS), weight) for weight in (3, 1)]
    return fastload.mix(parts, length=40)


def test_a_sampler_without_the_weights_is_refused(folder, mixed):
    other = fastload.mix([(fastload.open(folder, OPS), 1), (fastload.open(folder, OPS), 1)])
    for name, sampler in (
        # Trainers of other libraries put it in by themselves
        ("torch's DistributedSampler", DistributedSampler(mixed, 2, 0)),
        ("fastload's DistributedSampler", fastload.DistributedSampler(len(mixed), 1, 0)),
        ("fastload's DistributedSampler", fastload.DistributedSampler(other, 1, 0)),
        ("fastload's ShuffleSampler", fastload.ShuffleSampler(len(mixed))),
    ):
        with pytest.raises(UsageError) as caught:
            fastload.DataLoader(mixed, 4, sampler=sampler)
        assert str(caught.value) == (
            f"DataLoader: dataset is a mix, and this {name} does not know its weights; give "
            "sampler=fastload.DistributedSampler(dataset)"
        )


def test_explain_says_no_shares_that_a_sampler_does_not_keep(mixed):
    lines = fastload.DataLoader(mixed, 4, sampler=RandomSampler(mixed)).explain().splitlines()
    assert [line for line in lines if "parts" in line] == [
        "  parts   in the order of RandomSampler, which knows no weights"
    ]
    ours = fastload.DistributedSampler(mixed, 1, 0)
    lines = fastload.DataLoader(mixed, 4, sampler=ours).explain().splitlines()
    assert [line for line in lines if "parts" in line] == [
        "  parts   part 0 75.00%, part 1 25.00% of 40 draws in an epoch"
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"target": "txt"},
            "target is given, and all parts are open data sets, which have theirs; leave it out",
        ),
        (
            {"length": 9, "until": "all"},
            "length and until both say how long an epoch is; leave one out",
        ),
    ],
)
def test_no_argument_is_passed_over(folder, arguments, text):
    with pytest.raises(UsageError) as caught:
        fastload.mix([(fastload.open(folder, OPS), 1)], **arguments)
    assert str(caught.value) == f"mix: {text}"


def test_a_weight_that_no_float_holds_is_refused():
    with pytest.raises(UsageError) as caught:
        fastload.mix({"a": 10**309})
    assert str(caught.value) == f"mix: parts has weight {10**309} for a, want a number from 0"
