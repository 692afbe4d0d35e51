"""JPEG decoding on the GPU alone: coded bytes under the crops, already on the device or still to be
sent, to uint8 crops there.

The images are fastload demo's, ImageNet-like, so that a bare machine can run it. Whole images by
nvJPEG, without a crop, stand beside
where torchvision has it: more work, and other pixels.
"""

import importlib.util
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.decoding.images import RANDOM, WHOLE, covered, draw
from benchmarks.gpu.device import COUNT, SIDE, Case, Step
from fastload import _native
from fastload.demo_images import one_image
from fastload.errors import BackendError
from fastload.spec import Ints
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop, Resize

IMAGES = 64  # different ones; each comes COUNT / IMAGES times, with crops of its own
THERE, SENT, NVJPEG = (
    "fastload, bytes on the device",
    "fastload, with the copy to the device",
    "nvJPEG, whole images, not cropped",
)
EVERY = 8  # MCUs between the checkpoints of the indexes
CROPS = {
    RANDOM: (RandomResizedCrop(SIDE), RandomHorizontalFlip()),
    WHOLE: (Resize((SIDE, SIDE)), RandomHorizontalFlip()),
}


def cases(count: int = COUNT) -> Iterator[Case]:
    """count: images of a batch."""
    jpegs = covered(
        "demo images", [one_image(n, seed=0)[0] for n in range(min(IMAGES, count))]
    ).jpegs
    batch = [jpegs[n % len(jpegs)] for n in range(count)]
    sizes = np.array([_native.probe(jpeg)[1:3] for jpeg in batch], np.int32)
    for name, ops in CROPS.items():
        yield _case(name, batch, packed(batch, draw(ops, sizes)))


def packed(batch: list[bytes], crops: Ints) -> tuple[_native.DeviceDecode, torch.Tensor]:
    """What the host makes of a batch, pinned where there is a GPU."""
    indexes, pool = [_native.jpeg_index(jpeg, EVERY) for jpeg in batch], _native.Pool(1)
    with tempfile.TemporaryDirectory() as folder:
        data, seek = (
            _files(Path(folder) / name, blobs)
            for name, blobs in (("data", batch), ("seek", indexes))
        )
        job = pool.fetch(*data, None, seek=seek)
        job.wait_fetched()
    work = _native.DeviceDecode(job, _native.CropRecords(crops, "bilinear", SIDE, SIDE))
    work.wait()
    work.choose(np.arange(len(batch)))
    out = torch.empty(work.nbytes, dtype=torch.uint8, pin_memory=torch.cuda.is_available())
    work.pack(out.numpy())
    work.wait()
    return work, out


def _files(path: Path, blobs: list[bytes]) -> tuple[_native.Files, Ints, Ints, Ints]:
    """One file of them, and their places in it."""
    path.write_bytes(b"".join(blobs))
    sizes = np.array([len(blob) for blob in blobs], np.int64)
    return _native.Files([str(path)], True), np.zeros_like(sizes), np.cumsum(sizes) - sizes, sizes


def _case(name: str, batch: list[bytes], made: tuple[_native.DeviceDecode, torch.Tensor]) -> Case:
    """Bytes moved: what is sent and the crops, which is the least.

    Per image: what is sent, and what the files have.
    """
    work, host = made
    there = host.cuda()
    crops = torch.empty((len(batch), SIDE, SIDE, 3), dtype=torch.uint8, device="cuda")
    scratch = torch.empty(work.scratch, dtype=torch.uint8, device="cuda")
    flags = torch.zeros(len(batch), dtype=torch.int32, device="cuda")

    def launch() -> None:
        stream = torch.cuda.current_stream().cuda_stream
        work.launch(
            there.data_ptr(), scratch.data_ptr(), crops.data_ptr(), flags.data_ptr(), stream
        )

    def send_and_launch() -> None:
        there.copy_(host, non_blocking=True)
        launch()

    launch()
    if flags.any():
        raise BackendError(
            "gpu: the device has flagged images that the CPU decodes; run the tests of "
            "tests/gpu/test_decode.py"
        )
    variants: dict[str, Step] = {THERE: launch, SENT: send_and_launch} | _nvjpeg(batch)
    sent, whole = work.nbytes // len(batch), sum(map(len, batch)) // len(batch)
    settings = {
        "table": "decode", "crops": name, "images": len(batch), "size": SIDE, "step": EVERY,
        "sent_bytes_per_image": sent,
        "file_bytes_per_image": whole,
    }  # fmt: skip
    return Case(settings, variants, dict.fromkeys(variants, work.nbytes + crops.numel()))


def _nvjpeg(batch: list[bytes]) -> dict[str, Step]:
    """Where this build of torchvision has it."""
    if importlib.util.find_spec("torchvision") is None:
        return {}
    from torchvision.io import decode_jpeg

    encoded = [torch.frombuffer(bytearray(jpeg), dtype=torch.uint8) for jpeg in batch]
    step = partial(decode_jpeg, encoded, device="cuda")
    try:
        step()
    except RuntimeError:
        return {}
    return {NVJPEG: step}
