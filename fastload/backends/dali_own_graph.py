"""The graph of DALI by itself; see dali_own."""

from typing import Any

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug import auto_augment, rand_augment, trivial_augment
from nvidia.dali.pipeline import do_not_convert as plain

from fastload.backends.dali_graph import given, scaled, stored
from fastload.backends.dali_inputs import Picture
from fastload.spec import Stage
from fastload.transforms import AutoAugment, RandAugment, RandomHorizontalFlip, RandomResizedCrop

TRIES = 10  # as RandomResizedCrop's
FILTERS = {"nearest": types.INTERP_NN, "bilinear": types.INTERP_LINEAR}
MOST_SHIFT = 150 / 331  # of a side: torchvision's translation at the last bin
MOST_SHIFT_WIDE = 32  # px, TrivialAugmentWide's


@pipeline_def(enable_conditionals=True, exec_dynamic=True)
def pipeline(feed: Any, pictures: tuple[Picture, ...], device: str) -> Any:
    """feed() gives the arrays of `dali_inputs.inputs`; the outputs are each picture's batch."""
    nodes = given(feed, pictures)
    outputs = []
    for number, picture in enumerate(pictures):
        image, flip = cropped(nodes[-1], nodes[number], picture, device)
        for step in picture.plan.stage(Stage.AUGMENT):
            image = policy(image, step.op, nodes[number]["size"])
        outputs.append(stored(image, {**nodes[number], **flip}, picture))
    return tuple(outputs)


@plain
def cropped(encoded: Any, own: dict[str, Any], picture: Picture, device: str) -> tuple[Any, dict[str, Any]]:
    """uint8 [height, width, 3], and the flip for `stored`."""
    steps = picture.plan.stage(Stage.CROP)
    box = next(step.op for step in steps if isinstance(step.op, RandomResizedCrop))
    image = fn.decoders.image_random_crop(
        encoded, device="mixed" if device == "cuda" else "cpu", output_type=types.RGB, adjust_orientation=False,
        random_area=box.scale, random_aspect_ratio=box.ratio, num_attempts=TRIES,
    )  # fmt: skip
    image = scaled(image, own, box.interpolation)
    flips = [step.op.p for step in steps if isinstance(step.op, RandomHorizontalFlip)]
    return image, {"flip": fn.random.coin_flip(probability=flips[0])} if flips else {}


def policy(image: Any, op: Any, size: Any) -> Any:
    """DALI's policy of that name, with torchvision's bins, ranges and fill."""
    common = {"fill_value": float(op.colour()[0]), "interp_type": FILTERS[op.interpolation]}
    if isinstance(op, RandAugment):
        return rand_augment.rand_augment(
            image, n=op.num_ops, m=int(op.magnitude), num_magnitude_bins=op.num_magnitude_bins,
            shape=size, max_translate_rel=MOST_SHIFT, **common,
        )  # fmt: skip
    if isinstance(op, AutoAugment):
        return auto_augment.auto_augment_image_net(image, shape=size, max_translate_rel=MOST_SHIFT, **common)
    return trivial_augment.trivial_augment_wide(
        image, num_magnitude_bins=op.num_magnitude_bins, max_translate_abs=MOST_SHIFT_WIDE, **common
    )
