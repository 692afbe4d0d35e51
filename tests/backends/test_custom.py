"""Users' functions as ops: native threads and the torch backend run the same code with the same
numbers.
"""

import os
import re

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import rng
from fastload import transforms as T
from fastload.transforms import custom
from tests.conftest import needs_numba

from .custom_helpers import CROP, batches, noise, only_python, same, shade, upside_down


@custom(draws=1)
def sometimes_outside(image, u):
    if u[0] > 0.9:
        image[image.shape[0], 0, 0] = 1


@custom(draws=1)
def sometimes_smaller(image, u):
    return image[1:] if u[0] > 0.9 else image


@custom(draws=1)
def sometimes_raises(image, u):
    if u[0] > 0.9:
        raise ValueError("too bright")


def always_raises(image, u):
    image[0, 0, 0] = 1 // int(u[0])


PIPELINES = {
    "last": [*CROP, T.RandAugment(), shade, T.ToImage()],
    "first": [
        *CROP,
        shade,
        noise,
        T.RandAugment(),
        upside_down,
        T.RandomHorizontalFlip(),
        T.ToImage(channels_last=True),
    ],
    "between lookups": [
        *CROP,
        T.RandomSolarize(100),
        shade,
        T.RandomInvert(),
        upside_down,
        T.RandomEqualize(),
        T.ToTensor(),
    ],
    "inside others": [
        *CROP,
        T.RandomChoice([noise, T.RandomApply([shade, upside_down])]),
        T.AugMix(),
        noise,
        T.ToImage(),
    ],
}


@pytest.mark.long
@pytest.mark.parametrize("name", PIPELINES)
def test_native_gives_the_references_pixels_with_any_workers(name, folder):
    want = batches(folder, PIPELINES[name], "torch")
    for workers in (0, 1, 4):
        for (images, labels), (wanted, wanted_labels) in zip(
            batches(folder, PIPELINES[name], "native", num_workers=workers), want, strict=True
        ):
            assert torch.equal(images, wanted)
            assert torch.equal(labels, wanted_labels)


@needs_numba
def test_batch_size_does_not_matter(folder):
    one, other = (
        torch.cat([images for images, _ in batches(folder, PIPELINES["first"], "native", size)])
        for size in (3, 16)
    )
    assert torch.equal(one, other)


@needs_numba
def test_the_function_gets_the_samples_own_uniforms(folder):
    @custom(draws=5)
    def write(image, u):
        for k in range(5):
            image[0, k, 0] = int(u[k] * 256)

    (images, _), *_ = batches(
        folder, [T.Resize((4, 9)), T.RandAugment(), write, T.ToImage()], "native"
    )
    work = fastload.spec.Work(
        np.array(list(fastload.ShuffleSampler(40, 5))[:7]), np.zeros(7, np.int64), 5, 0, 0
    )
    keys = rng.sample_uniforms(work, 3, 1)[:, 0] * 2.0**32
    want = [(rng.keyed_uniforms(int(key), 5) * 256).astype(np.uint8).tolist() for key in keys]
    assert images[:, 0, 0, :5].tolist() == want
    assert len(set(map(tuple, want))) == 7


def nothing(image):
    pass


@pytest.mark.parametrize("function", [nothing, same])
def test_nothing_is_changed_by_what_changes_nothing(function, make_image):
    image = make_image(17, 23, 0)
    out = custom(function)(Image.fromarray(image))
    assert np.array_equal(np.asarray(out), image)


def test_an_op_is_callable_on_images_and_tensors_and_leaves_them_alone(make_image):
    image = make_image(9, 14, 0)
    assert np.array_equal(np.asarray(upside_down(Image.fromarray(image))), image[::-1])
    tensor = torch.from_numpy(image).permute(2, 0, 1)
    before = tensor.clone()
    assert torch.equal(upside_down(tensor), before.flip(1))
    shade(tensor)
    assert torch.equal(tensor, before)
    grey = Image.fromarray(image[..., 0])
    assert np.array_equal(np.asarray(upside_down(grey)), image[::-1, :, 0])


@pytest.mark.long
@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (sometimes_outside, "sometimes_outside raised IndexError: index is out of bounds"),
        (
            sometimes_smaller,
            "sometimes_smaller returned uint8 [19, 31, 3], want nothing or uint8 [20, 31, 3]",
        ),
        (sometimes_raises, "sometimes_raises raised ValueError: too bright"),
    ],
)
def test_what_fails_on_an_image_is_that_samples_error(op, reason, folder):
    errors = []
    for backend, workers in (("native", 0), ("native", 2), ("torch", 0), ("torch", 2)):
        with pytest.raises(fastload.SampleError) as caught:
            batches(folder, [*CROP, op, T.ToImage()], backend, num_workers=workers)
        errors.append(str(caught.value))
    data = fastload.open(folder)
    sample = caught.value.index
    assert errors == [f"{data.samples[sample][0]}, sample {sample}: op 3: {reason}"] * 4
    torch.manual_seed(0)
    data = fastload.open(folder, [*CROP, op])
    with pytest.raises(fastload.SampleError) as caught:
        [data[0] for _ in range(200)]
    assert str(caught.value) == f"{data.samples[0][0]}, sample 0: {reason}"


@pytest.mark.long
def test_images_that_pillow_decodes_too(bad_folder, encode, make_image):
    root = bad_folder({"1.png": encode(make_image(30, 41, 2), "PNG")})
    ops = [T.Resize((20, 31)), custom(always_raises, draws=1), T.ToImage()]
    for order in ([0, 1], [1, 0]):
        errors = []
        for backend in ("native", "torch"):
            with pytest.raises(fastload.SampleError) as caught:
                list(
                    fastload.DataLoader(
                        fastload.open(root, ops), 1, sampler=order, seed=1, backend=backend
                    )
                )
            errors.append(str(caught.value))
        name = os.path.join(root, "a", ("0good.jpg", "1.png")[order[0]])
        assert (
            errors
            == [
                (
                    f"{name}, sample {order[0]}: op 2: always_raises raised ZeroDivisionError: "
                    "integer division by zero"
                )
            ]
            * 2
        )
    done = [T.Resize((20, 31)), shade, T.ToImage()]
    native, reference = (
        list(fastload.DataLoader(fastload.open(root, done), 2, seed=1, backend=b))
        for b in ("native", "torch")
    )
    assert torch.equal(native[0][0], reference[0][0])


@needs_numba
def test_an_inner_function_is_named(folder):
    data = fastload.open(folder, [*CROP, T.RandomApply([shade, only_python]), T.ToImage()])
    reason = (
        "op 3 (RandomApply) holds only_python, which stays in Python: Numba cannot compile it: "
    )
    with pytest.raises(fastload.BackendError, match=re.escape(reason)):
        fastload.DataLoader(data, 8, backend="native")


@needs_numba
def test_an_error_ends_the_epoch_not_the_loader(folder):
    loader = fastload.DataLoader(
        fastload.open(folder, [*CROP, sometimes_raises, T.ToImage()]),
        40,
        seed=5,
        backend="native",
        num_workers=2,
    )
    with pytest.raises(fastload.SampleError):
        list(loader)
    with pytest.raises(fastload.SampleError):
        list(loader)
