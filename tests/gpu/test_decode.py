"""JPEG decoding on the GPU gives the CPU's bits: on generated files of every kind, with indexes and
bytes that lie, in mixed batches.
"""

import numpy as np
import pytest
import torch

from fastload import _native
from fastload import transforms as T
from tests.backends import divided
from tests.conftest import encoded, textured
from tests.kernels.device_helpers import crops_of, decode_work, job_of, on_cpu
from tests.kernels.helpers import FILTERS, jpeg, noise, scene
from tests.kernels.hostile_jpegs import SEAL, SIZE, a_box, scan_of, seal, seeds
from tests.kernels.jpeg_writer import Writer
from tests.kernels.test_jpeg_engine import ADOBE_RGB, FACTORS, some_boxes

pytestmark = pytest.mark.cuda

CANARY = 0xA5
GUARD = 256  # bytes behind each memory that no launch may touch


def on_gpu(job, crops, height, width, filters="bilinear", order="pillow13"):
    """Crops [N, height, width, 3] by the device, its flags by position, and why the others are not
    for it.
    """
    work = decode_work(job, crops, filters, height, width, order)
    work.wait()
    chosen = np.flatnonzero([not why for why in work.reasons])
    work.choose(chosen)
    data = torch.empty(work.nbytes, dtype=torch.uint8, pin_memory=True)
    work.pack(data.numpy())
    work.wait()
    stream, size = torch.cuda.Stream(), len(job) * height * width * 3
    with torch.cuda.stream(stream):
        there = data.cuda(non_blocking=True)
        out, scratch = (
            torch.full((n + GUARD,), CANARY, dtype=torch.uint8, device="cuda")
            for n in (size, work.scratch)
        )
        flags = torch.zeros(len(chosen) + 1, dtype=torch.int32, device="cuda")
        work.launch(
            there.data_ptr(),
            scratch.data_ptr(),
            out.data_ptr(),
            flags.data_ptr(),
            stream.cuda_stream,
        )
        crops_there, marks = out.cpu().numpy(), flags.cpu().numpy()
        assert (scratch[work.scratch :].cpu().numpy() == CANARY).all()
        assert torch.equal(there.cpu(), data)
    assert (crops_there[size:] == CANARY).all()
    assert marks[-1] == 0
    return (
        crops_there[:size].reshape(len(job), height, width, 3),
        dict(zip(chosen.tolist(), marks.tolist(), strict=False)),
        work.reasons,
    )


def check(
    folder, payloads, crops, height, width, *, steps=(8,), filters="bilinear", order="pillow13"
):
    """One sample for each crop, in one batch, all of them by the device; the payloads in turns, so
    are the steps of the indexes.
    """
    count = len(crops)
    repeated = [payloads[n % len(payloads)] for n in range(count)]
    indexes = [_native.jpeg_index(data, steps[n % len(steps)]) for n, data in enumerate(repeated)]
    want = on_cpu(job_of(folder, repeated, [b""] * count), crops, filters, height, width, order)
    found, flags, reasons = on_gpu(
        job_of(folder, repeated, indexes), crops, height, width, filters, order
    )
    assert (reasons, flags) == ([""] * count, dict.fromkeys(range(count), 0))
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("name", FACTORS)
def test_every_sampling(tmp_path, name):
    rng = np.random.default_rng(2)
    for n in range(20):
        height, width = (int(v) for v in rng.integers(1, 120, 2))
        data = Writer(height, width, FACTORS[name], seed=n, long=n % 2 == 1).encode()
        crops = crops_of(some_boxes(height, width, rng, 6), 1, 1)
        crops[:, 4:6] = crops[:, 2:4]
        crops[::2, 8] = 1
        check(tmp_path, [data], crops, height, width, steps=(8, 1, 0, 3))


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:0"])
def test_crops_are_resized_and_flipped(tmp_path, sampling, filters):
    """Up and down, each pass first, with both orders of the passes."""
    rng = np.random.default_rng(3)
    payloads = [jpeg(scene(*size), sampling) for size in ((331, 277), (264, 450))]
    for (height, width), order in [
        ((24, 31), "pillow13"),
        ((224, 224), "pillow12"),
        ((7, 300), "pillow13"),
    ]:
        crops = crops_of(
            rng.integers((0, 0, 1, 1), (60, 70, 200, 200), (64, 4)).tolist(), height, width
        )
        crops[::3, 8] = 1
        check(tmp_path, payloads, crops, height, width, filters=filters, order=order)


def test_long_codes_and_colours_that_are_no_ycc(tmp_path):
    dense = Writer(90, 75, FACTORS["4:4:4"], long=True, density=0.9).encode()
    rgb = Writer(90, 75, FACTORS["4:4:4"], head=ADOBE_RGB).encode()
    check(tmp_path, [dense, rgb], crops_of([(3, 5, 80, 61), (0, 0, 90, 75)] * 3, 40, 50), 40, 50)


def test_large_images_and_many(tmp_path):
    """More blocks of threads than run at a time, more px than a launch has threads, one image much
    larger than the rest.
    """
    large = jpeg(noise(2400, 3100), "4:4:4")
    check(
        tmp_path,
        [large],
        crops_of([(0, 0, 2400, 3100), (1000, 900, 1300, 2000)], 224, 224),
        224,
        224,
    )
    small = [jpeg(scene(200 + n, 300 - 9 * n), ("4:4:4", "4:2:0")[n % 2]) for n in range(8)]
    check(tmp_path, [large, *small], crops_of([(10, 20, 180, 200)] * 500, 96, 96), 96, 96)


def test_what_the_cpu_refuses_is_flagged(tmp_path):
    """Indexes that lie, and bits flipped in the scan under an index that says that all is well."""
    rng = np.random.default_rng(6)
    payloads, indexes = [], []
    for n, data in enumerate(seeds() * 60):
        index = bytearray(_native.jpeg_index(data, int(rng.integers(0, 4))))
        bad = bytearray(data)
        if n % 2:
            index[int(rng.integers(36, len(index) - SEAL))] ^= 1 << int(rng.integers(0, 8))
        else:
            bad[int(rng.integers(scan_of(data) + 12, len(data) - 2))] ^= 1 << int(
                rng.integers(0, 8)
            )
        index[20:28] = _native.xxh3(bytes(bad)).to_bytes(8, "little")
        payloads.append(bytes(bad))
        indexes.append(seal(bytes(index)))
    boxes = [a_box(rng) for _ in payloads]
    crops = crops_of(boxes, 1, 1)
    crops[:, 4:6] = crops[:, 2:4]
    found, flags, reasons = on_gpu(job_of(tmp_path, payloads, indexes), crops, *SIZE)
    for n, (data, index, box) in enumerate(zip(payloads, indexes, boxes, strict=True)):
        if _native.probe(data)[0] != _native.OK:  # Pillow's, by its markers
            assert reasons[n] == "not to be decoded"
            continue
        want, _ = _native.jpeg_region(data, box, index, "best")
        assert (want is None) == bool(reasons[n] or flags[n])
        if want is not None:
            np.testing.assert_array_equal(found[n, : box[2], : box[3]], want)
    assert 100 < sum(map(bool, flags.values())) < len(payloads) - 100


def test_an_empty_choice_is_no_error(tmp_path):
    found, flags, reasons = on_gpu(
        job_of(tmp_path, [jpeg(scene(40, 50))], [b""]), crops_of([(0, 0, 40, 50)], 9, 8), 9, 8
    )
    assert (flags, reasons) == ({}, ["no seek index"])
    assert (found == CANARY).all()


CROP = [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), T.ToImage()]


@pytest.mark.parametrize(
    "ops",
    [CROP, T.Views([(CROP, 2), [T.RandomResizedCrop(20), T.ToImage()]])],
    ids=["one picture", "views"],
)
def test_a_mixed_batch_is_the_cpus(tmp_path, ops):
    folder, seek = divided.mixed(tmp_path)
    want, stream = divided.on_cpu(folder, ops, 12), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        found, _, places, redo, _ = divided.divided(
            folder, ops, 12, seek, torch.device("cuda"), stream
        )
    assert (places, redo) == (divided.ON_GPU, [])
    for one, other in zip(found, want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_images_that_are_flagged_are_made_again(tmp_path):
    payloads = [encoded(textured(60, 80, n), quality=90) for n in range(8)]
    indexes = [divided.index_of(data) for data in payloads]
    for n in (2, 5, 6):
        indexes[n] = divided.lying(payloads[n], indexes[n])
    folder, seek = divided.written(tmp_path, payloads), divided.Built(tmp_path / "seek", indexes)
    ops, stream = [T.Resize((31, 45)), T.ToImage()], torch.cuda.Stream()
    with torch.cuda.stream(stream):
        found, _, places, redo, _ = divided.divided(
            folder, ops, 8, seek, torch.device("cuda"), stream
        )
    assert (places, redo) == (list(range(8)), [2, 5, 6])
    np.testing.assert_array_equal(found[0], divided.on_cpu(folder, ops, 8)[0])


def test_launches_on_several_streams_share_nothing(tmp_path):
    payloads = [jpeg(scene(300, 400, n), "4:4:4") for n in range(32)]
    indexes = [_native.jpeg_index(data, 8) for data in payloads]
    crops = crops_of([(10, 20, 250, 300)] * 32, 128, 160)
    want = on_cpu(job_of(tmp_path, payloads, [b""] * 32), crops, "bilinear", 128, 160, "pillow13")
    work = decode_work(job_of(tmp_path, payloads, indexes), crops, "bilinear", 128, 160)
    work.wait()
    work.choose(np.arange(32))
    data = torch.empty(work.nbytes, dtype=torch.uint8, pin_memory=True)
    work.pack(data.numpy())
    work.wait()
    there, found = data.cuda(), []
    torch.cuda.synchronize()
    for _ in range(4):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            out = torch.zeros(want.shape, dtype=torch.uint8, device="cuda")
            scratch, flags = (
                torch.empty(work.scratch, dtype=torch.uint8, device="cuda"),
                torch.zeros(32, dtype=torch.int32, device="cuda"),
            )
            work.launch(
                there.data_ptr(),
                scratch.data_ptr(),
                out.data_ptr(),
                flags.data_ptr(),
                stream.cuda_stream,
            )
            found.append((out, flags, scratch))
    torch.cuda.synchronize()
    for out, flags, _ in found:
        np.testing.assert_array_equal(out.cpu().numpy(), want)
        assert not flags.any()
