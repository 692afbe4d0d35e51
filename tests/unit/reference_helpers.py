"""Images and draws that the tests of the reference share."""

import numpy as np
from PIL import Image
from torchvision.transforms.v2 import functional as F

HEIGHT, WIDTH = 37, 53


def images(make_image):
    """Textured, saturated, constant and grey, none square."""
    textured = make_image(HEIGHT, WIDTH, 3)
    noise = np.random.default_rng(0).integers(0, 2, (WIDTH, HEIGHT, 3), dtype=np.uint8) * 255
    return [
        Image.fromarray(textured), Image.fromarray(noise), Image.new("RGB", (41, 30), (7, 200,
        128)), Image.new("RGB", (5, 9)),
        Image.fromarray(textured[..., 0]),
    ]  # fmt: skip


MODES = {
    "nearest": F.InterpolationMode.NEAREST,
    "bilinear": F.InterpolationMode.BILINEAR,
    "bicubic": F.InterpolationMode.BICUBIC,
}
