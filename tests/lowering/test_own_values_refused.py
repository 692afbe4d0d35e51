"""What a data set class of the user's returns beside its images, and fastload does not make."""

import random

import pytest
import torch
from PIL import Image
from torchvision.transforms import functional

from tests.lowering.test_own_data_sets import refuses
from tests.lowering.test_own_values import COUNT, Valued


class Both(Valued):
    """One chance for two images: natively each draws by itself."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        one, other = image, image
        if random.random() < 0.5:
            one, other = functional.hflip(one), functional.vflip(other)
        return self.transform(one), self.transform(other)


class LabelByChance(Valued):
    def __getitem__(self, index):
        image, label = self.image(index), self.labels[index]
        if random.random() < 0.5:
            label = self.scores[index]
        return image, label


class DrawnValue(Valued):
    """Half of some samples have one label, half another one."""

    def __getitem__(self, index):
        label = self.labels[index]
        if self.flags[index]:
            label = 0
            if random.random() < 0.5:
                label = 1
        return self.image(index), label


class DrawnInstead(Valued):
    def __getitem__(self, index):
        label = self.labels[index]
        if self.flags[index]:
            label = 1 if random.random() < 0.5 else 0
        return self.image(index), label


class RoundedTwice(Valued):
    def __getitem__(self, index):
        return self.image(index), torch.tensor(self.scores[index]).long()


class TensorOrNumber(Valued):
    def __getitem__(self, index):
        label = self.labels[index]
        if self.flags[index]:
            label = torch.tensor(self.labels[index])
        return self.image(index), label


class Filled(Valued):
    def __getitem__(self, index):
        names = []
        if self.flags[index]:
            names.append(self.names[index])
        return self.image(index), names


class OfTexts(Valued):
    def __getitem__(self, index):
        return self.image(index), torch.tensor(self.names[index])


class OfNone(Valued):
    def __init__(self, folder):
        super().__init__(folder)
        self.marks = [None] * COUNT

    def __getitem__(self, index):
        return self.image(index), self.marks[index]


class Rows(Valued):
    def __getitem__(self, index):
        return self.image(index), self.rows[index]


REFUSED = {
    Both: "it makes different things by chance",
    LabelByChance: "it makes different things by chance",
    DrawnValue: "it draws which value it sets",
    DrawnInstead: "it makes different things by chance",
    RoundedTwice: "it calls long of a tensor of numbers",
    TensorOrNumber: "it calculates with tensors of numbers",
    Filled: "it does more than to set values by `self.flags[index]`",
    OfTexts: "it makes tensors of texts",
    OfNone: "it has values of class NoneType",
    Rows: "it has values of class dict",
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_what_has_no_meaning_is_refused(kind, folder):
    refuses(kind(folder), REFUSED[kind])
