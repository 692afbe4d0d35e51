"""AUGMENT on one core: each op and policy against torchvision on PIL images and on tensors; and
whole loaders with and without.

Ops and policies work on uint8 images that are decoded already, the random numbers are part of the
work. Whole loaders decode, RandomResizedCrop, flip and normalise; "hot" adds RandAugment(num_ops=1)
and ColOut (DALI has none), "mixed" also MixUp. All take turns.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from PIL import Image

from benchmarks.loaders import loader
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload import _native
from fastload import transforms as T
from fastload.backends.native import augment, instructions
from fastload.conversion import job
from fastload.measure import Sample, interleaved, rate
from fastload.plan.steps import infer_specs, records
from fastload.sources import read
from fastload.spec import Work
from fastload.transforms import pil
from fastload.transforms.programs import CODE, ENHANCE, rows

SIDE, PATH_SIDE = 224, 176  # px
IMAGES = 32  # per turn
SECONDS = 0.1  # of one repetition, at least
PIL, TENSOR, OURS = "torchvision, PIL", "torchvision, tensor", "fastload"
# Magnitudes as torchvision's own functions take them; those of RandAugment's default where it has
# one.
MAGNITUDES = {
    "ShearX": 0.09, "ShearY": 0.09, "TranslateX": 30.0, "TranslateY": 30.0, "Rotate": 9.0,
    "Brightness": 0.27, "Color": 0.27,
    "Contrast": 0.27, "Sharpness": 0.27, "Posterize": 7.0, "Solarize": 178.5, "AutoContrast": 0.0,
    "Equalize": 0.0,
}  # fmt: skip
POLICIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("RandAugment", {"num_ops": 1}),
    ("RandAugment", {"num_ops": 2}),
    ("RandAugment", {"num_ops": 1, "interpolation": "bilinear"}),
    ("TrivialAugmentWide", {}),
)
PATHS = ("float32", "hot", "mixed")  # benchmarks.loaders.child's outputs
BEFORE = {
    "hot": ("cost_of_augmenting", "float32"),
    "mixed": ("cost_of_mixing", "hot"),
}  # and what each adds to
Variants = Mapping[str, Callable[[], int]]


@dataclass(frozen=True)
class Photos:
    """The same images in every form."""

    arrays: list[Any]  # uint8 [SIDE, SIDE, 3]
    images: list[Image.Image]
    tensors: list[torch.Tensor]  # uint8 [3, SIDE, SIDE]


def run(
    data: str, name: str, repetitions: int, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Rows of all ops, policies and loaders; on_done is called after each repetition of each."""
    cores = sorted(os.sched_getaffinity(0))
    loader.check(loader.Settings(workers=(1,), repetitions=repetitions), cores)
    common = {"data": facts.data_set(data, name), **facts.common()}
    photos = take(data)
    before = torch.get_num_threads()
    os.sched_setaffinity(0, cores[:1])
    torch.set_num_threads(1)
    try:
        out = [
            row
            for op, variants in cases(photos)
            for row in measure(op, variants, repetitions, common, on_done)
        ]
    finally:
        os.sched_setaffinity(0, cores)
        torch.set_num_threads(before)
    return [*out, *paths(data, cores[:1], repetitions, common, on_done)]


def turns(repetitions: int) -> int:
    """How often on_done is called."""
    return (len(MAGNITUDES) + len(POLICIES)) * 3 * repetitions + len(PATHS) * len(
        loader.present()
    ) * (repetitions + 1)


def take(data: str) -> Photos:
    """IMAGES images of the data set, evenly spread."""
    source = loader_source(data)
    chosen = np.linspace(0, len(source) - 1, IMAGES).astype(int).tolist()
    images = [
        pil.decode(read(source, n)).resize((SIDE, SIDE), Image.Resampling.BILINEAR) for n in chosen
    ]
    arrays = [np.asarray(image) for image in images]
    return Photos(arrays, images, [pil.to_tensor(image) for image in images])


def loader_source(data: str) -> Any:
    import fastload

    return fastload.open(data).pipeline.source


def cases(photos: Photos) -> Iterator[tuple[str, Variants]]:
    """What is compared: the row's op, and steps that return how many images they did."""
    from torchvision.transforms import InterpolationMode, autoaugment

    for name in MAGNITUDES:
        yield (
            name,
            {
                PIL: over(photos.images, theirs(name)),
                TENSOR: over(photos.tensors, theirs(name)),
                OURS: one_op(photos, name),
            },
        )
    for name, arguments in POLICIES:
        given = {
            key: InterpolationMode(value) if key == "interpolation" else value
            for key, value in arguments.items()
        }
        policy = getattr(autoaugment, name)(**given)
        shown = f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"
        ours = one_policy(photos, getattr(T, name)(**arguments))
        yield (
            shown,
            {PIL: over(photos.images, policy), TENSOR: over(photos.tensors, policy), OURS: ours},
        )


def theirs(name: str) -> Callable[[Any], Any]:
    """One of torchvision's ops, as its policies call it."""
    from torchvision.transforms import InterpolationMode, autoaugment

    return partial(
        autoaugment._apply_op,
        op_name=name,
        magnitude=MAGNITUDES[name],
        interpolation=InterpolationMode.NEAREST,
        fill=None,
    )


def over(images: list[Any], op: Callable[[Any], object]) -> Callable[[], int]:
    def step() -> int:
        for image in images:
            op(image)
        return len(images)

    return step


def one_op(photos: Photos, name: str) -> Callable[[], int]:
    def step() -> int:
        return apply(photos, programs(name))

    return step


def programs(name: str) -> Any:
    """Instructions of one op for IMAGES images."""
    argument = MAGNITUDES[name] + (1.0 if name in ENHANCE else 0.0)
    sizes = np.full((IMAGES, 2), SIDE, np.int32)
    return instructions.of_program(
        T.RandAugment(), rows(np.full((IMAGES, 1), CODE[name]), argument), sizes
    )


def one_policy(photos: Photos, op: T.Op) -> Callable[[], int]:
    """Draws new random numbers in every step, as for a new batch."""
    steps, _ = infer_specs((T.CenterCrop(SIDE), op))
    sizes = np.full((IMAGES, 2), SIDE, np.int32)
    samples, zeros, batch = (
        np.arange(IMAGES, dtype=np.int64),
        np.zeros(IMAGES, np.int64),
        iter(range(1 << 62)),
    )

    def step() -> int:
        results = records(steps[1:], Work(samples, zeros, 1, next(batch), 0), sizes)
        return apply(photos, instructions.joined(augment.fold(steps[1:], results, sizes)))

    return step


def apply(photos: Photos, results: Any) -> int:
    for image, program in zip(photos.arrays, results, strict=True):
        _native.augment(image, program)
    return IMAGES


def measure(
    op: str,
    variants: Variants,
    repetitions: int,
    common: dict[str, Any],
    on_done: Callable[[], None],
) -> Iterator[Row]:
    for step in variants.values():
        step()  # warm
    results = interleaved(
        {name: partial(rate, step, SECONDS) for name, step in variants.items()},
        repetitions,
        on_done,
    )
    also = {"times_tensor": results[OURS].median / results[TENSOR].median}
    for name, sample in results.items():
        yield _row(
            {"op": op, "size": SIDE},
            name,
            sample,
            None if name == PIL else (PIL, results[PIL]),
            common,
            also if name == OURS else {},
        )


def paths(
    data: str,
    cores: list[int],
    repetitions: int,
    common: dict[str, Any],
    on_done: Callable[[], None],
) -> Iterator[Row]:
    """Whole loaders on one core, in processes of their own."""
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch, ExitStack() as stack:
        shards = os.path.join(scratch, "shards")
        job.run(job.prepare(data, shards, job.Options()))
        settings = loader.Settings(
            workers=(1,), outputs=PATHS, size=PATH_SIDE, repetitions=repetitions
        )
        specs = list(loader.specs(settings, data, shards, cores))
        caches = {
            loader.key(spec): os.path.join(scratch, f"cache of {loader.key(spec)}")
            for spec in specs
        }
        runs = {
            loader.key(spec): stack.enter_context(loader.child(spec, caches[loader.key(spec)]))
            for spec in specs
        }
        for epoch in runs.values():
            epoch()  # dropped
            on_done()
        results = interleaved(runs, repetitions, on_done)
    yield from path_rows(specs, results, common)


def path_rows(
    specs: list[dict[str, Any]], results: dict[str, Sample], common: dict[str, Any]
) -> Iterator[Row]:
    """A row per loader and output, against PyTorch's; the ops' cost, against the output without."""
    for spec in specs:
        sample = results[loader.key(spec)]
        reference = (loader.LOADERS["torch"], results[loader.key(spec | {"loader": "torch"})])
        cost, plain = BEFORE.get(spec["output"], ("", "float32"))
        also = (
            {cost: results[loader.key(spec | {"output": plain})].median / sample.median}
            if cost
            else {}
        )
        shown = {"op": f"whole loader, {spec['output']}", "size": PATH_SIDE}
        yield _row(
            shown,
            loader.LOADERS[spec["loader"]],
            sample,
            None if spec["loader"] == "torch" else reference,
            common,
            also,
        )


def _row(
    settings: dict[str, Any],
    variant: str,
    sample: Sample,
    reference: tuple[str, Sample] | None,
    common: dict[str, Any],
    also: dict[str, float],
) -> Row:
    return Row(
        benchmark="augment", variant=variant, settings={**settings, "cores": 1},
        reference=reference and reference[0], also=also,
        page_cache="warm", **measured(sample, reference and reference[1]), **common,
    )  # fmt: skip
