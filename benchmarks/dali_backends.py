"""The DALI backends against a pipeline written by hand in DALI's own idiom: files, fused decoding and random crop, flip, policy.

Interleaved, each loader in its own process on as many cores as it has threads; see loader.py. One measurement is PASSES passes over the
data without an end between them, since DALI's own iterator has begun the next epoch when one ends, and others begin when asked.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from benchmarks import facts, loader
from benchmarks.child import MEAN, STD
from benchmarks.row import Row, measured
from fastload.errors import UsageError
from fastload.measure import Sample, interleaved

LOADERS = {
    "peer": "DALI, by hand", "dali-own": "fastload, backend dali-own", "dali": "fastload, backend dali", "native": "fastload, native",
}  # fmt: skip
REFERENCE = "peer"
PASSES = 3
SETTLE = 0.5  # s, until what the reference has begun beyond the end is done; not measured
OUTPUTS = ("uint8", "float32", "policy")  # the last: RandAugment, then as float32


@dataclass(frozen=True)
class Settings:
    """What is measured. Images per batch; output side in px."""

    workers: tuple[int, ...] = (1, 2)
    outputs: tuple[str, ...] = OUTPUTS
    batch_size: int = 64
    size: int = 224
    repetitions: int = 5


def run(data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None) -> list[Row]:
    """Measure every variant on the folder of classes `data`; on_done is called after each epoch."""
    cores = sorted(os.sched_getaffinity(0))
    if settings.repetitions < 1 or not all(1 <= workers <= len(cores) for workers in settings.workers):
        raise UsageError(f"dali: {settings.repetitions} repetitions, {settings.workers} workers (want 1 or more, and up to {len(cores)})")
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch, ExitStack() as stack:
        runs = {loader.key(spec): stack.enter_context(loader.child(spec, scratch)) for spec in specs(settings, data, cores)}
        for epoch in runs.values():
            epoch()  # dropped
            on_done()
        found = interleaved(runs, settings.repetitions, on_done)
    return rows(settings, found, common)


def epochs(settings: Settings) -> int:
    """How often on_done is called."""
    return len(settings.workers) * len(settings.outputs) * len(LOADERS) * (settings.repetitions + 1)


def specs(settings: Settings, data: str, cores: Sequence[int]) -> Iterator[dict[str, Any]]:
    """What benchmarks.child is told; variants of one comparison stand side by side."""
    for output in settings.outputs:
        for workers in settings.workers:
            for name in LOADERS:
                yield {
                    "benchmark": "dali", "loader": name, "data": data, "output": output, "workers": workers, "cores": list(cores[:workers]),
                    "batch_size": settings.batch_size, "size": settings.size,
                }  # fmt: skip


def rows(settings: Settings, found: dict[str, Sample], common: dict[str, Any]) -> list[Row]:
    """One row per variant, compared with the hand-written one at the same output and cores."""
    out = []
    for spec in specs(settings, "", ()):
        shown = {name: spec[name] for name in ("output", "batch_size", "size")} | {"cores": spec["workers"], "workers": "one per core"}
        against = None if spec["loader"] == REFERENCE else found[loader.key(spec | {"loader": REFERENCE})]
        out.append(Row(
            benchmark="dali", variant=LOADERS[spec["loader"]], settings=shown, reference=None if against is None else LOADERS[REFERENCE],
            page_cache="warm", **measured(found[loader.key(spec)], against), **common,
        ))  # fmt: skip
    return out


def make_loader(spec: dict[str, Any]) -> Any:
    """In the child: batches of pairs (images, labels)."""
    if spec["loader"] == "peer":
        return Peer(spec)
    from torch.utils.data import RandomSampler

    import fastload
    from fastload.transforms import Normalize, RandAugment, RandomHorizontalFlip, RandomResizedCrop, ToImage, ToTensor

    ops: list[Any] = [RandomResizedCrop(spec["size"]), RandomHorizontalFlip(), *[RandAugment()] * (spec["output"] == "policy")]
    ops += [ToImage()] if spec["output"] == "uint8" else [ToTensor(), Normalize(MEAN, STD)]
    dataset = fastload.open(spec["data"], ops)
    return fastload.DataLoader(
        dataset, spec["batch_size"], sampler=RandomSampler(dataset, num_samples=PASSES * len(dataset)), num_workers=spec["workers"],
        backend=spec["loader"],
        **{"seek_index": "use"} if spec["loader"] == "native" else {},
    )  # fmt: skip


class Peer:
    """What DALI's own documentation shows: readers.file, image_random_crop, resize, crop_mirror_normalize, DALIClassificationIterator."""

    def __init__(self, spec: dict[str, Any]) -> None:
        from nvidia.dali.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy

        made = pipeline(spec)
        self.iterator = DALIClassificationIterator(
            made, reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL, last_batch_padded=False, auto_reset=True
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
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug import rand_augment

    policy, size = spec["output"] == "policy", spec["size"]
    mean, std, dtype = ([0.0] * 3, [1.0] * 3, types.UINT8)
    if spec["output"] != "uint8":
        mean, std, dtype = [255 * v for v in MEAN], [255 * v for v in STD], types.FLOAT

    @pipeline_def(enable_conditionals=True)
    def train() -> Any:
        encoded, labels = fn.readers.file(file_root=spec["data"], random_shuffle=True, shuffle_after_epoch=False, name="Reader")
        images = fn.decoders.image_random_crop(encoded, device="cpu", random_area=(0.08, 1.0), random_aspect_ratio=(3 / 4, 4 / 3))
        images = fn.resize(images, size=(size, size), interp_type=types.INTERP_LINEAR, antialias=True)
        if policy:
            images = rand_augment.rand_augment(
                images, n=2, m=9, shape=(size, size), fill_value=0, interp_type=types.INTERP_NN, max_translate_rel=150 / 331
            )
        mirror = fn.random.coin_flip()
        return fn.crop_mirror_normalize(images, dtype=dtype, mean=mean, std=std, mirror=mirror, output_layout="CHW"), labels

    made = train(batch_size=spec["batch_size"], num_threads=spec["workers"], device_id=None, seed=0, prefetch_queue_depth=2)
    made.build()
    return made
