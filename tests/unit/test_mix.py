"""MIX: records from uniforms, against torchvision's and timm's own classes, Composer's formulae,
and the laws they name.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fastload import transforms as T
from fastload.errors import PipelineError, UsageError
from fastload.transforms import mixing
from fastload.transforms.mix import as_mix
from fastload.transforms.reference.mix import mix as pixels

HEIGHT, WIDTH, CLASSES = 21, 34, 7
EVERY = {
    "MixUp": T.MixUp(0.4), "CutMix": T.CutMix(0.7), "MixUp.composer": T.MixUp.composer(),
    "CutMix.composer": T.CutMix.composer(),
    "timm, batch": T.MixUp.timm(0.8, 1.0, prob=0.9), "timm, pair": T.MixUp.timm(0.8, 1.0,
    mode="pair"),
    "timm, elem": T.MixUp.timm(0.8, 1.0, mode="elem", prob=0.7), "timm, minmax": T.MixUp.timm(0.0,
    cutmix_minmax=(0.2, 0.9), mode="elem"),
    "choice": as_mix(T.RandomChoice([T.MixUp(), T.CutMix()])), "smoothing": T.LabelSmoothing(0.2),
}  # fmt: skip


def batch(count=6, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn((count, 3, HEIGHT, WIDTH), generator=generator).to(dtype)
    return images, torch.randint(CLASSES, (count,), generator=generator)


def drawn(mix, count=6, seed=0, height=HEIGHT, width=WIDTH):
    u = np.random.default_rng(seed).random(mix.draws(count))
    return u, mix.mixed(u, count, height, width)


def soft(labels, mixed, classes=CLASSES):
    return torch.from_numpy(mixing.soft_labels(labels.numpy(), mixed, classes))


@pytest.mark.parametrize("count", [1, 2, 5, 6])
@pytest.mark.parametrize("name", ["MixUp", "CutMix"])
def test_torchvisions_classes_give_the_same_bits(name, count, monkeypatch):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    for seed in range(4):
        mix, (images, labels) = EVERY[name], batch(count, seed=seed)
        u, mixed = drawn(mix, count, seed)
        theirs = getattr(v2, name)(alpha=mix.alpha, num_classes=CLASSES)
        share = torch.tensor([share_of(u, mix.alpha)], dtype=torch.float64)
        monkeypatch.setattr(theirs._dist, "sample", lambda _, share=share: share)
        uniforms = iter(u[[3, 2]] if name == "CutMix" else ())  # they draw x first
        monkeypatch.setattr(
            torch, "randint", lambda n, it=uniforms, **_: torch.tensor([int(next(it) * n)])
        )
        want, want_labels = theirs(images, labels)
        monkeypatch.undo()
        assert torch.equal(pixels(images, mixed), want)
        assert torch.equal(soft(labels, mixed), want_labels)


def share_of(u, alpha):
    from fastload.transforms.sampling import beta

    return float(beta(u[:2], alpha))


@pytest.mark.parametrize("name", [name for name in EVERY if name.startswith("timm")])
def test_timms_class_gives_the_same_bits(name, monkeypatch):
    timm = pytest.importorskip("timm.data.mixup")
    mix, kinds = EVERY[name], set()
    given = (
        mix.mixup_alpha,
        mix.cutmix_alpha,
        mix.cutmix_minmax,
        mix.prob,
        mix.switch_prob,
        mix.mode,
        mix.correct_lam,
    )
    for seed in range(12):
        images, labels = batch(seed=seed)
        u, mixed = drawn(mix, seed=seed)
        theirs = timm.Mixup(*given, mix.label_smoothing, CLASSES)
        rows = u.reshape(-1, 8)
        share, cut = mix._shares(rows)
        monkeypatch.setattr(
            theirs, "_params_per_batch", lambda s=share, c=cut: (float(s[0]), bool(c[0]))
        )
        monkeypatch.setattr(
            theirs, "_params_per_elem", lambda _, s=share, c=cut: (s.astype(np.float32), c.copy())
        )
        uniforms = iter(
            [
                float(v)
                for row, c in zip(rows, cut, strict=True)
                if c
                for v in (row[4:] if mix.cutmix_minmax else row[4:6])
            ]
        )
        monkeypatch.setattr(
            np.random,
            "randint",
            lambda low, high, it=uniforms, **_: low + int(next(it) * (high - low)),
        )
        want, want_labels = theirs(images.clone(), labels)
        monkeypatch.undo()
        kinds |= set(cut.tolist())
        assert torch.equal(pixels(images, mixed), want)
        assert torch.equal(soft(labels, mixed), want_labels)
    assert kinds == ({True} if mix.cutmix_minmax else {True, False})


def test_composers_mixup_leaves_the_partners_labels_unsmoothed():
    mix, (images, labels) = T.MixUp.composer(0.3, label_smoothing=0.1), batch()
    u, mixed = drawn(mix)
    partner, share = torch.from_numpy(np.argsort(u[2:], kind="stable")), share_of(u, 0.3)
    other = min(share, 1 - share)
    assert torch.equal(pixels(images, mixed), (1 - other) * images + other * images[partner])
    hard = torch.nn.functional.one_hot(labels, CLASSES).float()
    want = (1 - other) * (hard * (1 - 0.1) + 0.1 / CLASSES) + other * hard[partner]
    torch.testing.assert_close(soft(labels, mixed), want, rtol=0, atol=1.2e-7)


def test_composers_cutmix():
    mix, (images, labels) = T.CutMix.composer(1.0), batch()
    for seed in range(20):
        u, mixed = drawn(mix, seed=seed)
        ratio = math.sqrt(1 - share_of(u, 1.0))
        half_h, half_w = int(HEIGHT * ratio) // 2, int(WIDTH * ratio) // 2
        y, x = int(u[2] * HEIGHT), int(u[3] * WIDTH)
        top, bottom, left, right = (
            max(y - half_h, 0),
            min(y + half_h, HEIGHT),
            max(x - half_w, 0),
            min(x + half_w, WIDTH),
        )
        partner, want = torch.from_numpy(np.argsort(u[4:], kind="stable")), images.clone()
        want[:, :, top:bottom, left:right] = images[partner][:, :, top:bottom, left:right]
        assert torch.equal(pixels(images, mixed), want)
        share, hard = (
            1 - (bottom - top) * (right - left) / (HEIGHT * WIDTH),
            torch.nn.functional.one_hot(labels, CLASSES).float(),
        )
        assert torch.equal(soft(labels, mixed), hard * share + hard[partner] * (1 - share))


def test_label_smoothing_is_cross_entropys():
    images, labels = batch()
    _, mixed = drawn(T.LabelSmoothing(0.13))
    logits = torch.randn(6, CLASSES, generator=torch.Generator().manual_seed(1))
    want = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=0.13)
    torch.testing.assert_close(torch.nn.functional.cross_entropy(logits, soft(labels, mixed)), want)
    assert pixels(images, mixed) is images


@given(
    st.sampled_from(sorted(EVERY)),
    st.integers(1, 9),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(0, 2**32),
)
def test_records_fit_the_batch_and_labels_sum_to_one(name, count, height, width, seed):
    _, mixed = drawn(EVERY[name], count, seed, height, width)
    assert ((mixed.partner >= 0) & (mixed.partner < count)).all()
    top, left, box_height, box_width = mixed.box.T
    assert (mixed.box >= 0).all()
    # One fact
    assert (top + box_height <= height).all() and (left + box_width <= width).all()  # noqa: PT018
    assert ((mixed.weights >= 0) & (mixed.weights <= 1)).all()
    labels = np.arange(count) % CLASSES
    np.testing.assert_allclose(mixing.soft_labels(labels, mixed, CLASSES).sum(1), 1, atol=5e-7)
    assert mixed.rows().shape == (count, 7)


@pytest.mark.parametrize("name", EVERY)
def test_u_at_its_ends_is_no_error(name):
    mix = EVERY[name]
    for value in (0.0, 1 - 2.0**-32):
        mixed = mix.mixed(np.full(mix.draws(5), value), 5, HEIGHT, WIDTH)
        assert np.isfinite(mixed.weights).all()
        assert np.isfinite(mixed.shares).all()


def test_the_middle_of_an_odd_batch_is_its_own_partner_in_timms_pairing():
    for mode in ("batch", "pair", "elem"):
        _, mixed = drawn(T.MixUp.timm(0.5, mode=mode), 5)
        assert mixed.partner.tolist() == [4, 3, 2, 1, 0]
    _, mixed = drawn(T.MixUp.timm(0.5, mode="pair"), 5)
    assert mixed.weights[2].tolist() == [1, 0]
    np.testing.assert_array_equal(mixed.weights[:2], mixed.weights[:2:-1])


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
    return [mix.mixed(rng.random(mix.draws(count)), count, HEIGHT, WIDTH) for _ in range(batches)]


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.uint8])
def test_sums_are_rounded_once(dtype):
    images = (torch.rand(4, 3, HEIGHT, WIDTH, generator=torch.Generator().manual_seed(2)) * 255).to(
        dtype
    )
    _, mixed = drawn(T.MixUp(0.8), 4)
    own, other = (torch.tensor(v) for v in mixed.weights[0])
    exact = images.float() * own + images.roll(1, 0).float() * other
    found = pixels(images, mixed)
    assert found.dtype == dtype
    assert torch.equal(found, (exact.round() if dtype == torch.uint8 else exact).to(dtype))


def test_a_mix_is_called_with_a_batch():
    images, labels = batch()
    torch.manual_seed(1)
    found, soft_labels = T.CutMix(num_classes=CLASSES)(images, labels)
    assert found.shape == images.shape
    assert (found == images).any(dim=(1, 2, 3)).all()
    assert ((found == images) | (found == images.roll(1, 0))).all()
    assert soft_labels.shape == (6, CLASSES)


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
        (as_mix(T.RandomChoice([T.MixUp(-1), T.CutMix(num_classes=3), T.LabelSmoothing(num_classes=4)], [1, -1])), [
            "MixUp: alpha is -1, want above 0", ("p is (1, -1), want None or 3 numbers from 0 up, "
                                                "not all 0"),
            "num_classes are 3 and 4, want the same for all"]),
        (as_mix(T.RandomChoice([T.MixUp(), T.RandomInvert()], (0, 0))), [("holds RandomInvert, want "
                                                                         "MixUp, CutMix and the "
                                                                         "like only")]),
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
