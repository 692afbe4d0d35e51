"""timm's strings for RandAugment and AugMix, read as timm reads them."""

import numpy as np
import pytest
from timm.data import auto_augment as theirs

from fastload import transforms as T
from fastload.errors import PipelineError

CONFIGS = [
    "rand",
    "rand-m7-mstd0.5-inc1",
    "rand-m9-n3-mstd0.5",
    "rand-p1-mmax30-m15",
    "rand-mstd101-inc0",
    "rand-mstd1-tweights",
    "rand-t3aw-n5",
]


@pytest.mark.parametrize("config", CONFIGS)
def test_randaugment_strings_are_read_as_timm_reads_them(config):
    op, want = T.RandAugment.timm(config), theirs.rand_augment_transform(config)
    levels, first = op.definition, want.ops[0]
    assert (op.num_ops, levels.names) == (want.num_layers, tuple(call.name for call in want.ops))
    assert (op.magnitude, levels.p, levels.std) == (
        first.magnitude,
        first.prob,
        first.magnitude_std,
    )
    assert levels.most == (first.magnitude_max or 10)
    if want.choice_weights is None:
        assert levels.weights is None
    else:
        np.testing.assert_allclose(
            np.array(levels.weights) / sum(levels.weights), want.choice_weights
        )


@pytest.mark.parametrize("config", ["augmix", "augmix-m5-w4-d2", "augmix-m1-a0.5-mstd2-b0"])
def test_augmix_strings_are_read_as_timm_reads_them(config):
    op, want = T.AugMix.timm(config), theirs.augment_and_mix_transform(config)
    assert (op.severity, op.mixture_width, op.chain_depth, op.alpha) == (
        want.ops[0].magnitude,
        want.width,
        want.depth,
        want.alpha,
    )
    assert (op.definition.std, op.definition.p) == (want.ops[0].magnitude_std, want.ops[0].prob)


GRAMMAR = "t, m, n, p, mstd, mmax, inc, w, each with its value"


@pytest.mark.parametrize(
    ("make", "texts"),
    [
        (lambda: T.RandAugment.timm("augmix-m3"), [("RandAugment.timm('augmix-m3'): begins with "
                                                   "'augmix', want rand")]),
        (
            lambda: T.RandAugment.timm("rand-q3-inc-m7.5-n2-n3"),
            [
                ("RandAugment.timm('rand-q3-inc-m7.5-n2-n3'): section 'q3' is unknown (want one of "
                f"{GRAMMAR})"),
                ("RandAugment.timm('rand-q3-inc-m7.5-n2-n3'): section 'inc' is unknown (want one "
                f"of {GRAMMAR})"),
                "RandAugment.timm('rand-q3-inc-m7.5-n2-n3'): section 'm7.5' has no whole number",
                ("RandAugment.timm('rand-q3-inc-m7.5-n2-n3'): section 'n3' gives n again; give it "
                "once"),
            ],
        ),
        (
            lambda: T.RandAugment.timm("rand-tall-w1"),
            [
                "RandAugment.timm('rand-tall-w1'): set 'all' is unknown (want 3a, weights, 3aw)",
                "RandAugment.timm('rand-tall-w1'): weights 1 are unknown (want w0)",
            ],
        ),
        (lambda: T.AutoAugment.timm("v1"), [("AutoAugment.timm('v1'): begins with 'v1', want "
                                            "original or originalr or v0 or v0r or 3a")]),
        (lambda: T.AugMix.timm("augmix-b1"), [("AugMix.timm('augmix-b1'): section 'b1' (blending "
                                              "chain by chain) is not written; drop it")]),
    ],
)  # fmt: skip
def test_wrong_strings(make, texts):
    with pytest.raises(PipelineError) as caught:
        make()
    assert list(caught.value.problems) == texts
