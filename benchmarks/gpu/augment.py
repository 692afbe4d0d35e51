"""AUGMENT on the GPU: each op, policies, and the way to normalised batches, against torchvision v2
on the same tensors there.

torchvision draws once per call, so a batch in one call gets one draw for all; image by image is
what a loader does. "drawn anew" has our host's part in it: numbers, programs, their copy to the
device.
"""

import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.augmentation import augment as on_cpu
from benchmarks.gpu.device import COUNT, SIDE, Case, storer
from benchmarks.loaders.child import MEAN, STD
from fastload import _native
from fastload import transforms as T
from fastload.backends.native import augment, cuda, instructions
from fastload.plan.steps import infer_specs, records
from fastload.spec import Work
from fastload.transforms.programs import CODE, ENHANCE, rows

OURS, ANEW, BATCH, SINGLE = (
    "fastload",
    "fastload, drawn anew",
    "torchvision v2, one draw a batch",
    "torchvision v2, image by image",
)
POLICIES = (*on_cpu.POLICIES, ("AugMix", {}), ("GaussianBlur", {"kernel_size": 23}))
BLURS = {
    "GaussianBlur, 23 taps": ("GaussianBlur", (23, 23, 1.7, 1.7)),
    "three boxes, sigma 2": ("BoxBlur", (1.62, 1.62, 3)),
}
Step = Callable[[], object]


def cases() -> Iterator[Case]:
    images = torch.from_numpy(
        np.random.default_rng(0).integers(0, 256, (COUNT, SIDE, SIDE, 3), np.uint8)
    ).cuda()
    planes = images.permute(0, 3, 1, 2).contiguous()
    for name in on_cpu.MAGNITUDES:
        yield _case(
            name, {**_theirs_of_op(name, planes), OURS: launched(images, program_of_op(name))}
        )
    for name, (code, arguments) in BLURS.items():
        yield _case(name, {OURS: launched(images, repeated(code, *arguments))})
    for name, arguments in POLICIES:
        draw = drawer(getattr(T, name)(**arguments))
        shown = f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"
        both = {OURS: launched(images, draw()), ANEW: lambda draw=draw: launched(images, draw())()}
        yield _case(shown, {**_theirs_of_policy(name, arguments, planes), **both})
    yield whole_path(images, planes)


def _case(op: str, variants: dict[str, Step]) -> Case:
    """Bytes moved: every image read once and written once, which is the least."""
    least = 2 * COUNT * SIDE * SIDE * 3
    return Case(
        {"table": "augment", "op": op, "images": COUNT, "size": SIDE},
        variants,
        dict.fromkeys(variants, least),
    )


# --- ours ---


def program_of_op(name: str) -> Any:
    """Instructions [COUNT, 1, 13] of one of the policies' ops, as the benchmark on the CPU has
    it.
    """
    argument = on_cpu.MAGNITUDES[name] + (1.0 if name in ENHANCE else 0.0)
    sizes = np.full((COUNT, 2), SIDE, np.int32)
    return instructions.of_program(
        T.RandAugment(), rows(np.full((COUNT, 1), CODE[name]), argument), sizes
    )


def repeated(code: str, *arguments: float) -> Any:
    program = np.zeros((COUNT, 1, 13))
    program[..., 0], program[..., 5 : 5 + len(arguments)] = (
        _native.INSTRUCTIONS.index(code),
        arguments,
    )
    return program


def drawer(op: T.Op) -> Callable[[], Any]:
    """Gives instructions [COUNT, depth, 13], of a new batch each time."""
    steps, _ = infer_specs((T.CenterCrop(SIDE), op))
    sizes, batches = np.full((COUNT, 2), SIDE, np.int32), iter(range(1 << 62))
    samples, zeros = np.arange(COUNT, dtype=np.int64), np.zeros(COUNT, np.int64)

    def draw() -> Any:
        results = records(steps[1:], Work(samples, zeros, 1, next(batches), 0), sizes)
        return instructions.joined(augment.fold(steps[1:], results, sizes))

    return draw


def launched(images: torch.Tensor, program: Any) -> Callable[[], torch.Tensor]:
    made = _native.DevicePrograms(_native.Programs(program), SIDE, SIDE)
    there = torch.from_numpy(made.data).cuda()
    return lambda: cuda.augment(made, there, images, torch.cuda.current_stream().cuda_stream)


# --- theirs ---


def _theirs_of_op(name: str, planes: torch.Tensor) -> dict[str, Step]:
    if importlib.util.find_spec("torchvision") is None:
        return {}
    from torchvision.transforms import InterpolationMode, v2

    magnitude = on_cpu.MAGNITUDES[name] / (
        255 if name == "Solarize" else 1
    )  # v2 has shares of the largest value there
    one = partial(
        v2.RandAugment()._apply_image_or_video_transform, transform_id=name, magnitude=magnitude,
        interpolation=InterpolationMode.NEAREST, fill={torch.Tensor: None},
    )  # fmt: skip
    return {BATCH: lambda: one(planes), SINGLE: lambda: [one(image) for image in planes]}


def _theirs_of_policy(
    name: str, arguments: dict[str, Any], planes: torch.Tensor
) -> dict[str, Step]:
    if importlib.util.find_spec("torchvision") is None:
        return {}
    from torchvision.transforms import InterpolationMode, v2

    given = {
        key: InterpolationMode(value) if key == "interpolation" else value
        for key, value in arguments.items()
    }
    policy = getattr(v2, name)(**given)
    return {SINGLE: lambda: [policy(image) for image in planes]}


# --- all of it ---


def whole_path(images: torch.Tensor, planes: torch.Tensor) -> Case:
    """uint8 batches on the device to RandAugment(2), normalised, float16, NHWC."""
    draw, store = drawer(T.RandAugment(2)), storer(torch.float16, last=True)

    def path() -> None:
        store(launched(images, draw())())

    variants: dict[str, Step] = _theirs_of_policy("RandAugment", {"num_ops": 2}, planes)
    if variants:
        single = variants.pop(SINGLE)
        mean, std = (
            torch.tensor(values, device="cuda").view(1, 3, 1, 1) * 255 for values in (MEAN, STD)
        )

        def theirs() -> torch.Tensor:
            batch: Any = torch.stack(single())  # type: ignore[arg-type]
            return (
                ((batch.float() - mean) / std)
                .to(torch.float16)
                .contiguous(memory_format=torch.channels_last)
            )

        variants[SINGLE] = theirs
    return _case("RandAugment(num_ops=2), normalised float16", {**variants, ANEW: path})
