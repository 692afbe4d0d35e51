"""Library code that a program has patched: whatever PyTorch's engine would call, is called."""

import os
import random
from typing import Any

import pytest
import timm.data.auto_augment
import torch.utils.data
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from tests.loader.mutations.patches import Patchable, called, patched
from tests.loader.mutations.worlds import SIZE, WORLDS

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def random_parts(api: Any) -> list[Any]:
    """Every kind of drawing that both of torchvision's interfaces have."""
    early = [
        api.RandomResizedCrop(SIZE),
        api.RandomHorizontalFlip(1.0),
        api.RandomApply([api.RandomRotation(8)], 1.0),
        api.RandomAffine(20, shear=9),
        api.RandomPerspective(0.3, 1.0),
    ]
    colour = [
        api.ColorJitter(0.4, 0.4, 0.4, 0.1),
        api.RandomGrayscale(1.0),
        api.GaussianBlur(3),
        api.RandAugment(),
        api.AugMix(),
    ]
    flags = [
        api.RandomEqualize(1.0),
        api.RandomInvert(1.0),
        api.RandomSolarize(9, 1.0),
        api.RandomPosterize(3, 1.0),
    ]
    more = [
        api.RandomAdjustSharpness(2, 1.0),
        api.RandomAutocontrast(1.0),
        api.RandomApply([api.RandomInvert()], 1.0),
    ]
    late = [
        api.PILToTensor(),
        api.ConvertImageDtype(torch.float32),
        api.Normalize((0.5,) * 3, (0.2,) * 3),
        api.RandomErasing(1.0),
    ]
    return [*early, *colour, *flags, *more, *late]


def timms(folder: str) -> Any:
    parts = [
        v1.Resize(SIZE),
        timm.data.auto_augment.rand_augment_transform("rand-m7-n3", {}),
        v1.ToTensor(),
    ]
    return ImageFolder(folder, v1.Compose(parts))


DRAWN = {
    "v1, drawn": lambda folder: ImageFolder(folder, v1.Compose(random_parts(v1))),
    "v2, drawn": lambda folder: ImageFolder(folder, v2.Compose(random_parts(v2))),
    "timm's augmentation": timms,
}
MADE = {
    **{
        name: WORLDS[name]
        for name in ("folder", "folder v2", "masks", "timm", "MNIST", "nested", "own classes")
    },
    **DRAWN,
}
MOST = 12  # patches of each in the suite; all of them with FASTLOAD_ALL_PATCHES=1
LEAST = {
    "folder": 30,
    "folder v2": 60,
    "masks": 40,
    "timm": 40,
    "MNIST": 30,
    "nested": 30,
    "own classes": 30,
}


def run(loader_class: Any, data: Any) -> None:
    """One epoch."""
    for _ in loader_class(data, 4):
        pass


def missed(data: Any, target: Patchable, patch: pytest.MonkeyPatch) -> bool:
    """Whether PyTorch's engine calls what was put before the function, and ours does not."""
    calls: list[str] = []
    with patch.context() as at:
        at.setattr(target.holder, target.name, patched(target, calls))
        ours = fastload.DataLoader(data, 4)
        if ours.explain().startswith("PyTorch's own engine"):
            return False
        run(torch.utils.data.DataLoader, data)
        theirs = len(calls)
        for _ in ours:
            pass
        return 0 < theirs == len(calls)


@pytest.mark.long
@pytest.mark.parametrize("name", MADE)
def test_a_patch_that_torchs_engine_would_run_is_run(
    name: str, images: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(3)
    random.seed(3)
    data = MADE[name](images)
    first = fastload.DataLoader(data, 4)
    assert first.explain().startswith("backend native"), first.explain()
    places = called(lambda: run(torch.utils.data.DataLoader, data))
    assert len(places) >= LEAST.get(name, 60)
    some = (
        places[:: 1 + len(places) // MOST]
        if os.environ.get("FASTLOAD_ALL_PATCHES") is None
        else places
    )
    wrong = [str(target) for target in some if missed(data, target, monkeypatch)]
    assert wrong == []
    assert fastload.DataLoader(data, 4).explain().startswith("backend native")  # all is as it was
