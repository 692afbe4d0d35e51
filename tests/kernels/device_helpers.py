"""Batches for the GPU's decoder, which an emulated block of threads runs here."""

from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from fastload import _native as native
from tests.kernels.helpers import picture


def turns() -> list[NDArray[np.int32]]:
    """Of the threads of blocks of several sizes: forward, backward, shuffled."""
    forward = [np.arange(threads, dtype=np.int32) for threads in (1, 7, 33, 128)]
    shuffled = [
        np.random.default_rng(threads).permutation(threads).astype(np.int32)
        for threads in (33, 64, 256)
    ]
    return [*forward, *(order[::-1].copy() for order in forward[1:]), *shuffled]


TURNS = turns()
POOL = native.Pool(2)  # which jobs do not keep alive


def places(blobs: list[bytes]) -> tuple[NDArray[np.int64], ...]:
    sizes = np.array([len(blob) for blob in blobs], np.int64)
    return np.zeros(len(blobs), np.int64), np.cumsum(sizes) - sizes, sizes


def job_of(
    folder: Path, payloads: list[bytes], indexes: list[bytes], pool: native.Pool | None = None
) -> native.Job:
    """A fetched job of these files; index b"": none."""
    (folder / "data").write_bytes(b"".join(payloads))
    (folder / "seek").write_bytes(b"".join(indexes))
    seek = native.Files([str(folder / "seek")], True), *places(indexes)
    job = (pool or POOL).fetch(
        native.Files([str(folder / "data")], True), *places(payloads), None, seek=seek
    )
    job.wait_fetched()
    return job


def crops_of(boxes: list[tuple[int, ...]], height: int, width: int) -> NDArray[np.int32]:
    """Records [N, 10] that resize these boxes (top, left, height, width)."""
    crops = np.zeros((len(boxes), 10), np.int32)
    crops[:, :4] = boxes
    crops[:, 4:6] = height, width
    crops[:, 9] = 1
    return crops


def aligned(size: int) -> NDArray[np.uint8]:
    memory = np.full(size + 16, 0xEE, np.uint8)
    start = -memory.ctypes.data % 16
    return memory[start : start + size]


def packed(work: native.DeviceDecode, chosen: NDArray[np.int64]) -> NDArray[np.uint8]:
    work.choose(chosen)
    data = aligned(work.nbytes)
    work.pack(data)
    work.wait()
    return data


def decode_work(
    job: native.Job,
    rows: Any,
    filter: Any,
    height: int,
    width: int,
    order: str = "pillow13",
    most: int = 1 << 30,
) -> Any:
    return native.DeviceDecode(job, native.CropRecords(rows, filter, height, width, order), most)


def on_cpu(
    job: native.Job, crops: NDArray[np.int32], filters: object, height: int, width: int, order: str
) -> NDArray[np.uint8]:
    out = np.zeros((len(job), height, width, 3), np.uint8)
    job.run([picture(crops, filters, None, out, height, width, True, order)])
    job.wait_done()
    return out


def decoded(block, job, crops, height, width, filters="bilinear", order="pillow13", most=1 << 30):
    """Crops [N, height, width, 3] by the emulated device, its flags by place, and why the others
    are not for it; where the device has made nothing, the crops are junk. What is given decides on
    the order of the threads.
    """
    work = decode_work(job, crops, filters, height, width, order, most)
    work.wait()
    chosen = np.flatnonzero([not why for why in work.reasons])
    data = packed(work, chosen)
    out, flags = block.decode(data, TURNS[crc32(crops.tobytes()) % len(TURNS)], len(job))
    return out, dict(zip(chosen.tolist(), flags.tolist(), strict=True)), work.reasons
