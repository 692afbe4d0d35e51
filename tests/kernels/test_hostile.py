"""Bytes made to hurt: nothing may crash, hang or read outside; every sample ends OK or FOREIGN."""

import struct
import time

import numpy as np
import pytest

from fastload import _native as native

from .helpers import fetch, files, jpeg, noise, picture, scene, whole

SIZE = 20, 27


def outcome(tmp_path, payloads, threads=2):
    """Status of each sample after a full run."""
    pool = native.Pool(threads)
    job = fetch(pool, files(tmp_path, payloads))
    job.wait_fetched()
    out = np.zeros((len(payloads), *SIZE, 3), np.uint8)
    job.run([picture(whole(np.maximum(job.sizes, 1), *SIZE), "bilinear", None, out, *SIZE, True)])
    job.wait_done()
    assert set(job.status.tolist()) <= {native.OK, native.FOREIGN}
    assert all(job.message(int(n)) for n in np.flatnonzero(job.status))
    return job


def test_random_bytes_with_jpeg_magic(tmp_path):
    rng = np.random.default_rng(0)
    payloads = [b"\xff\xd8\xff" + rng.bytes(int(rng.integers(0, 4000))) for _ in range(300)]
    assert (outcome(tmp_path, payloads).status == native.FOREIGN).all()


def mutated(data, rng):
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(2, len(out)))
        kind = rng.integers(0, 4)
        if kind == 0:
            out[at] = int(rng.integers(0, 256))
        elif kind == 1:
            out[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 2:
            del out[at : at + int(rng.integers(1, 9))]
        else:
            out[at:at] = rng.bytes(int(rng.integers(1, 9)))
    return bytes(out)


def small(data):
    """Not made huge by the mutation: that costs time and is tested on its own."""
    _, height, width, _, _ = native.probe(data)
    return height * width < 1 << 20


def test_two_thousand_mutants(tmp_path):
    rng = np.random.default_rng(1)
    seeds = [jpeg(scene(37, 53), sampling, progressive=progressive)
             for sampling in ("4:4:4", "4:2:2", "4:2:0") for progressive in (False,
             True)]  # fmt: skip
    payloads = [mutated(seeds[n % len(seeds)], rng) for n in range(2000)]
    job = outcome(tmp_path, [data for data in payloads if small(data)])
    assert 0 < (job.status == native.OK).sum() < len(job)


def test_cut_off_at_every_byte(tmp_path):
    data = jpeg(scene(19, 22), progressive=True)
    outcome(tmp_path, [data[:end] for end in range(0, len(data), 3)])


def with_size(data, height, width):
    at = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    return data[: at + 5] + struct.pack(">HH", height, width) + data[at + 9 :]


@pytest.mark.parametrize("progressive", [False, True])
def test_sizes_that_lie(tmp_path, progressive):
    data = jpeg(noise(32, 32), progressive=progressive)
    payloads = [
        with_size(data, *size)
        for size in [(65500, 65500), (65535, 1), (1, 65535), (3000, 2000), (1, 1), (33, 32)]
    ]
    start = time.process_time()
    job = outcome(tmp_path, payloads)
    assert job.status[[0, 3]].tolist() == [native.FOREIGN, native.FOREIGN]
    assert job.message(0) == "jpeg: too many pixels (got 65500x65500, want at most 178956970)"
    assert time.process_time() - start < 10


def test_a_progressive_jpeg_with_a_thousand_scans(tmp_path):
    data = jpeg(scene(64, 64), progressive=True)
    first, end = data.index(b"\xff\xda"), data.index(b"\xff\xd9")
    stop = next(
        at for at in range(first + 2, end) if data[at] == 0xFF and data[at + 1] not in (0, 0xDA)
    )
    refinement = data[
        data.rindex(b"\xff\xda") : end
    ]  # repeating a scan is bad progression, which libjpeg warns about
    assert (
        outcome(tmp_path, [data[:stop] + refinement * 1000 + data[end:]]).status[0]
        == native.FOREIGN
    )


def test_two_frames_of_different_size(tmp_path):
    data = jpeg(noise(32, 40))
    at = data.index(b"\xff\xc0")
    frame = data[at : at + 19]
    twice = data[:at] + frame[:5] + struct.pack(">HH", 16, 16) + frame[9:] + data[at:]
    job = outcome(tmp_path, [twice])
    assert job.status[0] == native.FOREIGN
    assert job.sizes[0].tolist() == [16, 16]
