"""STORE on the GPU gives the bits of the scalar specification."""

import numpy as np
import pytest
import torch

from fastload import _native

pytestmark = pytest.mark.cuda

# The types as the kernels see them: bits. bfloat16 has no NumPy type, its bits travel as uint16.
DTYPES = {"uint8": np.uint8, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}
SIZES = [(1, 1), (1, 257), (13, 7), (33, 65), (224, 161)]  # height, width; px; no multiples of a block
CANARY = 0xA5


def random_images(count: int, height: int, width: int) -> np.ndarray:
    """uint8 [N, H, W, 3], every value in every channel."""
    return np.random.default_rng(count * height + width).integers(0, 256, (count, height, width, 3), np.uint8)


def random_table(dtype: type) -> np.ndarray:
    """[3, 256] of any bits at all: NaNs and infinities must come through as they are."""
    return np.frombuffer(np.random.default_rng(7).bytes(3 * 256 * np.dtype(dtype).itemsize), dtype).reshape(3, 256).copy()


def bits(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def specification(images: np.ndarray, table: np.ndarray | None, dtype: type, *, last: bool) -> np.ndarray:
    count, height, width, _ = images.shape
    out = np.zeros((count, height, width, 3) if last else (count, 3, height, width), dtype)
    for image, place in zip(images, out, strict=True):
        _native.store(image, table, place, last, "scalar")
    return out


def on_gpu(images: np.ndarray, table: np.ndarray | None, item_size: int, *, last: bool) -> np.ndarray:
    """The output's bytes, on a stream of its own; nothing behind the output may be touched."""
    count, height, width, _ = images.shape
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        there = torch.from_numpy(images).cuda()
        tables = None if table is None else torch.from_numpy(bits(table)).cuda()
        out = torch.full((images.size * item_size + 64,), CANARY, dtype=torch.uint8, device="cuda")
        _native.store_cuda(
            there.data_ptr(), 0 if tables is None else tables.data_ptr(), out.data_ptr(), count, height, width, item_size, last,
            stream.cuda_stream,
        )  # fmt: skip
        whole = out.cpu().numpy()
    assert (whole[-64:] == CANARY).all()
    return whole[:-64]


@pytest.mark.parametrize("last", [False, True], ids=["NCHW", "NHWC"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("count", [1, 3, 64])
@pytest.mark.parametrize("name", DTYPES)
def test_the_gpu_gives_the_bits_of_the_specification(name, count, size, last):
    dtype, images = DTYPES[name], random_images(count, *size)
    table = random_table(dtype)
    want = specification(images, table, dtype, last=last)
    np.testing.assert_array_equal(on_gpu(images, table, want.itemsize, last=last), bits(want))


@pytest.mark.parametrize("last", [False, True], ids=["NCHW", "NHWC"])
def test_without_a_table_the_values_stay(last):
    images = random_images(5, 33, 65)
    np.testing.assert_array_equal(on_gpu(images, None, 1, last=last), bits(specification(images, None, np.uint8, last=last)))


def test_more_images_than_a_grid_is_high():
    images = random_images(70_001, 2, 3)  # CUDA's limit is 65,535
    want = images.transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(on_gpu(images, None, 1, last=False), np.ascontiguousarray(want).reshape(-1))


def test_an_empty_batch_is_no_error():
    assert not len(on_gpu(np.zeros((0, 5, 7, 3), np.uint8), None, 1, last=False))
