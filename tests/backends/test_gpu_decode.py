"""A batch divided between the GPU's decoder and the CPU's threads is the CPU's batch.

Needs no GPU: an emulated block decodes.
"""

import ctypes

import numpy as np
import pytest
import torch

import fastload
from fastload import _native
from fastload import transforms as T
from fastload.backends.native import gpu_decode
from fastload.sources.seek_views import Off
from fastload.transforms import pil
from tests.backends import divided
from tests.backends.divided import ON_GPU, Built, damaged, index_of, lying, on_cpu, written
from tests.conftest import encoded, textured

block = pytest.importorskip(
    "fastload._test_block", reason="needs a build with FASTLOAD_TEST_MODULES"
)

CROP = [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), T.ToImage()]
ORDER = np.random.default_rng(0).permutation(64).astype(np.int32)


class Emulated:
    """DeviceDecode whose launch runs here, on memory of the host."""

    made = _native.DeviceDecode

    def __init__(self, job, *arguments):
        self.work, self.count = self.made(job, *arguments), len(job)

    def __getattr__(self, name):
        return getattr(self.work, name)

    def choose(self, positions):
        self.positions = positions
        self.work.choose(positions)

    def launch(self, data, scratch, out, flags, stream):
        packed = np.ctypeslib.as_array((ctypes.c_uint8 * self.nbytes).from_address(data)).copy()
        crops, found = block.decode(packed, ORDER, self.count)
        memory = np.ctypeslib.as_array((ctypes.c_uint8 * crops.size).from_address(out)).reshape(
            crops.shape
        )
        memory[self.positions] = crops[self.positions]
        np.ctypeslib.as_array((ctypes.c_int32 * (len(found) + 1)).from_address(flags))[
            : len(found)
        ] = found


class Stream:
    """What a launch asks of a stream."""

    cuda_stream = 0

    def record_event(self, event):
        return self

    def synchronize(self):
        """All is done when it is launched."""


@pytest.fixture
def mixed(tmp_path):
    return divided.mixed(tmp_path)


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    monkeypatch.setattr(_native, "DeviceDecode", Emulated)


def check(folder, ops, seek, count, **options):
    """The positions that were the GPU's, and those that were redone."""
    want = on_cpu(folder, ops, count)
    found, decoder, positions, redo, _ = divided.divided(
        folder, ops, count, seek, torch.device("cpu"), Stream(), **options
    )
    for one, other in zip(found, want, strict=True):
        np.testing.assert_array_equal(one, other)
    assert decoder.decoded == len(positions)
    return positions, redo


def test_a_mixed_batch_is_the_cpus(mixed):
    assert check(mixed[0], CROP, mixed[1], 12) == (ON_GPU, [])


def test_views_go_to_the_gpu_together(mixed):
    views = T.Views([(CROP, 2), [T.RandomResizedCrop(20), T.ToImage()]])
    assert check(mixed[0], views, mixed[1], 12) == (ON_GPU, [])


def test_a_batch_that_the_cpu_makes_all_of(mixed):
    assert check(mixed[0], CROP, Off(), 12) == ([], [])
    assert check(mixed[0], CROP, mixed[1], 12, most=0) == ([], [])


def test_a_batch_that_the_gpu_makes_all_of(mixed):
    assert check(mixed[0], CROP, mixed[1], 2) == ([0, 1], [])


def test_images_that_are_flagged_are_made_again(tmp_path):
    payloads = [encoded(textured(60, 80, n), quality=90) for n in range(8)]
    indexes = [index_of(data) for data in payloads]
    for n in (2, 5, 6):
        indexes[n] = lying(payloads[n], indexes[n])
    folder, seek = written(tmp_path, payloads), Built(tmp_path / "seek", indexes)
    ops = [T.Resize((31, 45)), T.ToImage()]  # so that every segment is looked at
    assert check(folder, ops, seek, 8) == (list(range(8)), [2, 5, 6])
    views = T.Views([ops, [T.CenterCrop(8), T.ToImage()]])
    assert check(folder, views, seek, 8) == (list(range(8)), [2, 5, 6])


@pytest.mark.parametrize("on_error", ["raise", "substitute", "skip"])
def test_what_nobody_can_decode_is_a_bad_sample_as_ever(tmp_path, monkeypatch, on_error):
    """The GPU flags it, the CPU has the last word; the rest of the batch stands."""
    payloads = [encoded(textured(60, 80, n), quality=90) for n in range(6)]
    indexes = [index_of(data) for data in payloads]
    payloads[3], indexes[3] = damaged(payloads[3], indexes[3])
    folder, seek = written(tmp_path, payloads), Built(tmp_path / "seek", indexes)
    ops = [T.Resize((31, 45)), T.ToImage()]
    real = pil.decode_pixels

    def decode(data, *scale):
        if data == payloads[3]:
            raise OSError("broken data stream")
        return real(data, *scale)

    monkeypatch.setattr(pil, "decode_pixels", decode)
    if on_error == "raise":
        with pytest.raises(fastload.SampleError) as caught:
            divided.divided(folder, ops, 6, seek, torch.device("cpu"), Stream())
        assert str(caught.value).endswith(
            "003.jpg, sample 3: cannot be decoded (broken data stream); mend or remove the file"
        )
        return
    found, _, positions, redo, trouble = divided.divided(
        folder, ops, 6, seek, torch.device("cpu"), Stream(), on_error
    )
    assert (positions, redo) == (list(range(6)), [3])
    want = on_cpu(folder, ops, 6, on_error)
    np.testing.assert_array_equal(found[0], want[0])  # the sample that stands in, too
    assert [error.index for error in trouble.report().errors] == [3]
    assert trouble.lost == ({3} if on_error == "skip" else set())


def test_rows_that_lie_together_are_one_copy(monkeypatch):
    copied = []
    decoder = gpu_decode.GpuDecode(torch.device("cpu"))
    real = torch.Tensor.copy_
    monkeypatch.setattr(
        torch.Tensor,
        "copy_",
        lambda to, source, **how: (copied.append(len(source)), real(to, source, **how))[1],
    )
    host, images = (
        torch.arange(10 * 12, dtype=torch.uint8).reshape(10, 2, 2, 3),
        torch.zeros(10, 2, 2, 3, dtype=torch.uint8),
    )
    decoder.upload(host, images, np.array([0, 1, 2, 5, 8, 9]))
    assert copied == [3, 1, 2]
    assert torch.equal(images[[0, 1, 2, 5, 8, 9]], host[[0, 1, 2, 5, 8, 9]])
    assert not images[[3, 4, 6, 7]].any()
    decoder.upload(host, images, np.zeros(0, np.int64))
    assert copied == [3, 1, 2]
