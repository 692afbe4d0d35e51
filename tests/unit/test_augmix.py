"""AugMix: weights, lengths and mixing, by each library's own arithmetic."""

import numpy as np
import pytest
from PIL import Image

from fastload import transforms as T
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.definitions.torchvision import MIX_ALL, MIX_SAFE
from fastload.transforms.programs import CODE

SIZE = np.array([[37, 53]], np.int32)
MIXING = [CODE[name] for name in ("Add", "Sum", "Mix", "Blend")]


def drawn(op, count, seed=0):
    u = np.random.default_rng(seed).random((count, op.draws(Spec())))
    return op.params(u, np.repeat(SIZE, count, axis=0)).records


def by_hand(op, image, program, mixing):
    """Chains one by one with the reference's ops, mixed in each library's own steps."""
    weights, chains, image_ = [], [], image
    for row in program:
        if row[0] == CODE["Add"]:
            weights.append(np.float32(row[1]))
            chains.append(np.asarray(image_, np.float32))
            image_ = image
        elif row[0] not in MIXING:
            image_ = pil.apply(op, image_, row[None])
    total = np.zeros_like(chains[0])
    for weight, chain in zip(weights, chains, strict=True):
        total += weight * chain
    if mixing == "torchvision":
        return total.astype(np.uint8)
    if mixing == "composer":
        m = np.float32(program[-2, 1])
        return np.uint8((1 - m) * np.asarray(image) + m * total)
    mixed = Image.fromarray(np.clip(total, 0, 255).astype(np.uint8))
    return np.asarray(Image.blend(image, mixed, np.float32(program[-1, 1])))


OPS = {
    "torchvision": T.AugMix(),
    "composer": T.AugMix.composer(5),
    "timm": T.AugMix.timm("augmix-m5-w4-d2"),
}


@pytest.mark.parametrize("mixing", OPS)
def test_images_are_mixed_as_each_library_does(mixing, make_image):
    op = OPS[mixing]
    for image in (
        Image.fromarray(make_image(37, 53, 1)),
        Image.new("RGB", (53, 37), (3, 255, 90)),
        Image.fromarray(make_image(37, 53, 1)[..., 0]),
    ):
        if image.mode == "L" and mixing == "timm":
            op = T.AugMix.timm("augmix-m5-w4-d2", fill=5)
        for program in drawn(op, 20, 3):
            np.testing.assert_array_equal(
                np.asarray(pil.apply(op, image, program)), by_hand(op, image, program, mixing)
            )


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_weights_sum_to_one_and_chains_have_one_to_three_ops(alpha, p_value):
    op = T.AugMix(alpha=alpha, mixture_width=4)
    programs = drawn(op, 100_000)
    adds = np.where(programs[..., 0] == CODE["Add"], programs[..., 1], 0.0)
    assert (adds >= 0).all()
    assert abs(adds.sum(axis=1) - 1).max() < 1e-6
    assert (programs[:, 0, 0] == CODE["Add"]).all()  # the image itself
    assert (programs[:, -2, 0] == CODE["Sum"]).all()
    assert abs(programs[:, 0, 1].mean() - 0.5) < 0.005
    assert abs(programs[:, 0, 1].var() * 4 * (2 * alpha + 1) - 1) < 0.02  # Beta's
    chain = programs[:, 1:4, 0]
    lengths = (chain > 0).sum(axis=1)
    assert (np.diff((chain > 0).astype(int), axis=1) <= 0).all()
    assert p_value(np.bincount(lengths, minlength=4), np.array([0, 1 / 3, 1 / 3, 1 / 3])) > 1e-3


@pytest.mark.parametrize(("all_ops", "space"), [(True, MIX_ALL), (False, MIX_SAFE)])
def test_chains_draw_torchvisions_ops_below_the_severity(all_ops, space, p_value):
    from torchvision.transforms import autoaugment

    programs = drawn(T.AugMix(4, 1, 1, all_ops=all_ops), 100_000)[:, 1]
    counts = np.array([(programs[:, 0] == CODE[name]).sum() for name in space.names])
    assert p_value(counts, np.full(len(space.names), 1 / len(space.names))) > 1e-3
    theirs = autoaugment.AugMix(all_ops=all_ops)._augmentation_space(10, (37, 53))
    assert set(theirs) == set(space.names)
    for name, (magnitudes, signed) in theirs.items():
        found = np.abs(programs[programs[:, 0] == CODE[name], 1])
        values = magnitudes[:4].double().numpy() if magnitudes.ndim else np.zeros(1)
        if name in ("Brightness", "Color", "Contrast", "Sharpness"):
            found = np.abs(found - 1)
        if name.startswith("Translate"):
            values = np.trunc(values)
        kinds, counts = np.unique(found.round(6), return_counts=True)
        np.testing.assert_allclose(kinds, np.unique(values.round(6)), atol=2e-6)
        shares = np.array([np.mean(np.abs(values - kind) < 2e-6) for kind in kinds])
        assert len(kinds) == 1 or p_value(counts, shares) > 1e-4, (name, signed)


def test_constant_images_stay_within_one():
    for op in OPS.values():
        image = Image.new("RGB", (53, 37), (128, 128, 128))
        plain = [row for row in drawn(op, 1)[0] if row[0] in MIXING]
        assert abs(np.asarray(pil.apply(op, image, np.array(plain))).astype(int) - 128).max() <= 1


@pytest.mark.parametrize(
    ("op", "texts"),
    [
        (T.AugMix(0, 0, alpha=0), [
            "severity is 0, want 1 to 10 (torchvision's definition)", ("mixture_width is 0, want 1 "
                                                                      "or more"),
            "alpha is 0, want a number above 0",
        ]),
        (T.AugMix(chain_depth=17, fill=(1, 2)), [
            "chain_depth is 17, want up to 16, or a negative number (1 to 3)",
            ("fill is (1, 2), want None (black), a number from 0 to 255, or one for each of 3 "
            "channels"),
        ]),
        (T.AugMix(mixture_width=40), [("40 chains of 3 ops make 163 steps, want up to 128; take "
                                      "fewer")]),
        (T.AugMix.composer(11, augmentation_set="some"), [
            "severity is 11, want 0 to 10 (Composer's definition)", ("augmentation_set is 'some', "
                                                                    "want one of all, safe, "
                                                                    "original"),
        ]),
        (T.AugMix(mixing="own", definition="x", interpolation="box"), [
            "mixing is 'own', want one of torchvision, composer, timm", ("interpolation is 'box', "
                                                                        "want one of nearest, "
                                                                        "bilinear, bicubic"),
            "definition is 'x', want None; AugMix.timm and the like set it",
        ]),
    ],
    ids=str,
)  # fmt: skip
def test_every_problem_is_told(op, texts):
    assert op.problems(Spec(37, 53)) == texts
