"""The laws of MIX: Beta shares, areas and places of boxes, probabilities of choices; and what is
refused.
"""

import math

import numpy as np
import pytest
import torch

from fastload import transforms as T
from fastload.errors import PipelineError, UsageError
from fastload.transforms.mix import as_mix

from .mix_helpers import HEIGHT, WIDTH, batch, drawn


def two_samples(a, b):
    """Kolmogorov and Smirnov's distance, as a multiple of what 1 of 1,000 pairs of samples of one
    law exceeds.
    """
    a, b = np.sort(a), np.sort(b)
    every = np.concatenate([a, b])
    distance = np.abs(
        np.searchsorted(a, every, side="right") / len(a)
        - np.searchsorted(b, every, side="right") / len(b)
    ).max()
    return distance / (1.95 * math.sqrt((len(a) + len(b)) / (len(a) * len(b))))


def many(mix, count=1, batches=2000):
    rng = np.random.default_rng(11)
    return [mix.records(rng.random(mix.draws(count)), count, HEIGHT, WIDTH) for _ in range(batches)]


@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.0])
def test_shares_have_the_beta_law(alpha):
    known = np.random.default_rng(5).beta(alpha, alpha, 20_000)
    assert two_samples([m.shares[0, 0] for m in many(T.MixUp(alpha), 1, 200)], known) < 1
    assert (
        two_samples(
            [m.shares[0, 1] for m in many(T.MixUp.composer(alpha), 1, 200)],
            np.minimum(known, 1 - known),
        )
        < 1
    )
    _, elem = drawn(T.MixUp.timm(alpha, mode="elem"), 4000, 3)
    assert two_samples(elem.shares[:, 0], known) < 1
    assert (
        two_samples(
            elem.shares[:, 0], np.random.default_rng(6).beta(alpha * 1.3, alpha * 1.3, 20_000)
        )
        > 1
    )  # it can tell


def test_boxes_have_torchvisions_areas_and_places():
    v2 = pytest.importorskip("torchvision.transforms.v2")
    torch.manual_seed(3)
    made, images = v2.CutMix(alpha=1.0, num_classes=2), torch.empty(1, 3, HEIGHT, WIDTH)
    theirs = [made.make_params([images]) for _ in range(1000)]
    ours = many(T.CutMix())
    assert two_samples([m.shares[0, 0] for m in ours], [p["lam_adjusted"] for p in theirs]) < 1
    for place, side in enumerate((1, 0)):  # top, left
        assert two_samples([m.box[0, place] for m in ours], [p["box"][side] for p in theirs]) < 1


def test_choices_have_their_probabilities(p_value):
    for p, shares in ((None, (0.5, 0.5)), ((3.0, 1.0), (0.75, 0.25))):
        found = many(as_mix(T.RandomChoice([T.MixUp(), T.CutMix()], p)))
        cut = sum(m.weights[0, 1] == 0 for m in found)
        assert p_value(np.array([len(found) - cut, cut]), np.array(shares)) > 1e-3
    timm = drawn(T.MixUp.timm(0.5, 1.0, prob=0.6, switch_prob=0.3, mode="elem"), 4000)[1]
    cut, mixed = (timm.box[:, 2] > 0).sum(), (timm.weights[:, 1] > 0).sum()
    # a box may be empty though CutMix was drawn: 1 to 2 % of them
    assert p_value(np.array([mixed, 4000 - mixed]), np.array([0.42, 0.58])) > 1e-3
    assert 0.15 < cut / 4000 < 0.2


@pytest.mark.parametrize(
    ("mix", "problems"),
    [
        (T.MixUp(-1.0, 0, 1, 2.0), ["alpha is -1.0, want above 0", ("num_classes is 0, want None "
                                                                   "(the data set's) or a whole "
                                                                   "number from 1"),
                                    "label_smoothing is 2.0, want 0 to 1",
                                    ("labels_getter is 1, want 'default'; a batch is images and "
                                    "labels")]),
        (T.MixUp(float("nan")), ["alpha is nan, want above 0"]),
        (T.CutMix(0, definition="mine"), ["alpha is 0, want above 0", ("definition is 'mine', want "
                                                                      "one of torchvision, "
                                                                      "composer")]),
        (T.LabelSmoothing(-0.1), ["smoothing is -0.1, want 0 to 1"]),
        (T.MixUp.timm(0.0), [("mixup_alpha and cutmix_alpha are 0, want one of them above 0, or "
                             "cutmix_minmax")]),
        (T.MixUp.timm(-1, float("nan"), [0.8, 0.2], 1.5, -0.5, "half"), [
            "mixup_alpha is -1, want 0 or more", "cutmix_alpha is nan, want 0 or more", ("prob is "
                                                                                        "1.5, want "
                                                                                        "0 to 1"),
            "switch_prob is -0.5, want 0 to 1", "mode is 'half', want one of batch, pair, elem",
            "cutmix_minmax is (0.8, 0.2), want two rising numbers from 0 to 1"]),
        (as_mix(T.RandomChoice([T.MixUp(-1), T.CutMix(num_classes=3),
        T.LabelSmoothing(num_classes=4)], [1, -1])), [
            "MixUp: alpha is -1, want above 0", ("p is (1, -1), want None or 3 numbers from 0 up, "
                                                "not all 0"),
            "num_classes are 3 and 4, want the same for all"]),
        (as_mix(T.RandomChoice([T.MixUp(), T.RandomInvert()], (0, 0))), [("holds RandomInvert, "
                                                                         "want MixUp, CutMix and "
                                                                         "the like only")]),
    ],
)  # fmt: skip
def test_every_problem_at_once(mix, problems):
    assert mix.problems() == problems


def test_what_is_no_mix_is_refused():
    with pytest.raises(UsageError) as error:
        as_mix(T.RandomChoice([T.RandomInvert()]))
    assert str(error.value).endswith(
        "want fastload.transforms' MixUp, CutMix, LabelSmoothing or RandomChoice of them"
    )
    images, labels = batch()
    with pytest.raises(PipelineError) as problem:
        T.MixUp()(images, labels)
    assert (
        str(problem.value)
        == "MixUp: num_classes is not given, and the data set does not name its classes; give "
        "num_classes"
    )
    with pytest.raises(PipelineError) as problem:
        T.MixUp(num_classes=3)(images[0], labels)
    assert (
        str(problem.value)
        == "MixUp: images and labels are [3, 21, 34] and [6], want [N, C, H, W] and [N]; give a "
        "batch"
    )
