"""What newer training scripts define themselves; see pipelines_user.py."""

import io
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
import torch
import torch.utils.data
from PIL import Image, ImageFilter, ImageOps
from torchvision import io as vision_io
from torchvision import transforms as T
from torchvision.transforms import functional as F

from fastload.spec import Array


class Crops:
    """DINOv2: two large crops and some small ones, by name."""

    def __init__(self, first: Any, second: Any, small: Any, count: int) -> None:
        self.first, self.second, self.small, self.count = first, second, small, count

    def __call__(self, image: Any) -> dict[str, Any]:
        return {
            "global_crops": [self.first(image), self.second(image)],
            "local_crops": [self.small(image) for _ in range(self.count)],
        }


class MaybeToTensor(T.ToTensor):
    """DINOv2: leaves tensors alone."""

    def __call__(self, image: Any) -> torch.Tensor:
        return image if isinstance(image, torch.Tensor) else super().__call__(image)


class TwoChains:
    """MoCo v3, VICReg: two views by different chains."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    def __call__(self, image: Any) -> tuple[Any, Any]:
        return self.first(image), self.second(image)


class SometimesBlurred:
    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, image: Image.Image) -> Image.Image:
        if random.random() < self.p:
            return image.filter(ImageFilter.GaussianBlur(random.random() * 1.9 + 0.1))
        return image


class SometimesSolarized:
    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, image: Image.Image) -> Image.Image:
        return ImageOps.solarize(image) if random.random() < self.p else image


class WithMask:
    """SimMIM: the image, and which of its patches are hidden."""

    def __init__(self, transform: Any, patches: int) -> None:
        self.transform, self.patches = transform, patches

    def __call__(self, image: Any) -> tuple[Any, Array]:
        # The scripts draw it so
        hidden = np.random.permutation(self.patches**2) < 0.6 * self.patches**2  # noqa: NPY002
        return self.transform(image), hidden.reshape(self.patches, self.patches)


def centre_square(image: Image.Image, size: int) -> Image.Image:
    """DiT, ADM: halved as long as it can be, then resized, and cut from the centre."""
    while min(image.size) >= 2 * size:
        image = image.resize((image.width // 2, image.height // 2), Image.Resampling.BOX)
    scale = size / min(image.size)
    image = image.resize(
        (round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC
    )
    top, left = (image.height - size) // 2, (image.width - size) // 2
    return Image.fromarray(np.array(image)[top : top + size, left : left + size])


def to_both_signs(image: torch.Tensor) -> torch.Tensor:
    """VAR: from 0..1 to -1..1."""
    return image.add(image).add_(-1)


class LongestSide:
    """Segment Anything: the longer side to a length, then zeros up to a square."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, image: Image.Image) -> torch.Tensor:
        scale = self.size / max(image.size)
        shape = [round(image.height * scale), round(image.width * scale)]
        pixels = F.pil_to_tensor(F.resize(image, shape)).float()
        return F.pad(pixels, [0, 0, self.size - shape[1], self.size - shape[0]])


JPEG = (".jpg", ".jpeg")
RGB = vision_io.ImageReadMode.RGB  # some photographs have one channel


class Files(torch.utils.data.Dataset[Any]):
    """A data set class of one's own over a folder of classes."""

    def __init__(self, folder: str, transform: Any) -> None:
        self.paths = sorted(p for p in Path(folder).rglob("*.*") if p.suffix.lower() in JPEG)
        classes = sorted({path.parent.name for path in self.paths})
        self.labels = [classes.index(path.parent.name) for path in self.paths]
        self.transform = transform

    def __len__(self) -> int:
        return len(self.paths)


class ForTrainer(Files):
    """Hugging Face's Trainer: samples are dictionaries."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        image = Image.open(self.paths[index]).convert("RGB")
        return {"pixel_values": self.transform(image), "labels": self.labels[index]}


class WithBoxes(Files):
    """A detector's: the image and its target."""

    def __getitem__(self, index: int) -> tuple[Any, dict[str, torch.Tensor]]:
        with open(self.paths[index], "rb") as file:
            image = Image.open(file).convert("RGB")
        target = {"boxes": torch.tensor([[0.0, 0.0, *image.size]]), "labels": torch.tensor([index])}
        return self.transform(image), target


class ByTorchvision(Files):
    """PyTorch's tutorial on data sets of one's own: images are tensors."""

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.transform(vision_io.decode_image(str(self.paths[index]), RGB)), self.labels[
            index
        ]


class FromTable(Files):
    """The same tutorial's table of annotations, with Pillow's images."""

    def __init__(self, folder: str, transform: Any) -> None:
        super().__init__(folder, transform)
        names = [str(path.relative_to(folder)) for path in self.paths]
        self.folder = folder
        self.annotations = pd.DataFrame({"file": names, "label": self.labels})

    def __len__(self) -> int:
        return len(self.annotations)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path = os.path.join(self.folder, self.annotations.iloc[index, 0])
        image = Image.open(path).convert("RGB")
        return self.transform(image), self.annotations.iloc[index, 1]


class ByOpenCV(Files):
    """Kaggle's and Albumentations' examples: images are arrays, given by name."""

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = cv2.cvtColor(cv2.imread(str(self.paths[index])), cv2.COLOR_BGR2RGB)
        image = self.transform(image=image)["image"]
        return torch.from_numpy(image.transpose(2, 0, 1).astype(np.float32) / 255), self.labels[
            index
        ]


class ThroughOpenCV(Files):
    """Ultralytics' classification: OpenCV reads, torchvision transforms."""

    def __getitem__(self, index: int) -> tuple[Any, int]:
        image = cv2.imread(str(self.paths[index]))
        return self.transform(Image.fromarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB))), self.labels[
            index
        ]


class FromBytes(Files):
    """MMPretrain: bytes are read apart, and images stay blue, green, red."""

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        data = np.frombuffer(self.paths[index].read_bytes(), np.uint8)
        image = self.transform(image=cv2.imdecode(data, cv2.IMREAD_COLOR))["image"]
        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))), self.labels[index]


class SixteenBits(Files):
    """Medical images: PNGs of one channel and 16 bits, scaled by a window of values."""

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        grey = np.asarray(Image.open(self.paths[index]).convert("L"), np.uint16) * 257
        file = io.BytesIO()
        Image.fromarray(grey).save(file, "PNG")
        pixels = np.asarray(Image.open(file), np.float32)
        windowed = np.clip((pixels - 1000) / 60000, 0, 1)
        return self.transform(torch.from_numpy(windowed)[None]), self.labels[index]


class OfArrays:
    """Albumentations' way: a chain of functions of arrays, called by name."""

    def __init__(self, *steps: Callable[[Array], Array]) -> None:
        self.steps = steps

    def __call__(self, *, image: Array) -> dict[str, Array]:
        for step in self.steps:
            image = step(image)
        return {"image": image}


def resized(size: int) -> Callable[[Array], Array]:
    return lambda image: cv2.resize(image, (size, size), interpolation=cv2.INTER_LINEAR)


def crop_resized(size: int) -> Callable[[Array], Array]:
    """A random square, resized."""

    def crop(image: Array) -> Array:
        side = random.randint(min(image.shape[:2]) // 2, min(image.shape[:2]))
        top, left = (random.randint(0, length - side) for length in image.shape[:2])
        return cv2.resize(image[top : top + side, left : left + side], (size, size))

    return crop


def flipped(image: Array) -> Array:
    return np.ascontiguousarray(image[:, ::-1]) if random.random() < 0.5 else image


def brightened(image: Array) -> Array:
    return cv2.convertScaleAbs(image, alpha=random.uniform(0.8, 1.2), beta=random.uniform(-20, 20))


class Brightened:
    """A step of one's own in torchvision's chain: arrays, by OpenCV."""

    def __call__(self, image: Image.Image) -> Array:
        return brightened(np.asarray(image))
