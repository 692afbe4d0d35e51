"""One variant of the DALI backends' benchmark in its own process, on its own cores:

`python -m benchmarks.dali.child SPEC`.
"""

import time
from collections.abc import Iterator
from typing import Any

from benchmarks.loaders.child import MEAN, STD, answer

PASSES = 3
SETTLE = 0.5  # s, until what the reference has begun beyond the end is done; not measured


def make_loader(spec: dict[str, Any]) -> Any:
    """Batches as pairs (images, labels); PASSES passes over the data are one epoch."""
    if spec["loader"] == "peer":
        return Peer(spec)
    from torch.utils.data import RandomSampler

    import fastload
    from fastload.transforms import (
        Normalize,
        RandAugment,
        RandomHorizontalFlip,
        RandomResizedCrop,
        ToImage,
        ToTensor,
    )

    ops: list[Any] = [
        RandomResizedCrop(spec["size"]),
        RandomHorizontalFlip(),
        *[RandAugment()] * (spec["output"] == "policy"),
    ]
    ops += [ToImage()] if spec["output"] == "uint8" else [ToTensor(), Normalize(MEAN, STD)]
    dataset = fastload.open(spec["data"], ops)
    sampler = RandomSampler(dataset, num_samples=PASSES * len(dataset))
    how: dict[str, Any] = {"seek_index": "use"} if spec["loader"] == "native" else {}
    return fastload.DataLoader(
        dataset,
        spec["batch_size"],
        sampler=sampler,
        num_workers=spec["workers"],
        backend=spec["loader"],
        **how,
    )


class Peer:
    """What DALI's own documentation shows: readers.file, image_random_crop, resize,
    crop_mirror_normalize, DALIClassificationIterator.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        from nvidia.dali.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy

        made = pipeline(spec)
        self.iterator = DALIClassificationIterator(
            made,
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            last_batch_padded=False,
            auto_reset=True,
        )

    def __iter__(self) -> Iterator[Any]:
        for _ in range(PASSES):
            for (batch,) in self.iterator:
                yield batch["data"], batch["label"].squeeze(-1).long()


def epoch(loader: Any) -> float:
    """Images per second."""
    start, images = time.perf_counter(), 0
    for batch, _ in loader:
        images += len(batch)
    took = time.perf_counter() - start
    time.sleep(SETTLE)
    return images / took


def pipeline(spec: dict[str, Any]) -> Any:
    """DALI's pipeline, built; runs `definition`."""
    made = definition(spec)(
        batch_size=spec["batch_size"],
        num_threads=spec["workers"],
        device_id=None,
        seed=0,
        prefetch_queue_depth=2,
    )
    made.build()
    return made


def definition(spec: dict[str, Any]) -> Any:
    """Files, fused decoding and crop, RandAugment for the output "policy", flip and normalise."""
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug import rand_augment

    policy, size = spec["output"] == "policy", spec["size"]
    mean, std, dtype = ([0.0] * 3, [1.0] * 3, types.UINT8)
    if spec["output"] != "uint8":
        mean, std, dtype = [255 * v for v in MEAN], [255 * v for v in STD], types.FLOAT

    @pipeline_def(enable_conditionals=True)
    def train() -> Any:
        encoded, labels = fn.readers.file(
            file_root=spec["data"], random_shuffle=True, shuffle_after_epoch=False, name="Reader"
        )
        images = fn.decoders.image_random_crop(
            encoded, device="cpu", random_area=(0.08, 1.0), random_aspect_ratio=(3 / 4, 4 / 3)
        )
        images = fn.resize(
            images, size=(size, size), interp_type=types.INTERP_LINEAR, antialias=True
        )
        if policy:  # torchvision's RandAugment()
            images = rand_augment.rand_augment(
                images, n=2, m=9, shape=(size, size), fill_value=0,
                interp_type=types.INTERP_NN, max_translate_rel=150 / 331,
            )  # fmt: skip
        mirror = fn.random.coin_flip()
        return fn.crop_mirror_normalize(
            images, dtype=dtype, mean=mean, std=std, mirror=mirror, output_layout="CHW"
        ), labels

    return train


if __name__ == "__main__":
    answer(make_loader, epoch)
