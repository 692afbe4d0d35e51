"""Batches divided between the GPU's decoder and the CPU's threads, as the engine does it; for tests
with a GPU and without.
"""

from pathlib import Path

import numpy as np
import torch

import fastload
from fastload import _native
from fastload.backends.native import gpu_decode
from fastload.backends.native import runner as native
from fastload.plan.plan import plan
from fastload.sources.seek_views import Off
from fastload.spec import Work
from tests.conftest import encoded, textured

JUNK = 0x5A  # what slots hold before they are written


class Built(Off):
    """Indexes that were built or broken by the test; b"": none."""

    def __init__(self, path: Path, indexes: list[bytes]) -> None:
        path.write_bytes(b"".join(indexes))
        self.files, self.sizes = (
            _native.Files([str(path)], True),
            np.array([len(index) for index in indexes], np.int64),
        )
        self.offsets = np.cumsum(self.sizes) - self.sizes

    def locate(self, samples, own):
        return (
            self.files,
            np.zeros(len(samples), np.int64),
            self.offsets[samples],
            self.sizes[samples],
        )


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
        if (
            _native.jpeg_region(data, (0, 0, height, width), found, "best")[1]
            == "index refused: a segment does not end at the next"
        ):
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
    batch, pool, outs = begun(folder, ops, count, Off(), on_error)
    batch.start(outs)
    batch.finish()
    del pool
    return outs


def begun(folder, ops, count, seek, on_error="raise"):
    found = plan(fastload.open(folder, ops).pipeline, on_error=on_error)
    runner, pool = native.compile(found, "cuda"), _native.Pool(2)
    work = Work(np.arange(count), np.zeros(count, np.int64), seed=5, epoch=1, step=0)
    job = runner.begin(pool, work, found.source.locate(work.samples), seek)
    outs = [np.full(picture.host_shape(count), JUNK, np.uint8) for picture in runner.pictures]
    return runner.draw(job, work), pool, outs


def mixed(root: Path) -> tuple[str, Built]:
    """Twelve samples: with an index and without, a PNG, a progressive JPEG, one with restart
    markers.
    """
    payloads = [
        encoded(textured(40 + 3 * n, 80 - 4 * n, n), quality=90, subsampling=n % 3)
        for n in range(12)
    ]
    payloads[2] = encoded(textured(40, 50, 2), "PNG")
    payloads[5] = encoded(textured(40, 50, 5), progressive=True)
    payloads[6] = encoded(textured(40, 50, 6), restart_marker_blocks=3)
    indexes = [index_of(data) for data in payloads]
    indexes[8] = b""
    return written(root, payloads), Built(root / "seek", indexes)


ON_GPU = [0, 1, 3, 4, 7, 9, 10, 11]  # of these


def divided(folder, ops, count, seek, device, stream, on_error="raise", most=gpu_decode.MOST):
    """The crops of a batch made by both; the decoder, the places that were the GPU's, those that
    were redone, and what was bad.

    stream: the current one.
    """
    batch, pool, outs = begun(folder, ops, count, seek, on_error)
    decoder = gpu_decode.GpuDecode(device, most=most)
    prepared = decoder.prepare(batch.job, batch.drawn)
    batch.start(outs)
    batch.finish()
    for one, out in zip(prepared, outs, strict=True):
        assert (out[one.positions] == JUNK).all()  # nobody makes an image twice
    crops = [torch.full(out.shape, 1, dtype=torch.uint8, device=device) for out in outs]
    launched = [
        decoder.launch(*each, stream)
        for each in zip(prepared, map(torch.from_numpy, outs), crops, strict=True)
    ]
    redo = gpu_decode.recall(batch.job, launched)
    if len(redo):
        batch.start(outs)
        batch.finish()
        for out, crop in zip(outs, crops, strict=True):
            decoder.upload(torch.from_numpy(out), crop, redo)
    del pool
    return (
        [crop.cpu().numpy() for crop in crops],
        decoder,
        prepared[0].positions.tolist(),
        redo.tolist(),
        batch.trouble,
    )
