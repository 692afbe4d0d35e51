"""The graph of DALI by itself; see dali_own."""

from typing import TypeAlias

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug import auto_augment, rand_augment, trivial_augment
from nvidia.dali.pipeline import do_not_convert as plain

from fastload.backends.dali.graph import Feed, Node, Nodes, inputs_of, scaled, stored
from fastload.backends.dali.inputs import Picture
from fastload.spec import Stage
from fastload.transforms import (
    AutoAugment,
    RandAugment,
    RandomHorizontalFlip,
    RandomResizedCrop,
    TrivialAugmentWide,
)

TRIES = 10  # as RandomResizedCrop's
FILTERS = {"nearest": types.INTERP_NN, "bilinear": types.INTERP_LINEAR}
MOST_SHIFT = 150 / 331  # of a side: torchvision's translation at the last bin
MOST_SHIFT_WIDE = 32  # px, TrivialAugmentWide's

Policy: TypeAlias = AutoAugment | RandAugment | TrivialAugmentWide


@pipeline_def(enable_conditionals=True, exec_dynamic=True)
def pipeline(feed: Feed, pictures: tuple[Picture, ...], device: str) -> Node:
    """feed() gives the arrays of `dali_inputs.inputs`; the outputs are each picture's batch."""
    nodes = inputs_of(feed, pictures)
    outputs = []
    for number, picture in enumerate(pictures):
        image, flip = cropped(nodes[-1], nodes[number], picture, device)
        for op in policies(picture):
            image = policy(image, op, nodes[number]["size"])
        outputs.append(stored(image, {**nodes[number], **flip}, picture))
    return tuple(outputs)


@plain
def cropped(encoded: Node, own: Nodes, picture: Picture, device: str) -> tuple[Node, Nodes]:
    """uint8 [height, width, 3], and the flip for `stored`."""
    steps = picture.plan.stage(Stage.CROP)
    box = next(step.op for step in steps if isinstance(step.op, RandomResizedCrop))
    image = fn.decoders.image_random_crop(
        encoded, device="mixed" if device == "cuda" else "cpu", output_type=types.RGB,
        adjust_orientation=False,
        random_area=box.scale, random_aspect_ratio=box.ratio, num_attempts=TRIES,
    )  # fmt: skip
    image = scaled(image, own, box.interpolation)
    flips = [step.op.p for step in steps if isinstance(step.op, RandomHorizontalFlip)]
    return image, {"flip": fn.random.coin_flip(probability=flips[0])} if flips else {}


@plain
def policies(picture: Picture) -> list[Policy]:
    ops = [step.op for step in picture.plan.stage(Stage.AUGMENT)]
    return [op for op in ops if isinstance(op, (AutoAugment, RandAugment, TrivialAugmentWide))]


def policy(image: Node, op: Policy, size: Node) -> Node:
    """DALI's policy of that name, with torchvision's bins, ranges and fill."""
    common = {"fill_value": float(op.colour()[0]), "interp_type": FILTERS[op.interpolation]}
    if isinstance(op, RandAugment):
        return rand_augment.rand_augment(
            image, n=op.num_ops, m=int(op.magnitude), num_magnitude_bins=op.num_magnitude_bins,
            shape=size, max_translate_rel=MOST_SHIFT, **common,
        )  # fmt: skip
    if isinstance(op, AutoAugment):
        return auto_augment.auto_augment_image_net(
            image, shape=size, max_translate_rel=MOST_SHIFT, **common
        )
    return trivial_augment.trivial_augment_wide(
        image, num_magnitude_bins=op.num_magnitude_bins, max_translate_abs=MOST_SHIFT_WIDE, **common
    )
