"""NVIDIA DALI on the CPU: its file reader, fused decoding and random crop, and its RandAugment."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug.rand_augment import rand_augment
from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

POLL, STILL, LONGEST = (
    0.005,
    0.05,
    120.0,
)  # s: between two looks, idle for so long is quiet, to wait at most


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    how = {
        "batch_size": spec["batch_size"],
        "num_threads": spec["workers"],
        "device_id": None,
        "prefetch_queue_depth": 2,
        "seed": 0,
    }
    batches = DALIGenericIterator(
        definition(spec["data"], spec["size"], spec["augment"])(**how), ["images", "labels"],
        reader_name="reader",
        last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True,
    )  # fmt: skip
    return lambda: (batch["images"] for (batch,) in batches)


def definition(data: str, size: int, augment: bool) -> Any:
    """A function that makes the pipeline, uint8 [3, size, size]; the resize is antialiased, as
    torchvision's.
    """

    @pipeline_def(enable_conditionals=True)
    def pipeline() -> tuple[Any, Any]:
        files, labels = fn.readers.file(
            file_root=data, random_shuffle=True, pad_last_batch=True, name="reader"
        )
        box = {
            "random_area": (0.08, 1.0),
            "random_aspect_ratio": (3 / 4, 4 / 3),
            "num_attempts": 10,
        }
        images = fn.decoders.image_random_crop(files, device="cpu", output_type=types.RGB, **box)
        images = fn.resize(images, size=(size, size), interp_type=types.INTERP_LINEAR)
        flipped = fn.random.coin_flip()
        if augment:
            images = rand_augment(
                fn.flip(images, horizontal=flipped), n=2, m=9, shape=(size, size), fill_value=0
            )
            flipped = 0
        return fn.crop_mirror_normalize(
            images, output_layout="CHW", dtype=types.UINT8, mirror=flipped
        ), labels

    return pipeline


def quiet() -> float:
    """The moment when the work for the next epoch, which DALI begins at the end of this one, was
    done, by perf_counter.

    An epoch is charged for what it prepares and spared what the one before has prepared; nobody
    else's turn is disturbed. Threads that wait for a core count as busy, so that a loaded machine
    is not taken for an idle DALI.
    """
    start = now = busy = time.perf_counter()
    while now - busy < STILL:
        if now - start > LONGEST:
            raise TimeoutError(f"still busy {LONGEST:g} s after an epoch")
        time.sleep(POLL)
        now = time.perf_counter()
        if working():
            busy = now
    return busy


def working() -> bool:
    """Whether a thread of this process but the caller's runs, waits for a core or for a disk."""
    for task in Path("/proc/self/task").iterdir():
        try:
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # ended meanwhile
            continue
        if state in "RD" and int(task.name) != threading.get_native_id():
            return True
    return False
