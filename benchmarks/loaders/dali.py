"""NVIDIA DALI as a peer of the loader benchmark: its own operators and idiom, on the CPU; left out
where it is not installed.
"""

import time
from collections.abc import Iterator
from typing import Any

from fastload.errors import BackendError

MISSING = "DALI is not installed (pip install nvidia-dali-cuda130); its rows are left out"
MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)  # of 0..255
POLL, STILL, LONGEST = (
    0.002,
    0.05,
    10.0,
)  # s: between two looks, idle for so long is quiet, to wait at most
IDLE = 0.25  # share of a core, below which the process does nothing but look


class Loader:
    """Batches of `benchmarks.loaders.child`'s outputs, as (images, labels); epochs of every image
    once, in DALI's order.

    For that DALI pads the last batch with an image that it makes again and again and then drops: up
    to a batch's work for nothing.
    Without padding, epochs run into each other, and some images come twice.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

        how = {
            "batch_size": spec["batch_size"],
            "num_threads": spec["workers"],
            "device_id": None,
            "prefetch_queue_depth": 2,
            "seed": 0,
        }
        self.batches = DALIGenericIterator(
            definition(spec["data"], spec["output"], spec["size"])(**how), ["images", "labels"],
            reader_name="reader",
            last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True,
        )  # fmt: skip

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for (batch,) in self.batches:
            yield batch["images"], batch["labels"]

    def quiet(self) -> float:
        return quiet()


def definition(data: str, output: str, size: int) -> Any:
    """A function that makes the pipeline: torchvision's crops and flips, "hot" with RandAugment
    too; DALI has no ColOut.
    """
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug.rand_augment import rand_augment

    scaled = (
        {"dtype": types.FLOAT, "mean": MEAN, "std": STD}
        if output != "uint8"
        else {"dtype": types.UINT8}
    )

    @pipeline_def(enable_conditionals=True)
    def pipeline() -> tuple[Any, Any]:
        jpegs, labels = fn.readers.file(
            file_root=data, random_shuffle=True, pad_last_batch=True, name="reader"
        )
        box = {
            "random_area": (0.08, 1.0),
            "random_aspect_ratio": (3 / 4, 4 / 3),
            "num_attempts": 10,
        }
        images = fn.decoders.image_random_crop(jpegs, device="cpu", output_type=types.RGB, **box)
        images = fn.resize(
            images, size=(size, size), interp_type=types.INTERP_LINEAR
        )  # antialiased, as torchvision's
        flipped = fn.random.coin_flip()
        if output == "hot":
            images = fn.flip(images, horizontal=flipped)
            images = rand_augment(images, n=1, m=9, shape=(size, size), fill_value=0)
            return fn.crop_mirror_normalize(images, output_layout="CHW", **scaled), labels
        return fn.crop_mirror_normalize(
            images, output_layout="CHW", mirror=flipped, **scaled
        ), labels

    return pipeline


def quiet() -> float:
    """The moment when the work for the next epoch, which DALI begins at the end of this one, was
    done, by perf_counter.

    An epoch is charged for what it prepares and spared what the one before has prepared; nobody
    else's turn is disturbed.
    """
    start = looked = busy = time.perf_counter()
    spent = time.process_time()
    while looked - busy < STILL:
        time.sleep(POLL)
        now, total = time.perf_counter(), time.process_time()
        if total - spent > IDLE * (now - looked):
            busy = now
        looked, spent = now, total
        if now - start > LONGEST:
            raise BackendError(
                f"DALI: still busy {LONGEST:g} s after an epoch (want idle); report this"
            )
    return busy
