"""Classes and functions as training scripts write them, and what each of them means."""

import random

import numpy as np
import torch
from PIL import Image, ImageFilter, ImageOps
from torchvision import transforms as v1
from torchvision.transforms import functional as F


class Two:
    """Contrastive learning: a query and a key."""

    def __init__(self, base_transform):
        self.base_transform = base_transform

    def __call__(self, x):
        query = self.base_transform(x)
        key = self.base_transform(x)
        return [query, key]


class Pair(torch.nn.Module):
    """Two chains that differ, in a module."""

    def __init__(self, first, second):
        super().__init__()
        self.first = first
        self.second = second

    def forward(self, image):
        y1, y2 = self.first(image), self.second(image)
        return y1, y2


class Many:
    """Views in a comprehension over a count."""

    def __init__(self, transform, n_views=2):
        self.transform, self.n_views = transform, n_views

    def __call__(self, x):
        return [self.transform(x) for _ in range(self.n_views)]


class MultiCrop:
    """Global and local crops, appended one by one."""

    def __init__(self, first, second, local, count):
        self.first, self.second, self.local, self.count = first, second, local, count

    def __call__(self, image):
        crops = []
        crops.append(self.first(image))
        crops.append(self.second(image))
        for _ in range(self.count):
            crops.append(self.local(image))  # noqa: PERF401  as many scripts have it
        return crops


class WeakStrong:
    def __init__(self, weak, strong, last):
        self.weak, self.strong, self.normalize = weak, strong, last

    def __call__(self, x):
        weak = self.weak(x)
        strong = self.strong(x)
        return self.normalize(weak), self.normalize(strong)


class Chain:
    """A Compose of one's own."""

    def __init__(self, *parts):
        self.parts = list(parts)

    def __call__(self, img):
        for part in self.parts:
            img = part(img)
        return img


class Blur:
    def __init__(self, p=0.5, low=0.1, high=2.0):
        self.p, self.low, self.high = p, low, high

    def __call__(self, img):
        do_it = random.random() <= self.p
        if not do_it:
            return img
        return img.filter(ImageFilter.GaussianBlur(radius=random.uniform(self.low, self.high)))


class ScaledBlur:
    """A radius that is calculated of a draw."""

    def __init__(self, p):
        self.p = p

    def __call__(self, img):
        if np.random.rand() < self.p:  # noqa: NPY002  as many scripts have it
            sigma = random.random() * 1.9 + 0.1
            return img.filter(ImageFilter.GaussianBlur(sigma))
        else:  # noqa: RET505  as many scripts have it
            return img


class Solarize:
    def __init__(self, p, threshold=128):
        self.p, self.threshold = p, threshold

    def __call__(self, img):
        if self.p > random.random():
            img = ImageOps.solarize(img, self.threshold)
        return img


class Grey:
    """Another transform, at times."""

    def __init__(self, p):
        self.p = p
        self.transf = v1.Grayscale(3)

    def __call__(self, img):
        return self.transf(img) if random.random() < self.p else img


class OneOrOther:
    def __init__(self, first, second):
        self.first, self.second = first, second

    def __call__(self, img):
        if random.random() < 0.25:  # noqa: SIM108  both spellings are tested
            out = self.first(img)
        else:
            out = self.second(img)
        return out


class Flip:
    """By torch's draw and torchvision's function."""

    def __init__(self, p):
        self.p = p

    def __call__(self, img):
        if self.p > 0 and torch.rand(1) < self.p:
            return F.hflip(img)
        return img


class LastFlip:
    """By the draw's number; and a tensor in the end."""

    def __call__(self, img):
        if torch.rand(1).item() > 0.75:
            img = F.vflip(img)
        return F.to_tensor(img)


def to_rgb(image: Image.Image) -> Image.Image:
    return image.convert("RGB")


def grey(image):
    """Of one channel."""
    image = image.convert("L")
    return image  # noqa: RET504  as many scripts have it


rgb = lambda image: image.convert("RGB")  # noqa: E731  as scripts write it
