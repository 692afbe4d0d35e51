"""What the gallery shows of each op: the arguments, and a seed whose draw shows its effect."""

from typing import Any, NamedTuple

import numpy as np

from fastload import transforms as T
from fastload.spec import Pixels

HEIGHT, WIDTH = 150, 200  # px, of a picture


class Shown(NamedTuple):
    """One picture: a public name of fastload.transforms, and how it is called."""

    name: str
    code: str  # the arguments, as a user writes them
    op: Any
    seed: int = 0
    note: str = ""  # what to look at, on the page


@T.custom
def vignette(image: Pixels) -> None:
    """Darker towards the corners."""
    height, width = image.shape[0], image.shape[1]
    for y in range(height):
        for x in range(width):
            far = ((y / height - 0.5) ** 2 + (x / width - 0.5) ** 2) * 1.6
            for channel in range(3):
                image[y, x, channel] = np.uint8(image[y, x, channel] * (1.0 - far))


CROPS = (
    Shown("RandomResizedCrop", "(150, 200), scale=(0.1, 0.3)",
          T.RandomResizedCrop((HEIGHT, WIDTH), scale=(0.1, 0.3)), 4,
          "a random box, resized"),
    Shown("Resize", "(150, 200)", T.Resize((HEIGHT, WIDTH)), 0, "the whole image"),
    Shown("CenterCrop", "(150, 200)", T.CenterCrop((HEIGHT, WIDTH)), 0, "the middle, not resized"),
    Shown("RandomCrop", "(150, 200)", T.RandomCrop((HEIGHT, WIDTH)), 3, "a window, not resized"),
    Shown("Pad", "padding=12", T.Pad(12), 0, "a black border"),
    Shown("RandomHorizontalFlip", "p=1", T.RandomHorizontalFlip(p=1)),
    Shown("RandomVerticalFlip", "p=1", T.RandomVerticalFlip(p=1)),
    Shown("RandomRotation", "degrees=30", T.RandomRotation(30, interpolation="bilinear"), 1),
    Shown("RandomAffine", "15, shear=25, scale=(0.6, 0.8)",
          T.RandomAffine(15, shear=25, scale=(0.6, 0.8), interpolation="bilinear"), 2),
    Shown("RandomPerspective", "distortion_scale=0.6, p=1",
          T.RandomPerspective(distortion_scale=0.6, p=1), 1),
)  # fmt: skip

COLOURS = (
    Shown("ColorJitter", "0.4, 0.4, 0.4, hue=0.2", T.ColorJitter(0.4, 0.4, 0.4, 0.2), 5),
    Shown("Grayscale", "num_output_channels=3", T.Grayscale(3)),
    Shown("RandomGrayscale", "p=1", T.RandomGrayscale(p=1)),
    Shown("RandomInvert", "p=1", T.RandomInvert(p=1)),
    Shown("RandomSolarize", "threshold=128, p=1", T.RandomSolarize(128, p=1)),
    Shown("RandomPosterize", "bits=2, p=1", T.RandomPosterize(2, p=1)),
    Shown("RandomEqualize", "p=1", T.RandomEqualize(p=1)),
    Shown("RandomAutocontrast", "p=1", T.RandomAutocontrast(p=1)),
    Shown("RandomAdjustSharpness", "sharpness_factor=6, p=1", T.RandomAdjustSharpness(6, p=1)),
    Shown("GaussianBlur", "kernel_size=9, sigma=2.5", T.GaussianBlur(9, (2.5, 2.5001))),
)

POLICIES = (
    Shown("RandAugment", "num_ops=2, magnitude=9", T.RandAugment(2, 9), 3, "two drawn ops"),
    Shown("TrivialAugmentWide", "", T.TrivialAugmentWide(), 8, "one drawn op, any strength"),
    Shown("AutoAugment", "policy='imagenet'", T.AutoAugment(), 2, "one of 25 learned pairs"),
    Shown("AugMix", "severity=6", T.AugMix(severity=6), 2, "three chains, mixed"),
    Shown("RandomApply", "[T.GaussianBlur(9)], p=1",
          T.RandomApply([T.GaussianBlur(9, (2, 2.001))], p=1)),
    Shown("RandomChoice", "[T.RandomInvert(p=1), T.RandomSolarize(90, p=1)]",
          T.RandomChoice([T.RandomInvert(p=1), T.RandomSolarize(90, p=1)]), 1),
    Shown("RandomOrder", "[T.RandomPosterize(3, p=1), T.RandomEqualize(p=1)]",
          T.RandomOrder([T.RandomPosterize(3, p=1), T.RandomEqualize(p=1)])),
    Shown("custom", "a vignette of one's own", vignette, 0, "a Python function, compiled by Numba"),
)  # fmt: skip

OUTPUTS = (
    Shown("ToImage", "", T.ToImage(), 0, "a uint8 tensor: the same pixels"),
    Shown("PILToTensor", "", T.PILToTensor(), 0, "the same as ToImage"),
    Shown("ToTensor", "", T.ToTensor(), 0, "float32, 0 to 1: the same pixels"),
    Shown("ToDtype", "'float16', scale=True", T.ToDtype("float16", scale=True), 0,
          "another type: the same pixels"),
    Shown("ConvertImageDtype", "'float32'", T.ConvertImageDtype("float32"), 0,
          "another type: the same pixels"),
    Shown("Normalize", "mean=(0.9, 0.5, 0.1), std=(0.2, 0.2, 0.2)",
          T.Normalize((0.9, 0.5, 0.1), (0.2, 0.2, 0.2)), 0,
          "values below 0 are black here, above 1 white"),
    Shown("RandomErasing", "p=1, value=0.5", T.RandomErasing(p=1, value=0.5), 5),
    Shown("ColOut", "p_row=0.3, p_col=0.3", T.ColOut(0.3, 0.3), 0,
          "rows and columns dropped at random: smaller"),
)  # fmt: skip

MIXES = (
    Shown("MixUp", "alpha=1", T.MixUp(alpha=1, num_classes=2), 2,
          "with another image of the batch"),
    Shown("CutMix", "alpha=1", T.CutMix(alpha=1, num_classes=2), 9, "a box of another image"),
    Shown("LabelSmoothing", "smoothing=0.1", T.LabelSmoothing(0.1, num_classes=2), 0,
          "changes labels, no pixels"),
)  # fmt: skip

SMALL = T.RandomResizedCrop((HEIGHT, WIDTH // 2 - 2), scale=(0.1, 0.5), ratio=(0.6, 0.7))
VIEWS = Shown(
    "Views", "[(T.RandomResizedCrop((150, 98)), 2)]", T.Views([([SMALL, T.ToImage()], 2)]), 5,
    "two crops of one image, for self-supervision",
)  # fmt: skip

GROUPS = {
    "CROP: where the pixels come from": CROPS,
    "AUGMENT: colour and blur": COLOURS,
    "AUGMENT: policies and combinations": POLICIES,
    "STORE: what the model gets": OUTPUTS,
    "MIX and views: more than one picture": (*MIXES, VIEWS),
}
# Public names that are no ops, and what they are.
NO_PICTURE = {
    "Compose": "ops in order, as torchvision's; a list says the same",
    "Mix": "the base class of what mixes batches",
    "Op": "the base class of ops",
    "Params": "what an op's `params()` gives: the records that it drew",
}
