"""Jobs whose images are cut into patches."""

import numpy as np
import pytest

from fastload import _native as native

from .helpers import fetch, files, jpeg, noise, picture, table, whole

HIGH, WIDE, PATCH = 2, 3, 8


@pytest.fixture
def images(tmp_path):
    return files(tmp_path, [jpeg(noise(30 + n, 40, n)) for n in range(3)])


def made(images, out, patch, values=None, height=HIGH * PATCH, width=WIDE * PATCH, **lists):
    pool = native.Pool(2)
    job = fetch(pool, images)
    job.wait_fetched()
    crops = whole(job.sizes, height, width)
    job.run([picture(crops, "bicubic", values, out, height, width, True, patch=patch, **lists)])
    job.wait_done()
    assert job.status.tolist() == [native.OK] * 3
    return out


def cut(images, tokens):
    """Patches of images [N, H, W, 3], row by row, filled up with zeros."""
    grid = images.reshape(len(images), HIGH, PATCH, WIDE, PATCH, 3).transpose(0, 1, 3, 2, 4, 5)
    rows = grid.reshape(len(images), HIGH * WIDE, -1)
    out = np.zeros((len(images), tokens, rows.shape[2]), images.dtype)
    out[:, : HIGH * WIDE] = rows
    return out


@pytest.mark.parametrize("tokens", [HIGH * WIDE, HIGH * WIDE + 3])
@pytest.mark.parametrize("kind", ["uint8", "float16", "float32", "erased"])
def test_patches_are_those_of_the_whole_image(images, tokens, kind):
    values = None if kind in ("uint8", "erased") else table().astype(kind)
    dtype = np.uint8 if values is None else values.dtype
    lists = {}
    if kind == "erased":
        boxes = np.array([[[1, 2, 7, 9]]] * 3, np.int32)
        lists = {"boxes": boxes, "fills": np.array([[3, 5, 7]], np.uint8)}
    want = made(images, np.zeros((3, HIGH * PATCH, WIDE * PATCH, 3), dtype), 0, values, **lists)
    got = np.full((3, tokens, PATCH * PATCH * 3), 77, dtype)
    made(images, got, PATCH, values, **lists)
    np.testing.assert_array_equal(got, cut(want, tokens))


WRONG = {
    "side": (
        7, (3, 6, 147), {},
        "Job.run: patch (got 7, want a side, px, of which 16x24 px are multiples)",
    ),
    "negative": (
        -8, (3, 6, 192), {},
        "Job.run: patch (got -8, want a side, px, of which 16x24 px are multiples)",
    ),
    "tokens": (8, (3, 5, 192), {}, "Job.run: out: tokens (got 5, want 6 or more)"),
    "mixed": (
        8, (3, 6, 192), {"partners": np.zeros((3, 7), np.int32)},
        "Job.run: partners (got of patches, want none: images are mixed)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused(images, name):
    patch, shape, lists, text = WRONG[name]
    with pytest.raises(ValueError, match=r"Job\.run") as error:
        made(images, np.zeros(shape, np.uint8), patch, **lists)
    assert str(error.value) == text


def test_out_has_the_values_of_a_patch(images):
    with pytest.raises(ValueError, match=r"Job\.run: out"):
        made(images, np.zeros((3, 6, 100), np.uint8), PATCH)
