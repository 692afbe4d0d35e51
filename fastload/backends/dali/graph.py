"""The graph: a plan in DALI's operators, with arguments per sample. The one module that imports
DALI.

DALI rewrites the pipeline's function, and what it calls, so that an `if` on a node becomes a branch
per sample; what has no such `if` is left alone (`plain`), which also keeps building quick.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from nvidia.dali import fn, math, pipeline_def, types
from nvidia.dali.pipeline import do_not_convert as plain

from fastload.backends.dali import rows as dali_rows
from fastload.backends.dali import tail as dali_tail
from fastload.backends.dali.inputs import Picture, inputs
from fastload.backends.dali.installed import whole_decode
from fastload.transforms.base import FILTERS
from fastload.transforms.reference.augment import HALF

# DALI's type annotations know neither its data nodes nor its operators.
Node: TypeAlias = Any
Nodes: TypeAlias = dict[str, Node]  # one picture's inputs, by name
Feed: TypeAlias = Callable[[], tuple[object, ...]]  # gives the arrays of `dali_inputs.inputs`

BICUBIC = FILTERS["bicubic"]
DTYPES = {
    "uint8": types.UINT8,
    "int32": types.INT32,
    "float32": types.FLOAT,
    "float16": types.FLOAT16,
    "bfloat16": types.FLOAT,
}
RESIZES = {
    "nearest": types.INTERP_NN,
    "bilinear": types.INTERP_LINEAR,
    "bicubic": types.INTERP_CUBIC,
    "lanczos": types.INTERP_LANCZOS3,
}
SMOOTH = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13  # Pillow's ImageFilter.SMOOTH


@pipeline_def(enable_conditionals=True, exec_dynamic=True)
def pipeline(feed: Feed, pictures: tuple[Picture, ...], device: str) -> Node:
    """feed() gives the arrays of `dali_inputs.inputs`; the outputs are each picture's batch."""
    nodes = inputs_of(feed, pictures)
    outputs = []
    for number, picture in enumerate(pictures):
        own = nodes[number]
        image = decoded(nodes[-1], own, picture, device)
        if "size" in picture.parts:
            image = resized(image, own, picture)
        image = augmented(windowed(image, own, picture), own, picture, device)
        outputs.append(stored(image, own, picture))
    return tuple(outputs)


@plain
def inputs_of(feed: Feed, pictures: tuple[Picture, ...]) -> dict[int, Nodes]:
    """The inputs: by picture, then name; the encoded samples at -1."""
    wanted = inputs(pictures)
    nodes = fn.external_source(
        source=feed,
        num_outputs=len(wanted),
        batch=True,
        dtype=[DTYPES[one.dtype] for one in wanted],
        ndim=[one.ndim for one in wanted],
    )
    by_picture: dict[int, Nodes] = {number: {} for number in range(len(pictures))}
    for one_input, node in zip(wanted[1:], nodes[1:], strict=True):
        number, name = one_input.name.split(".", 1)
        by_picture[int(number)][name] = node
    return {**by_picture, -1: nodes[0]}


@plain
def decoded(encoded: Node, own: Nodes, picture: Picture, device: str) -> Node:
    """uint8 [height, width, 3] of the box.

    By itself, the GPU's decoder repeats colours that are stored at half size.
    """
    how = {"device": "cpu", "output_type": types.RGB, "adjust_orientation": False}
    how |= {"device": "mixed", "jpeg_fancy_upsampling": True} if device == "cuda" else {}
    if "anchor" not in picture.parts:
        return fn.decoders.image(encoded, **how)
    if whole_decode(device):
        return fn.slice(fn.decoders.image(encoded, **how), own["anchor"], own["shape"], axes=(0, 1))
    return fn.decoders.image_slice(encoded, own["anchor"], own["shape"], axes=(0, 1), **how)


def resized(image: Node, own: Nodes, picture: Picture) -> Node:
    if "filter" not in picture.parts:
        image = scaled(image, own, picture.filter)
    elif own["filter"] == BICUBIC:
        image = scaled(image, own, "bicubic")
    else:
        image = scaled(image, own, "bilinear")
    return image


@plain
def scaled(image: Node, own: Nodes, filter: str) -> Node:
    return fn.resize(image, size=own["size"], interp_type=RESIZES[filter], antialias=True)


@plain
def windowed(image: Node, own: Nodes, picture: Picture) -> Node:
    """What CROP leaves; the flip too where rows follow, which `stored` does otherwise."""
    if "start" in picture.parts:
        image = fn.slice(
            image,
            own["start"],
            own["window"],
            axes=(0, 1),
            out_of_bounds_policy="pad",
            fill_values=0,
        )
    if picture.rows and "flip" in picture.parts:
        image = fn.flip(image, horizontal=own["flip"])
    return image


def augmented(image: Node, nodes: Nodes, picture: Picture, device: str) -> Node:
    """The image after all rows."""
    for number, row in enumerate(picture.rows):
        own = arguments(nodes, number, row)
        for kind in row.kinds:
            if own["kind"] == dali_rows.NUMBERS[kind]:
                image = one(image, kind, own, row.fill, device)
    return image


@plain
def arguments(nodes: Nodes, number: int, row: dali_rows.Row) -> Nodes:
    return {name: nodes[f"{number}.{name}"] for name in row.arguments}


@plain
def one(image: Node, kind: str, nodes: Nodes, fill: float, device: str) -> Node:
    """One op of dali_rows.KINDS."""
    if kind in SIMPLE:
        return SIMPLE[kind](image, nodes, fill)
    if kind == "Posterize":
        return image & on(nodes["mask"], device)
    factor = on(nodes["factor"], device)
    if kind == "Solarize":
        return fn.cast(
            (image >= factor) * (255 - image) + (image < factor) * image, dtype=types.UINT8
        )
    if kind == "SolarizeAdd":
        return fn.cast(
            math.min(image + math.floor(factor) * (image < HALF), 255), dtype=types.UINT8
        )
    base = degenerate(image, kind)
    # Floor: Pillow cuts, it never rounds.
    return fn.cast(
        math.clamp(math.floor(base + factor * (image - base)), 0, 255), dtype=types.UINT8
    )


def on(node: Node, device: str) -> Node:
    """A scalar where the images are."""
    return node.gpu() if device == "cuda" else node


def operator(name: str) -> Node:
    """One that older releases keep among the experimental."""
    return getattr(fn, name, None) or getattr(fn.experimental, name)


def degenerate(image: Node, kind: str) -> Node:
    """What an enhancement with factor 0 gives, float32."""
    if kind == "Brightness":
        return types.Constant(0.0)
    if kind == "Sharpness":
        return smooth(image)
    grey = fn.cast(
        fn.color_space_conversion(image, image_type=types.RGB, output_type=types.GRAY),
        dtype=types.FLOAT,
    )
    return math.floor(fn.reductions.mean(grey) + 0.5) if kind == "Contrast" else grey


@plain
def warped(image: Node, matrix: Node, fill: float) -> Node:
    """Bilinear, and the fill where the nearest pixel would be outside, as Pillow does; DALI by
    itself blends the two at the edge.
    """
    whole = fn.cast(fn.slice(image, 0, 1, axes=[2]) >= 0, dtype=types.UINT8)
    inside = fn.warp_affine(whole, matrix=matrix, interp_type=types.INTERP_NN, fill_value=0)
    pixels = fn.warp_affine(
        image, matrix=matrix, interp_type=types.INTERP_LINEAR, dtype=types.FLOAT
    )
    # Floor: Pillow cuts.
    return fn.cast(math.floor(pixels) * inside + fill * (1 - inside), dtype=types.UINT8)


@plain
def smooth(image: Node) -> Node:
    """Pillow's SMOOTH, float32: pixels at the edge stay as they are."""
    size = fn.cast(fn.slice(image.shape(), 0, 2, axes=[0]), dtype=types.INT32)
    inner = fn.cast(
        operator("filter")(image, types.Constant(SMOOTH), mode="valid"), dtype=types.FLOAT
    )
    change = inner - fn.slice(image, (1, 1), size - 2, axes=(0, 1))
    return image + fn.slice(
        change, (-1, -1), size, axes=(0, 1), out_of_bounds_policy="pad", fill_values=0
    )


@plain
def stretched(image: Node) -> Node:
    """Each channel to 0..255; one of a single value stays as it is."""
    low = fn.cast(fn.reductions.min(image, axes=(0, 1), keep_dims=True), dtype=types.FLOAT)
    high = fn.cast(fn.reductions.max(image, axes=(0, 1), keep_dims=True), dtype=types.FLOAT)
    scale = 255.0 / math.max(high - low, 1.0)
    flat = high <= low
    out = math.clamp(math.floor((image - low) * scale + 1e-3), 0, 255)
    return fn.cast(out * (flat ^ True) + image * flat, dtype=types.UINT8)


@plain
def equalized(image: Node) -> Node:
    """Pillow's rule, to a rounding step. It counts the pixels below each value in whole steps; DALI
    counts those up to it, so that its operator on the negative gives Pillow's counts, as shares. An
    image of less than one step stays as it is.
    """
    below = 255 - operator("equalize")(fn.cast(255 - image, dtype=types.UINT8))
    highest = fn.cast(
        image == fn.reductions.max(image, axes=(0, 1), keep_dims=True), dtype=types.FLOAT
    )
    rest = fn.reductions.sum(1 - highest, axes=(0, 1), keep_dims=True)
    step = math.floor(rest / 255)
    out = math.clamp(math.floor(below * (rest / (255 * math.max(step, 1.0))) + 0.5), 0, 255)
    return fn.cast(out * (step >= 1) + image * (step < 1), dtype=types.UINT8)


@plain
def stored(image: Node, nodes: Nodes, picture: Picture) -> Node:
    """Normalised, in the batch's type and memory order; STORE's factor and shift are the mean and
    deviation.
    """
    out = picture.plan.out
    factor, shift = dali_tail.linear(picture.plan)
    mean, deviation = (-shift / factor).tolist(), (1 / factor).tolist()
    mirror = nodes["flip"] if "flip" in nodes and not picture.rows else 0
    return fn.crop_mirror_normalize(
        image,
        mean=mean,
        std=deviation,
        mirror=mirror,
        dtype=DTYPES[out.dtype],
        output_layout="HWC" if out.channels_last else "CHW",
    )


# Of an image, its arguments and the fill.
SIMPLE: dict[str, Callable[[Node, Nodes, float], Node]] = {
    "Affine": lambda image, inputs_of, fill: fn.warp_affine(
        image, matrix=inputs_of["matrix"], interp_type=types.INTERP_NN, fill_value=fill
    ),
    "AffineBilinear": lambda image, inputs_of, fill: warped(image, inputs_of["matrix"], fill),
    "AutoContrast": lambda image, _given, _fill: stretched(image),
    "Equalize": lambda image, _given, _fill: equalized(image),
    "FlipX": lambda image, _given, _fill: fn.flip(image, horizontal=1, vertical=0),
    "FlipY": lambda image, _given, _fill: fn.flip(image, horizontal=0, vertical=1),
    "GaussianBlur": lambda image, inputs_of, _fill: fn.gaussian_blur(
        image, sigma=inputs_of["sigma"], window_size=inputs_of["taps"]
    ),
    "Hue": lambda image, inputs_of, _fill: fn.hue(image, hue=inputs_of["factor"]),
    "Invert": lambda image, _given, _fill: fn.cast(255 - image, dtype=types.UINT8),
}
