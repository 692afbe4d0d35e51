"""NVIDIA DALI on the CPU: its file reader, fused decoding and random crop, and its RandAugment."""

from collections.abc import Callable, Iterator
from typing import Any

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug.rand_augment import rand_augment
from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

from benchmarks.dali import quiet

__all__ = ["make", "quiet"]  # DALI begins the next epoch at the end of one; see there


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    how = {"batch_size": spec["batch_size"], "num_threads": spec["workers"], "device_id": None, "prefetch_queue_depth": 2, "seed": 0}
    batches = DALIGenericIterator(
        definition(spec["data"], spec["size"], spec["augment"])(**how), ["images", "labels"], reader_name="reader",
        last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True,
    )  # fmt: skip
    return lambda: (batch["images"] for (batch,) in batches)


def definition(data: str, size: int, augment: bool) -> Any:
    """A function that makes the pipeline, uint8 [3, size, size]; the resize is antialiased, as torchvision's."""

    @pipeline_def(enable_conditionals=True)
    def pipeline() -> tuple[Any, Any]:
        files, labels = fn.readers.file(file_root=data, random_shuffle=True, pad_last_batch=True, name="reader")
        box = {"random_area": (0.08, 1.0), "random_aspect_ratio": (3 / 4, 4 / 3), "num_attempts": 10}
        images = fn.decoders.image_random_crop(files, device="cpu", output_type=types.RGB, **box)
        images = fn.resize(images, size=(size, size), interp_type=types.INTERP_LINEAR)
        flipped = fn.random.coin_flip()
        if augment:
            images = rand_augment(fn.flip(images, horizontal=flipped), n=2, m=9, shape=(size, size), fill_value=0)
            flipped = 0
        return fn.crop_mirror_normalize(images, output_layout="CHW", dtype=types.UINT8, mirror=flipped), labels

    return pipeline
