"""MIX: records from uniforms, against torchvision's and timm's own classes and Composer's
formulae.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fastload import transforms as T
from fastload.errors import PipelineError
from fastload.plan.batch import mix_records
from fastload.plan.plan import Plan
from fastload.spec import Spec, Work
from fastload.transforms import mixing, sampling
from fastload.transforms.mix import as_mix
from fastload.transforms.reference.mix import mix as pixels

from .mix_helpers import CLASSES, HEIGHT, WIDTH, batch, drawn

EVERY = {
    "MixUp": T.MixUp(0.4), "CutMix": T.CutMix(0.7), "MixUp.composer": T.MixUp.composer(),
    "CutMix.composer": T.CutMix.composer(),
    "timm, batch": T.MixUp.timm(0.8, 1.0, prob=0.9), "timm, pair": T.MixUp.timm(0.8, 1.0,
    mode="pair"),
    "timm, elem": T.MixUp.timm(0.8, 1.0, mode="elem", prob=0.7), "timm, minmax": T.MixUp.timm(0.0,
    cutmix_minmax=(0.2, 0.9), mode="elem"),
    "choice": as_mix(T.RandomChoice([T.MixUp(), T.CutMix()])), "smoothing": T.LabelSmoothing(0.2),
}  # fmt: skip

SHAPE, WANTED = [6, 3, HEIGHT, WIDTH], "want [N, C, H, W] and [N]; give a batch"


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


def take_our_draws(patch, theirs, share, cut, of_boxes):
    """timm's Mixup draws these shares, these choices of CutMix, and boxes by these uniforms."""
    uniforms = iter(of_boxes.ravel().tolist())
    patch.setattr(theirs, "_params_per_batch", lambda: (float(share[0]), bool(cut[0])))
    patch.setattr(theirs, "_params_per_elem", lambda _: (share.astype(np.float32), cut.copy()))
    patch.setattr(
        np.random, "randint", lambda low, high, **_: low + int(next(uniforms) * (high - low))
    )


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
        of_boxes = rows[cut, 4:] if mix.cutmix_minmax else rows[cut, 4:6]
        with monkeypatch.context() as patch:
            take_our_draws(patch, theirs, share, cut, of_boxes)
            want, want_labels = theirs(images.clone(), labels)
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
        mixed = mix.records(np.full(mix.draws(5), value), 5, HEIGHT, WIDTH)
        assert np.isfinite(mixed.weights).all()
        assert np.isfinite(mixed.shares).all()


def test_the_middle_of_an_odd_batch_is_its_own_partner_in_timms_pairing():
    for mode in ("batch", "pair", "elem"):
        _, mixed = drawn(T.MixUp.timm(0.5, mode=mode), 5)
        assert mixed.partner.tolist() == [4, 3, 2, 1, 0]
    _, mixed = drawn(T.MixUp.timm(0.5, mode="pair"), 5)
    assert mixed.weights[2].tolist() == [1, 0]
    np.testing.assert_array_equal(mixed.weights[:2], mixed.weights[:2:-1])


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


def test_a_choice_of_mixes_is_called_with_a_batch():
    images, labels = batch(6)
    mixes = [T.MixUp(num_classes=CLASSES), T.CutMix(num_classes=CLASSES)]
    for p in (None, [0.0, 1.0]):
        seen = []
        for choice in (T.RandomChoice(mixes, p), as_mix(T.RandomChoice(mixes, p))):
            torch.manual_seed(3)
            seen.append(choice(images, labels))
        assert all(map(torch.equal, *seen))
    with pytest.raises(PipelineError, match="RandomChoice: holds MixUp, want ops"):
        T.RandomChoice(mixes)(images[0])
    with pytest.raises(PipelineError, match="RandomChoice: holds RandomInvert, want"):
        T.RandomChoice([T.RandomInvert()])(images, labels)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (torch.zeros(6), "labels are float32, want class numbers; give whole numbers"),
        (torch.ones(6) > 0, "labels are bool, want class numbers; give whole numbers"),
        (
            [0] * 6,
            f"images and labels are {SHAPE} and list, want [N, C, H, W] and [N]; give a batch",
        ),
    ],
)
def test_what_are_no_class_numbers_is_refused(labels, said):
    with pytest.raises(PipelineError) as caught:
        T.CutMix(num_classes=CLASSES)(batch(6)[0], labels)
    assert str(caught.value) == f"CutMix: {said}"


@pytest.mark.parametrize("name", EVERY)
def test_mixes_that_are_drawn_ahead_have_the_bits_of_those_drawn_alone(name, monkeypatch):
    """Gamma values of many batches are made at once."""
    plan = Plan(None, (), Spec(HEIGHT, WIDTH), mix=EVERY[name])
    samples, steps = np.arange(6), (0, 1, 31, 32, 7)

    def of(step):
        return mix_records(plan, Work(samples, samples * 0, 5, 1, step, rank=2))

    sampling._foreseen.clear()
    ahead = [of(step) for step in steps]
    sampling._foreseen.clear()
    monkeypatch.setattr("fastload.plan.batch.is_foreseen", lambda *_: True)
    for step, found in zip(steps, ahead, strict=True):
        for one, other in zip(found, of(step), strict=True):
            np.testing.assert_array_equal(one, other)
    assert not sampling._foreseen
