"""Random chains of PIL calls, made on an image of fastload's and on Pillow's own."""

import io
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from fastload import image as lazy

Call = tuple[str, Callable[[Image.Image], Any]]
RESAMPLING = list(Image.Resampling)


def jpeg(random: Random, longest: int = 200) -> bytes:
    """A JPEG of a random kind; some are progressive, CMYK or damaged."""
    mode = random.choice(["RGB", "RGB", "RGB", "RGB", "L", "CMYK"])
    width, height = random.randint(1, longest), random.randint(1, longest)
    noise = np.random.default_rng(random.randrange(1 << 30))
    shape = (height // 6 + 1, width // 6 + 1, len(mode))[: 2 if mode == "L" else 3]
    coarse = noise.integers(0, 256, shape, np.uint8)
    image = Image.fromarray(coarse, mode).resize((width, height), Image.Resampling.BICUBIC)
    options: dict[str, Any] = {"quality": random.choice([30, 75, 95])}
    if mode == "RGB":
        options["subsampling"] = random.choice([0, 1, 2])
    if random.random() < 0.15:
        options["progressive"] = True
    if random.random() < 0.2:
        options["restart_marker_blocks"] = random.randint(1, 9)
    if random.random() < 0.2:
        exif = Image.Exif()
        exif[0x0112] = random.randint(1, 8)
        options["exif"] = exif
    if random.random() < 0.2:
        options["dpi"] = (random.randint(1, 300),) * 2
    file = io.BytesIO()
    image.save(file, "JPEG", **options)
    data = bytearray(file.getvalue())
    if random.random() < 0.1:
        data = data[: random.randint(2, len(data))]
    elif random.random() < 0.1:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def crop(random: Random, size: tuple[int, int]) -> Call:
    width, height = size
    if random.random() < 0.1:  # some reach out of the image, and some are empty or turned round
        box = tuple(random.randint(-9, side + 9) for side in (width, height) * 2)
    else:
        left, top = random.randrange(max(width, 1)), random.randrange(max(height, 1))
        box = (left, top, random.randint(left, width), random.randint(top, height))
    if random.random() < 0.1:
        box = tuple(value + random.random() - 0.5 for value in box)
    return f"crop({box})", lambda image: image.crop(box)


def resize(random: Random, size: tuple[int, int]) -> Call:
    width, height = size
    target = (random.randint(1, 90), random.randint(1, 90))
    if random.random() < 0.2:
        target = random.choice([(width, target[1]), (target[0], height), size])
    options: dict[str, Any] = {}
    if random.random() < 0.8:
        options["resample"] = random.choice(RESAMPLING)
    if random.random() < 0.4:
        left, top = random.uniform(0, width), random.uniform(0, height)
        box = (left, top, random.uniform(left, width), random.uniform(top, height))
        options["box"] = tuple(map(int, box)) if random.random() < 0.5 else box
    if random.random() < 0.2:
        options["reducing_gap"] = random.choice([1.0, 2.0, 3.0])
    return f"resize({target}, {options})", lambda image: image.resize(target, **options)


def thumbnail(random: Random, size: tuple[int, int]) -> Call:
    target, gap = (random.randint(1, 90), random.randint(1, 90)), random.choice([None, 2.0])

    def made(image: Image.Image) -> Image.Image:
        image.thumbnail(target, reducing_gap=gap)
        return image

    return f"thumbnail({target}, reducing_gap={gap})", made


def draft(random: Random, size: tuple[int, int]) -> Call:
    mode = random.choice(["RGB", "L", "YCbCr", None])
    target = (random.randint(1, 200), random.randint(1, 200))

    def made(image: Image.Image) -> Image.Image:
        image.draft(mode, target)
        return image

    return f"draft({mode}, {target})", made


def other(random: Random, size: tuple[int, int]) -> Call:
    mode, factor = random.choice(["RGB", "L", "RGBA", "CMYK", "P"]), random.randint(1, 4)
    method = random.choice(list(Image.Transpose))
    calls: list[Call] = [
        (f"convert({mode})", lambda image: image.convert(mode)),
        ("convert(RGB)", lambda image: image.convert("RGB")),
        (f"transpose({method!r})", lambda image: image.transpose(method)),
        ("mirror", lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)),
        (f"reduce({factor})", lambda image: image.reduce(factor)),
        ("copy", lambda image: image.copy()),
        ("exif_transpose", ImageOps.exif_transpose),
        ("rotate", lambda image: image.rotate(20)),
        ("merge", lambda image: Image.merge(image.mode, image.split())),
    ]
    return random.choice(calls)


STEPS = [crop, crop, crop, resize, resize, resize, thumbnail, draft, other, other, other, other]


def facts(image: Image.Image) -> tuple[Any, ...]:
    """Everything that a program can see of an image, its pixels last."""
    before = (image.mode, image.size, image.format, image.info, dict(image.getexif()))
    pixels = image.tobytes()
    raw = image.tobytes("raw", "RGBX") if image.mode == "RGB" else b""
    return (*before, type(image), image.getpalette(), image.readonly, pixels, raw)


def outcome(call: Callable[[], Any]) -> tuple[Any, Any]:
    """What a call gave, or the error's type and text."""
    try:
        return call(), None
    except Exception as error:
        text = str(error).partition(" object at ")[0]
        return None, (type(error), text)


def difference(seed: int) -> str:
    """Of one chain: empty where both are the same, else the chain up to where they are not."""
    random = Random(seed)
    data = jpeg(random)
    (ours, wrong), (theirs, want) = (
        outcome(lambda: lazy.open(io.BytesIO(data))),
        outcome(lambda: Image.open(io.BytesIO(data))),
    )
    said = [f"chain {seed}"]
    if wrong != want or ours is None:
        return "" if wrong == want else f"{said}: {wrong}, want {want}"
    roots = [(ours, theirs)]
    for _ in range(random.randint(0, 5)):
        name, step = random.choice(STEPS)(random, theirs.size)
        said.append(name)
        (mine, wrong), (pillows, want) = (
            outcome(lambda: step(ours)),  # noqa: B023
            outcome(lambda: step(theirs)),  # noqa: B023
        )
        if wrong != want:
            return f"{said}: {wrong}, want {want}"
        if pillows is not None and random.random() < 0.8:
            ours, theirs = mine, pillows
            roots.append((ours, theirs))
        if (ours.mode, ours.size, ours.info) != (theirs.mode, theirs.size, theirs.info):
            return f"{said}: {ours}, want {theirs}"
    for mine, pillows in random.sample(roots, len(roots)):
        got, expected = outcome(lambda: facts(mine)), outcome(lambda: facts(pillows))  # noqa: B023
        if got != expected:
            return f"{said}: other pixels or facts ({mine}, want {pillows})"
    return ""
