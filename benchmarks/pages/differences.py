"""How far every op's pixels are from torchvision's, on images and arguments of all kinds."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import functional as first_api
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from fastload import transforms as T
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.base import WARPING
from fastload.transforms.matrices import perspective as coefficients
from fastload.transforms.programs import CODE, CODES, rows

SHEAR = 17.0  # degrees
FILTER = v2.InterpolationMode.BILINEAR
NUMBER = 2  # PIL's, of the same filter
DRAWS = 8  # samples per op and image
WARPS = 30  # of each kind: a third with each filter


class Case(NamedTuple):
    """One operation: ours on a PIL image, theirs on a PIL image or a uint8 tensor [C, H, W]."""

    name: str
    ours: Callable[[Image.Image], Any]
    theirs: Callable[[Any], Any]
    of_tensors: bool = True  # whether theirs takes tensors too


class Differences(NamedTuple):
    """The largest differences, 0..255, from torchvision's results for PIL images and for
    tensors.
    """

    name: str
    pil: int
    tensor: int


def images() -> list[Image.Image]:
    """Textured, saturated noise, a ramp, a constant, and grey; none square."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:61, :47]
    waves = np.stack(
        [128 + 60 * np.sin(x / (3 + c)) + 50 * np.cos(y / (7 - c)) for c in range(3)], axis=-1
    )
    textured = np.clip(waves + rng.normal(0, 9, waves.shape), 0, 255).astype(np.uint8)
    saturated = rng.integers(0, 2, (40, 71, 3), dtype=np.uint8) * 255
    ramp = np.stack([np.tile(np.arange(256, dtype=np.uint8), (14, 1))] * 3, axis=-1)
    made = [Image.fromarray(pixels) for pixels in (textured, saturated, ramp, textured[..., 1])]
    return [*made, Image.new("RGB", (33, 50), (12, 130, 251))]


def affine(image: Any, move: list[int], shear: list[float]) -> Any:
    return F.affine(image, 0.0, move, 1.0, shear, FILTER, center=[0, 0])


# programs.CODES: our arguments, and torchvision's function of image and argument. Shears are
# compared at one angle.
FUNCTIONS: dict[str, tuple[tuple[float, ...], Callable[[Any, float], Any]]] = {
    "ShearX": (
        (math.tan(math.radians(SHEAR)),),
        lambda image, _: affine(image, [0, 0], [SHEAR, 0.0]),
    ),
    "ShearY": (
        (math.tan(math.radians(SHEAR)),),
        lambda image, _: affine(image, [0, 0], [0.0, SHEAR]),
    ),
    "TranslateX": ((-9, 5), lambda image, v: affine(image, [int(v), 0], [0.0, 0.0])),
    "TranslateY": ((-9, 5), lambda image, v: affine(image, [0, int(v)], [0.0, 0.0])),
    "Rotate": ((-30.0, 12.5, 90.0), lambda image, v: F.rotate(image, v, FILTER)),
    "Brightness": ((0.1, 0.73, 1.9), F.adjust_brightness),
    "Color": ((0.0, 0.73, 1.9), F.adjust_saturation),
    "Contrast": ((0.1, 0.73, 1.9), F.adjust_contrast),
    "Sharpness": ((0.1, 0.73, 1.9), F.adjust_sharpness),
    "Posterize": ((1, 4, 7), lambda image, v: F.posterize(image, int(v))),
    "Solarize": ((0, 110, 178.5), F.solarize),
    "AutoContrast": ((0,), lambda image, _: F.autocontrast(image)),
    "Equalize": ((0,), lambda image, _: F.equalize(image)),
    "Invert": ((0,), lambda image, _: F.invert(image)),
    "Hue": ((-0.31, 0.1, 0.5), F.adjust_hue),
}
OWN = ("SolarizeAdd", "GaussianBlurPIL")  # timm's; torchvision has none


def rows_of_programs() -> Iterator[Case]:
    for name, (arguments, function) in FUNCTIONS.items():
        for argument in arguments:
            row = rows([CODE[name]], [argument], NUMBER)

            def ours(image: Image.Image, row: Any = row) -> Any:
                return pil.apply(T.RandAugment(1), image, row)

            def theirs(image: Any, function: Any = function, argument: float = argument) -> Any:
                return function(image, argument)

            yield Case(name, ours, theirs)
    for size, sigma in ((3, 0.5), (23, 2.0)):
        yield Case(
            "GaussianBlur",
            T.GaussianBlur(size, sigma),
            lambda i, k=size, s=sigma: F.gaussian_blur(i, [k, k], [s, s]),
        )


def other_cases() -> Iterator[Case]:
    """Ops that have no program, at fixed arguments."""
    yield Case(
        "RandomResizedCrop, Resize",
        T.Resize((20, 31)),
        lambda i: F.resize(i, [20, 31], antialias=True),
    )
    yield Case(
        "RandomResizedCrop, Resize",
        T.Resize((90, 80)),
        lambda i: F.resize(i, [90, 80], antialias=True),
    )
    yield Case("CenterCrop", T.CenterCrop((20, 60)), lambda i: F.center_crop(i, [20, 60]))
    yield Case("RandomCrop, Pad", T.Pad((3, 4), 7), lambda i: F.pad(i, [3, 4], 7))
    yield Case(
        "RandomCrop, Pad",
        T.Pad(3, padding_mode="reflect"),
        lambda i: F.pad(i, [3], padding_mode="reflect"),
    )
    yield Case("RandomHorizontalFlip", T.RandomHorizontalFlip(1.0), F.horizontal_flip)
    yield Case("RandomVerticalFlip", T.RandomVerticalFlip(1.0), F.vertical_flip)
    for number in range(WARPS):
        yield from warps(
            np.random.default_rng(number), v2.InterpolationMode(WARPING[number % len(WARPING)])
        )
    yield Case("Grayscale, RandomGrayscale", T.Grayscale(3), lambda i: F.rgb_to_grayscale(i, 3))


def warps(rng: np.random.Generator, mode: v2.InterpolationMode) -> Iterator[Case]:
    """One of each, by random parameters, which are float32 numbers as torchvision's classes draw
    them.
    """
    angle, scale, x, y = (
        rng.uniform((-180, 0.4, -40, -40), (180, 2.5, 40, 40)).astype(np.float32).tolist()
    )
    centre = [None, rng.integers(0, 40, 2).tolist(), rng.uniform(0, 40, 2).tolist()][
        rng.integers(3)
    ]
    fill, expand, tensors = int(rng.integers(256)), bool(rng.integers(2)), mode is FILTER
    turn = T.RandomRotation((angle, angle), mode, expand, centre, fill)
    yield Case(
        "RandomRotation", turn, lambda i: F.rotate(i, angle, mode, expand, centre, fill), tensors
    )
    for definition, functional in (("v1", first_api), ("v2", F)):
        sheared: Any = T.RandomAffine(
            (angle, angle),
            None,
            (scale, scale),
            (x, x, y, y),
            mode,
            fill,
            centre,
            definition=definition,
        )

        def theirs(image: Any, functional: Any = functional) -> Any:
            of_tensor = isinstance(image, torch.Tensor) and functional is first_api
            return functional.affine(
                image, angle, [0, 0], scale, [x, y], mode, [fill] if of_tensor else fill, centre
            )

        yield Case("RandomAffine", sheared, theirs, tensors)
    yield perspectives(rng, mode, of_tensors=tensors)


def perspectives(rng: np.random.Generator, mode: v2.InterpolationMode, *, of_tensors: bool) -> Case:
    start = np.array([[0, 0], [40, 0], [40, 30], [0, 30]])
    end = start + rng.integers(0, 12, (4, 2)) * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])

    def perspective(image: Image.Image) -> Any:
        record = np.array([*coefficients(end[None], start[None])[0], image.height, image.width])
        return pil.apply(T.RandomPerspective(interpolation=mode), image, record)

    def their_perspective(image: Any) -> Any:
        return F.perspective(image, start.tolist(), end.tolist(), mode, 0)

    return Case("RandomPerspective", perspective, their_perspective, of_tensors)


def measured() -> list[Differences]:
    """The largest differences of every operation, over all images and arguments."""
    found: dict[str, Differences] = {}
    for name, ours, theirs, of_tensors in [*other_cases(), *rows_of_programs(), *mixed()]:
        for image in images():
            got = as_tensor(ours(image))
            before = found.get(name, Differences(name, 0, 0))
            of_tensor = most(got, as_tensor(theirs(as_tensor(image)))) if of_tensors else 0
            largest = most(got, as_tensor(theirs(image)))
            found[name] = Differences(name, max(before.pil, largest), max(before.tensor, of_tensor))
    return list(found.values())


def mixed() -> Iterator[Case]:
    """AugMix: our programs, and the same programs through torchvision's functions, which it runs on
    tensors only.
    """
    op = T.AugMix(10, fill=0)
    for u in np.random.default_rng(1).random((DRAWS, op.draws(Spec()))):

        def program(image: Any, u: Any = u) -> Any:
            return op.params(u[None], np.array([pil.size(image)], np.int32)).records[0]

        def theirs(image: Any, program: Any = program) -> Any:
            return torchvisions_mix(as_tensor(image), program(image))

        yield Case(
            "AugMix", lambda image, program=program: pil.apply(op, image, program(image)), theirs
        )


def torchvisions_mix(start: torch.Tensor, program: Any) -> torch.Tensor:
    image, total = start, torch.zeros(())
    for code, argument, _ in program.tolist():
        name = CODES[int(code)]
        if name == "Add":
            image, total = start, total + argument * image
        elif name.startswith("Shear"):
            degrees = math.degrees(math.atan(argument))
            image = affine(image, [0, 0], [degrees, 0.0] if name == "ShearX" else [0.0, degrees])
        elif name in FUNCTIONS:
            image = FUNCTIONS[name][1](image, argument)
    return total.to(torch.uint8)


def as_tensor(image: Any) -> torch.Tensor:
    return pil.to_tensor(image)


def most(a: torch.Tensor, b: torch.Tensor) -> int:
    if a.shape != b.shape:
        raise ValueError(f"shapes {tuple(a.shape)} and {tuple(b.shape)}")
    return int((a.int() - b.int()).abs().max())
