"""What the suite uses of torchvision, where that cannot be imported."""

from pathlib import Path

import numpy as np
import torch
import torch.utils.data
from PIL import Image


class ImageFolder(torch.utils.data.Dataset):
    """ROOT/CLASS/IMAGE as torchvision's class has it."""

    def __init__(self, root, transform=None):
        paths = sorted(Path(root).glob("*/*"))
        classes = sorted({path.parent.name for path in paths})
        self.samples = [(str(path), classes.index(path.parent.name)) for path in paths]
        self.targets, self.transform = [label for _, label in self.samples], transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        with open(path, "rb") as file:
            image = Image.open(file).convert("RGB")
        return self.transform(image), label


def resized(image):
    """float32 [3, 6, 9], 0 to 1."""
    return torch.from_numpy(np.array(image.resize((9, 6)))).permute(2, 0, 1).float() / 255


TRANSFORM = resized
