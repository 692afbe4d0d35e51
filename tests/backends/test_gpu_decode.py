"""A batch divided between the GPU's decoder and the CPU's threads is the CPU's batch. Needs no GPU: an emulated block decodes."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
import torch

import fastload
from fastload import _native
from fastload import transforms as T
from fastload.backends import gpu_decode, native
from fastload.bad_samples import Trouble
from fastload.plan import plan
from fastload.sources.seek_views import Off
from fastload.spec import Work
from tests.conftest import encoded, textured

block = pytest.importorskip("fastload._test_block", reason="needs a build with FASTLOAD_TEST_MODULES")

CROP = [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), T.ToImage()]
ORDER = np.random.default_rng(0).permutation(64).astype(np.int32)
JUNK = 0x5A


class Emulated:
    """DeviceDecode whose launch runs here, on memory of the host."""

    made = _native.DeviceDecode

    def __init__(self, job, *arguments):
        self.work, self.count = self.made(job, *arguments), len(job)

    def __getattr__(self, name):
        return getattr(self.work, name)

    def choose(self, places):
        self.places = places
        self.work.choose(places)

    def launch(self, data, scratch, out, flags, stream):
        packed = np.ctypeslib.as_array((ctypes.c_uint8 * self.nbytes).from_address(data)).copy()
        crops, found = block.decode(packed, ORDER, self.count)
        memory = np.ctypeslib.as_array((ctypes.c_uint8 * crops.size).from_address(out)).reshape(crops.shape)
        memory[self.places] = crops[self.places]
        np.ctypeslib.as_array((ctypes.c_int32 * (len(found) + 1)).from_address(flags))[: len(found)] = found


class Stream:
    """What a launch asks of a stream."""

    cuda_stream = 0

    def record_event(self):
        return self

    def synchronize(self):
        """All is done when it is launched."""


class Built(Off):
    """Indexes that were built or broken by the test; b"": none."""

    def __init__(self, path: Path, indexes: list[bytes]) -> None:
        path.write_bytes(b"".join(indexes))
        self.files, self.sizes = _native.Files([str(path)], True), np.array([len(index) for index in indexes], np.int64)
        self.offsets = np.cumsum(self.sizes) - self.sizes

    def locate(self, samples):
        return self.files, np.zeros(len(samples), np.int64), self.offsets[samples], self.sizes[samples]


def index_of(data: bytes) -> bytes:
    try:
        return _native.jpeg_index(data, 4)
    except ValueError:
        return b""


def sealed(index: bytearray) -> bytes:
    return bytes(index[:-8]) + _native.xxh3(bytes(index[:-8])).to_bytes(8, "little")


def lying(data: bytes, index: bytes) -> bytes:
    """Well sealed, with another number somewhere, which only decoding can find out."""
    _, height, width, _, _ = _native.probe(data)
    for at in range(len(index) // 2, len(index) - 8):
        changed = bytearray(index)
        changed[at] ^= 0x10
        found = sealed(changed)
        if _native.jpeg_region(data, (0, 0, height, width), found, "best")[1] == "index refused: a segment does not end at the next":
            return found
    raise AssertionError("no such lie")


def damaged(data: bytes, index: bytes) -> tuple[bytes, bytes]:
    """A file that nobody decodes without a warning, and an index that says that all is well."""
    scan, (_, height, width, _, _) = data.index(b"\xff\xda") + 14, _native.probe(data)
    for at in range((scan + len(data)) // 2, len(data) - 2):
        changed, other = bytearray(data), bytearray(index)
        changed[at] ^= 0x10
        other[20:28] = _native.xxh3(bytes(changed)).to_bytes(8, "little")
        why = _native.jpeg_region(bytes(changed), (0, 0, height, width), sealed(other), "best")[1]
        try:
            _native.decode(bytes(changed))
        except ValueError:
            if why == "index refused: a segment does not end at the next":
                return bytes(changed), sealed(other)
    raise AssertionError("no such damage")


def written(root: Path, payloads: list[bytes]) -> str:
    (root / "data" / "a").mkdir(parents=True)
    for n, data in enumerate(payloads):
        (root / "data" / "a" / f"{n:03}.jpg").write_bytes(data)
    return str(root / "data")


def on_cpu(folder, ops, count, on_error="raise"):
    """The batch's crops uint8 [N, H, W, 3] of each picture."""
    runner, pool, job, drawn, work, trouble, outs = begun(folder, ops, count, Off(), on_error)
    runner.start(job, drawn, outs)
    runner.finish(job, work, drawn, outs, trouble)
    del pool
    return outs


def begun(folder, ops, count, seek, on_error="raise"):
    found = plan(fastload.open(folder, ops).pipeline, on_error=on_error)
    runner, pool = native.compile(found, "cuda"), _native.Pool(2)
    work = Work(np.arange(count), np.zeros(count, np.int64), seed=5, epoch=1, step=0)
    job, trouble = runner.begin(pool, work, seek), Trouble(on_error, work)
    drawn, work = runner.draw(job, work, trouble)
    outs = [np.full(picture.host_shape(count), JUNK, np.uint8) for picture in runner.pictures]
    return runner, pool, job, drawn, work, trouble, outs


def divided(folder, ops, count, seek, monkeypatch, on_error="raise", most=gpu_decode.MOST):
    """The crops of a batch made by both; the decoder, the places that were the GPU's, those that were redone, and what was bad."""
    monkeypatch.setattr(_native, "DeviceDecode", Emulated)
    runner, pool, job, drawn, work, trouble, outs = begun(folder, ops, count, seek, on_error)
    decoder = gpu_decode.GpuDecode(torch.device("cpu"), most=most)
    prepared = decoder.prepare(job, drawn, runner.pictures)
    runner.start(job, drawn, outs)
    drawn, work = runner.finish(job, work, drawn, outs, trouble)
    for one, out in zip(prepared, outs, strict=True):
        assert (out[one.places] == JUNK).all()  # nobody makes an image twice
    crops = [torch.full(out.shape, 1, dtype=torch.uint8) for out in outs]
    launched = [decoder.launch(*each, Stream()) for each in zip(prepared, map(torch.from_numpy, outs), crops, strict=True)]
    redo = gpu_decode.recall(job, launched)
    if len(redo):
        runner.start(job, drawn, outs)
        runner.finish(job, work, drawn, outs, trouble)
        for out, crop in zip(outs, crops, strict=True):
            decoder.upload(torch.from_numpy(out), crop, redo)
    del pool
    return [crop.numpy() for crop in crops], decoder, prepared[0].places.tolist(), redo.tolist(), trouble


def check(folder, ops, seek, monkeypatch, count, **options):
    want = on_cpu(folder, ops, count)
    found, decoder, places, redo, _ = divided(folder, ops, count, seek, monkeypatch, **options)
    for one, other in zip(found, want, strict=True):
        np.testing.assert_array_equal(one, other)
    assert decoder.decoded == len(places)
    return places, redo


@pytest.fixture
def mixed(tmp_path):
    """Twelve samples: with an index and without, a PNG, a progressive JPEG, one with restart markers."""
    payloads = [encoded(textured(40 + 3 * n, 80 - 4 * n, n), quality=90, subsampling=n % 3) for n in range(12)]
    payloads[2] = encoded(textured(40, 50, 2), "PNG")
    payloads[5] = encoded(textured(40, 50, 5), progressive=True)
    payloads[6] = encoded(textured(40, 50, 6), restart_marker_blocks=3)
    indexes = [index_of(data) for data in payloads]
    indexes[8] = b""
    return written(tmp_path, payloads), Built(tmp_path / "seek", indexes)


ON_GPU = [0, 1, 3, 4, 7, 9, 10, 11]


def test_a_mixed_batch_is_the_cpus(mixed, monkeypatch):
    assert check(mixed[0], CROP, mixed[1], monkeypatch, 12) == (ON_GPU, [])


def test_views_go_to_the_gpu_together(mixed, monkeypatch):
    views = T.Views([(CROP, 2), [T.RandomResizedCrop(20), T.ToImage()]])
    assert check(mixed[0], views, mixed[1], monkeypatch, 12) == (ON_GPU, [])


def test_a_batch_that_the_cpu_makes_all_of(mixed, monkeypatch):
    assert check(mixed[0], CROP, Off(), monkeypatch, 12) == ([], [])
    assert check(mixed[0], CROP, mixed[1], monkeypatch, 12, most=0) == ([], [])


def test_a_batch_that_the_gpu_makes_all_of(mixed, monkeypatch):
    assert check(mixed[0], CROP, mixed[1], monkeypatch, 2) == ([0, 1], [])


def test_images_that_are_flagged_are_made_again(tmp_path, monkeypatch):
    payloads = [encoded(textured(60, 80, n), quality=90) for n in range(8)]
    indexes = [index_of(data) for data in payloads]
    for n in (2, 5, 6):
        indexes[n] = lying(payloads[n], indexes[n])
    folder, seek = written(tmp_path, payloads), Built(tmp_path / "seek", indexes)
    ops = [T.Resize((31, 45)), T.ToImage()]  # so that every segment is looked at
    assert check(folder, ops, seek, monkeypatch, 8) == (list(range(8)), [2, 5, 6])
    views = T.Views([ops, [T.CenterCrop(8), T.ToImage()]])
    assert check(folder, views, seek, monkeypatch, 8) == (list(range(8)), [2, 5, 6])


@pytest.mark.parametrize("on_error", ["raise", "substitute", "skip"])
def test_what_nobody_can_decode_is_a_bad_sample_as_ever(tmp_path, monkeypatch, on_error):
    """The GPU flags it, the CPU has the last word; the rest of the batch stands."""
    payloads = [encoded(textured(60, 80, n), quality=90) for n in range(6)]
    indexes = [index_of(data) for data in payloads]
    payloads[3], indexes[3] = damaged(payloads[3], indexes[3])
    folder, seek = written(tmp_path, payloads), Built(tmp_path / "seek", indexes)
    ops = [T.Resize((31, 45)), T.ToImage()]
    real = native.pil.decode

    def decode(data, *scale):
        if data == payloads[3]:
            raise OSError("broken data stream")
        return real(data, *scale)

    monkeypatch.setattr(native.pil, "decode", decode)
    if on_error == "raise":
        with pytest.raises(fastload.SampleError) as caught:
            divided(folder, ops, 6, seek, monkeypatch)
        assert str(caught.value).endswith("003.jpg, sample 3: cannot be decoded (broken data stream); mend or remove the file")
        return
    found, _, places, redo, trouble = divided(folder, ops, 6, seek, monkeypatch, on_error)
    assert (places, redo) == (list(range(6)), [3])
    want = on_cpu(folder, ops, 6, on_error)
    np.testing.assert_array_equal(found[0], want[0])  # the sample that stands in, too
    assert [error.index for error in trouble.report().errors] == [3]
    assert trouble.lost == ({3} if on_error == "skip" else set())


def test_rows_that_lie_together_are_one_copy(monkeypatch):
    copied = []
    decoder = gpu_decode.GpuDecode(torch.device("cpu"))
    real = torch.Tensor.copy_
    monkeypatch.setattr(torch.Tensor, "copy_", lambda to, source, **how: (copied.append(len(source)), real(to, source, **how))[1])
    host, images = torch.arange(10 * 12, dtype=torch.uint8).reshape(10, 2, 2, 3), torch.zeros(10, 2, 2, 3, dtype=torch.uint8)
    decoder.upload(host, images, np.array([0, 1, 2, 5, 8, 9]))
    assert copied == [3, 1, 2]
    assert torch.equal(images[[0, 1, 2, 5, 8, 9]], host[[0, 1, 2, 5, 8, 9]])
    assert not images[[3, 4, 6, 7]].any()
    decoder.upload(host, images, np.zeros(0, np.int64))
    assert copied == [3, 1, 2]
