"""torchvision's transforms with ranges: what they draw is drawn by fastload too (scripted.py)."""

from typing import Any

from tests.fidelity.certain import (
    ANGLES,
    DECIMALS,
    RESIZING,
    SHEARS,
    WARPING,
    Make,
    Random,
    centre,
    either,
    fill,
    one,
)


def span(rng: Random, usual: tuple[float, ...], low: float, high: float) -> tuple[float, float]:
    a, b = sorted(either(rng, usual, low, high) for _ in range(2))
    return a, b


def rotation(rng: Random, api: Any) -> Any:
    degrees = one(rng, (span(rng, ANGLES, -360, 360), int(rng.integers(0, 181))))
    expand = one(rng, (False, True))
    return api.RandomRotation(degrees, one(rng, WARPING), expand, centre(rng), fill(rng))


def affine(rng: Random, api: Any) -> Any:
    x, y = span(rng, SHEARS, -60, 60), span(rng, SHEARS, -60, 60)
    share = tuple(rng.uniform(0, 1, 2).round(2).tolist())
    return api.RandomAffine(
        one(rng, (span(rng, ANGLES, -180, 180), 0, 15)),
        translate=one(rng, (None, share, [0.1, 0.1], (0.0, 0.3))),
        scale=one(rng, (None, span(rng, DECIMALS, 0.2, 3), list(span(rng, DECIMALS, 0.2, 3)))),
        shear=one(rng, (None, int(rng.integers(0, 45)), x, [*x, *y], (0.0, 0.0, *y))),
        interpolation=one(rng, WARPING), fill=fill(rng), center=centre(rng),
    )  # fmt: skip


def perspective(rng: Random, api: Any) -> Any:
    scale, p = one(rng, (0, 0.1, 0.5, 0.9, 1.0)), one(rng, (1.0, 0.5))
    return api.RandomPerspective(scale, p, one(rng, WARPING), fill(rng))


def jitter(rng: Random, api: Any) -> Any:
    of_hue = one(rng, (0, 0.1, 0.5, span(rng, (-0.5, -0.2, 0.3), -0.5, 0.5)))
    spans = [span(rng, DECIMALS, 0, 4) for _ in range(3)]
    factors = [one(rng, (0, 0.4, 1.3, ends, list(ends))) for ends in spans]
    return api.ColorJitter(*factors, of_hue)


def resized_crop(rng: Random, api: Any) -> Any:
    size = [int(v) for v in rng.integers(1, 60, 2)]
    scale, ratio = (
        span(rng, (0.08, 0.2, 0.7, 1.0), 0.01, 1),
        span(rng, (3 / 4, 4 / 3, 0.5, 2.0), 0.2, 5),
    )
    return api.RandomResizedCrop(size, scale, ratio, one(rng, RESIZING))


def crop(rng: Random, api: Any) -> Any:
    return api.RandomCrop(
        [int(v) for v in rng.integers(3, 33, 2)],
        one(rng, (None, 4, (1, 2), (3, 0, 1, 5))),
        fill=fill(rng),
    )


def erasing(rng: Random, api: Any) -> Any:
    value = one(rng, (0, 3, (1, 2, 3), [9.5, 20.25, 77]))
    return api.RandomErasing(
        one(rng, (1.0, 0.5)),
        span(rng, (0.02, 0.33), 0.01, 0.9),
        span(rng, (0.3, 3.3), 0.2, 5),
        value,
    )


def flips(rng: Random, api: Any) -> Any:
    name = one(
        rng,
        (
            "RandomHorizontalFlip",
            "RandomVerticalFlip",
            "RandomInvert",
            "RandomGrayscale",
            "RandomEqualize",
        ),
    )
    return getattr(api, name)(p=one(rng, (0.5, 0.3)))


MAKERS: dict[str, Make] = {
    "RandomRotation": rotation, "RandomAffine": affine, "RandomPerspective": perspective,
    "ColorJitter": jitter, "RandomResizedCrop": resized_crop, "RandomCrop": crop,
    "RandomErasing": erasing, "whether": flips,
}  # fmt: skip
