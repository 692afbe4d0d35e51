"""Which placement the next batch gets: a caller played by numbers, that takes what its placement
and size cost.
"""

import pytest

from fastload.plan import placement
from fastload.plan.placement import ALL, HOST, Chooser, Placement, asked_for, problems

MIXED, DEVICE = ALL[1:]
DEPTH = 4


class Caller:
    """Takes batches in order, as the engine hands them out:

    DEPTH are begun before the first one is taken.
    """

    def __init__(self, chooser, costs, images=256):
        self.chooser, self.costs, self.images = chooser, costs, images
        self.now, self.begun, self.taken = 0.0, [], []

    def epoch(self, batches, size=None):
        self.chooser.begin()
        self.begun = [self.chooser.choose(size) for _ in range(min(DEPTH, batches))]
        for number in range(batches):
            mode = self.begun.pop(0)
            if number + DEPTH < batches:
                self.begun.append(self.chooser.choose(size))
            self.chooser.handed(size, mode, self.images, self.now)
            self.taken.append(mode)
            self.now += self.costs[mode, size] if (mode, size) in self.costs else self.costs[mode]
        return self


def chooser(placements=ALL):
    return Chooser(placements, DEPTH, lambda first, last: last - first)


@pytest.mark.parametrize("fastest", ALL, ids=str)
def test_the_fastest_place_is_chosen_after_as_many_batches_as_the_turns_take(fastest):
    found = chooser()
    caller = Caller(found, {mode: 0.05 if mode == fastest else 0.08 for mode in ALL}).epoch(400)
    most = placement.ROUNDS * len(ALL) * (2 * DEPTH + placement.COUNTED + 1)
    assert set(caller.taken[most:]) == {fastest}
    assert {
        mode: caller.taken.count(mode) >= placement.ROUNDS * placement.COUNTED for mode in ALL
    } == dict.fromkeys(ALL, True)
    assert found.rates(None) == pytest.approx(
        {mode: 256 / (0.05 if mode == fastest else 0.08) for mode in ALL}
    )


def test_each_size_has_its_own():
    costs = {
        (HOST, 128): 0.04,
        (MIXED, 128): 0.05,
        (DEVICE, 128): 0.06,
        (HOST, 224): 0.09,
        (MIXED, 224): 0.08,
        (DEVICE, 224): 0.07,
    }
    found = chooser()
    small, large = Caller(found, costs).epoch(400, 128), Caller(found, costs).epoch(400, 224)
    assert (small.taken[-1], large.taken[-1]) == (HOST, DEVICE)
    assert Caller(found, costs).epoch(40, 128).taken == [HOST] * 40  # nothing is measured again


def test_within_the_margin_the_place_that_leaves_the_gpu_alone_wins():
    almost = {HOST: 1.0, MIXED: 1 - 0.9 * placement.MARGIN, DEVICE: 1 - 0.9 * placement.MARGIN}
    assert Caller(chooser(), almost).epoch(400).taken[-1] == HOST
    assert (
        Caller(chooser(), almost | {MIXED: 1 - 1.5 * placement.MARGIN}).epoch(400).taken[-1]
        == MIXED
    )


def test_one_disturbed_turn_decides_nothing():
    found = chooser()
    caller = Caller(found, {HOST: 0.05, MIXED: 0.06, DEVICE: 0.07})
    caller.epoch(2 * DEPTH + 3)
    caller.now += 30.0  # a checkpoint is written, in HOST's first turn
    caller.chooser.begin = lambda: None
    caller.epoch(400)
    assert caller.taken[-1] == HOST


def test_epochs_that_are_too_short_to_measure_stay_with_the_host():
    found = chooser()
    caller = Caller(found, {HOST: 9.0, MIXED: 0.1, DEVICE: 0.1})
    for _ in range(100):
        caller.epoch(DEPTH + 3)
    assert set(caller.taken) == {HOST}
    assert found.explain()[-1] == "still measuring (training got nothing yet)"


def test_a_trial_goes_on_in_the_next_epoch():
    caller = Caller(chooser(), {HOST: 0.3, MIXED: 0.2, DEVICE: 0.1})
    for _ in range(60):
        caller.epoch(2 * DEPTH + placement.COUNTED + 1)
    assert caller.taken[-1] == DEVICE


def test_what_is_not_known_yet_is_waited_for_with_the_host():
    known = []
    found = Chooser(ALL, DEPTH, lambda first, last: (last - first) if known else None)
    caller = Caller(found, {HOST: 0.3, MIXED: 0.2, DEVICE: 0.1}).epoch(400)
    assert caller.taken[-50:] == [HOST] * 50
    known.append(True)
    assert caller.epoch(40).taken[-40:] == [DEVICE] * 40


def test_one_place_is_not_measured():
    found = chooser([MIXED])
    assert Caller(found, {MIXED: 0.1}).epoch(300).taken == [MIXED] * 300
    assert (found.rates(None), found.explain()) == ({}, ["decode='cpu', augment='gpu'"])


def test_a_place_that_fails_is_dropped_and_the_others_are_measured_anew():
    found = chooser()
    costs = {HOST: 0.3, MIXED: 0.2, DEVICE: 0.1}
    assert Caller(found, costs).epoch(400).taken[-1] == DEVICE
    assert found.drop(DEVICE, "no memory")
    assert found.drop(DEVICE, "again")  # a batch that was under way
    caller = Caller(found, costs).epoch(400)
    assert (caller.taken[-1], DEVICE in caller.taken) == (MIXED, False)
    assert found.explain() == [
        "decode='gpu', augment='gpu' is out: no memory",
        f"chosen {MIXED} (training got {HOST} 853 images/s; {MIXED} 1,280 images/s)",
    ]
    assert found.drop(MIXED, "neither")
    assert not found.drop(HOST, "the last one stays")
    assert found.choose(None) == HOST


def test_explain_names_sizes():
    found = chooser([HOST, MIXED])
    assert found.explain() == [
        "measured in the first batches: decode='cpu', augment='cpu'; decode='cpu', augment='gpu'"
    ]
    Caller(found, {HOST: 0.1, MIXED: 0.2}).epoch(300, 160)
    assert found.explain() == [
        f"at 160 px: chosen {HOST} (training got {HOST} 2,560 images/s; {MIXED} 1,280 images/s)",
    ]


@pytest.mark.parametrize(
    ("decode", "augment", "want"),
    [
        ("auto", "auto", ALL), ("cpu", "auto", (HOST, MIXED)), ("auto", "gpu", (MIXED, DEVICE)),
        ("gpu", "auto", (DEVICE,)),
        ("auto", "cpu", (HOST,)), ("cpu", "cpu", (HOST,)), ("cpu", "gpu", (MIXED,)),
        ("gpu", "gpu", (DEVICE,)), ("gpu", "cpu", ()),
    ],
)  # fmt: skip
def test_arguments_leave_these_places(decode, augment, want):
    assert asked_for(decode, augment) == want
    assert (problems(decode, augment, "cuda") == []) == bool(want)
    assert (problems(decode, augment, None) == []) == ("gpu" not in (decode, augment))


def test_problems_are_named_together():
    assert problems("gpu", "cpu", "cpu") == [
        "decode: 'gpu' needs device='cuda' (got 'cpu'); add device='cuda', or leave decode out",
        (
            "augment: 'cpu' needs decode='cpu' (got 'gpu', whose images are on the GPU); leave "
            "augment out, or use 'gpu'"
        ),
    ]


def test_a_placement_reads_as_it_is_asked_for():
    assert str(Placement("gpu", "gpu")) == "decode='gpu', augment='gpu'"
