"""Folding CROP: whatever order of ops is accepted, the record and the instructions do what the ops
do one by one.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image

from fastload import _native
from fastload import transforms as T
from fastload.backends.native import crop, instructions
from fastload.errors import PipelineError
from fastload.plan.steps import infer_specs
from fastload.transforms import pil

side = st.integers(1, 40)
filters = st.sampled_from(("bilinear", "nearest", "box", "bicubic", "hamming", "lanczos"))
RESIZES = st.one_of(
    st.builds(lambda h, w, by: T.Resize((h, w), by), side, side, filters),
    st.builds(T.Resize, side, filters),
    st.builds(lambda h, w, by: T.RandomResizedCrop((h, w), interpolation=by), side, side, filters),
)
FLIPS = st.sampled_from([T.RandomHorizontalFlip(), T.RandomVerticalFlip()])
WINDOWS = st.one_of(
    st.builds(lambda h, w: T.CenterCrop((h, w)), side, side),
    st.builds(T.Pad, st.tuples(*[st.integers(0, 9)] * 4)),
    st.builds(
        lambda h, w, more: T.RandomCrop((h, w), more, pad_if_needed=True),
        side,
        side,
        st.none() | st.integers(0, 5),
    ),
    st.builds(lambda h, w: T.RandomCrop((h, w)), side, side),
)
WARPS = st.sampled_from(
    [
        T.RandomAffine(40, (0.2, 0.3), fill=9),
        T.RandomRotation(30, "bilinear"),
        T.RandomPerspective(0.5, 0.5),
    ]
)


@pytest.mark.long
@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    first=st.lists(st.one_of(RESIZES, FLIPS), max_size=2),
    middle=st.lists(st.one_of(FLIPS, WINDOWS), max_size=5),
    last=st.lists(st.one_of(FLIPS, WARPS), max_size=4), height=st.integers(1, 50),
    width=st.integers(1, 50), seed=st.integers(0, 99),
)  # fmt: skip
def test_what_is_accepted_is_exact(first, middle, last, height, width, seed):
    rng = np.random.default_rng(seed)
    image, sizes = (
        rng.integers(0, 256, (height, width, 3), np.uint8),
        np.array([[height, width]], np.int32),
    )
    try:
        steps, _ = infer_specs((*first, *middle, *last))
        assume(not crop.unsupported(steps))
        records, size = [], sizes
        for step in steps:
            found, size = step.op.params(rng.random((1, step.draws)), size)
            records.append(found)
    except PipelineError:
        assume(False)
    want = Image.fromarray(image)
    for step, record in zip(steps, records, strict=True):
        want = pil.apply(step.op, want, record[0])
    boxes, rows = crop.fold(steps, records, sizes)
    out = np.zeros((*size[0], 3), np.uint8)
    _native.crop_resize(image, boxes[0], out, crop.interpolation(steps), "best", pil.PASS_ORDER)
    program = instructions.joined([row[:, None] for row in rows])
    np.testing.assert_array_equal(
        out if program is None else _native.augment(out, program[0]), np.asarray(want)
    )
