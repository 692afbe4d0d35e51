"""Every op runs in a loader, on the torch backend where the native one says why it cannot."""

import pytest
import torch
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload import transforms as T

CROP = [
    T.RandomCrop(40, 5, pad_if_needed=True),
    T.RandomVerticalFlip(),
    T.RandomRotation(20, "bilinear", expand=True),
    T.RandomPerspective(),
]
AUGMENT = [
    T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8), T.RandomGrayscale(0.2),
    T.RandomApply([T.GaussianBlur(5)]),
    T.RandomSolarize(128), T.AutoAugment(), T.AutoAugment.timm("v0"),
    T.RandAugment.timm("rand-m9-n1-mstd0.5-inc1"), T.AugMix(), T.AugMix.timm(), T.AugMix.composer(),
    T.RandomChoice([T.RandomInvert(), T.RandomPosterize(3)]), T.TrivialAugmentWide.official(),
    T.Grayscale(3),
]  # fmt: skip
STORE = [
    T.ToTensor(),
    T.Normalize((0.5,), (0.5,)),
    T.RandomErasing(0.9, value="random"),
    T.RandomErasing.timm(0.9, max_count=2),
]


def batches(path, ops, **options):
    return [
        images
        for images, _ in fastload.DataLoader(
            fastload.open(path, ops), 9, seed=3, shuffle=True, **options
        )
    ]


@pytest.mark.parametrize(
    "ops",
    [
        [*CROP, T.CenterCrop(36), T.ToImage()],
        [T.Resize((24, 31)), *AUGMENT],
        [T.Resize((24, 31)), *STORE],
    ],
)
def test_pixels_do_not_depend_on_workers_or_batches(folder, ops):
    alone = torch.cat(batches(folder, ops))
    assert len(alone) == 40
    assert torch.equal(torch.cat(batches(folder, ops, num_workers=2)), alone)


def test_grey_images_leave_with_one_channel(folder):
    ops = [
        T.RandomResizedCrop((24, 30)),
        T.Grayscale(),
        T.RandomEqualize(),
        T.ToTensor(),
        T.Normalize((0.5,), (0.5,)),
    ]
    assert {tuple(images.shape) for images in batches(folder, ops)} == {
        (9, 1, 24, 30),
        (4, 1, 24, 30),
    }


REASONS = {
    "op 2 (RandomCrop) has padding_mode 'reflect' and 30 px of padding; natively that wants a "
    "height of 61 px or more": [
        T.Resize(50), T.RandomCrop(40, padding=30, padding_mode="reflect"),
    ],
    "op 2 (RandomCrop) has padding_mode 'edge' before another window": [
        T.Resize(50), T.RandomCrop(60, pad_if_needed=True, padding_mode="edge"), T.CenterCrop(40),
    ],
    "op 3 (RandomCrop) may reach beyond op 2 (CenterCrop); one window is what a record holds": [
        T.Resize(50), T.CenterCrop(40), T.RandomCrop(40, padding=3),
    ],
    "op 3 (CenterCrop) cuts after op 2 (RandomRotation); the native engine warps what has its last "
    "size": [
        T.Resize((50, 60)), T.RandomRotation(5), T.CenterCrop(40),
    ],
    "op 3 (Resize) resizes after op 2 (RandomVerticalFlip); one resize at the start is what a "
    "record holds": [
        T.RandomHorizontalFlip(), T.RandomVerticalFlip(), T.Resize((20, 30)),
    ],
    "op 2 (Resize) resizes by 'nearest' after op 1 (RandomHorizontalFlip); natively a flip comes "
    "after that": [
        T.RandomHorizontalFlip(), T.Resize((20, 30), "nearest"), T.CenterCrop(9),
    ],
    "op 2 (Resize) resizes after op 1 (RandomAffine); one resize at the start is what a record "
    "holds": [
        T.RandomAffine(5), T.Resize((20, 30)),
    ],
    "op 2 (RandomAffine) has shear (-89.5, 3); the native engine shears by up to 89 degrees": [
        T.Resize((20, 30)), T.RandomAffine(5, shear=(-89.5, 3)),
    ],
    "op 2 (RandomAffine) has scale (0.0001, 1); the native engine scales by 0.001 or more": [
        T.Resize((20, 30)), T.RandomAffine(5, scale=(0.0001, 1)),
    ],
    "op 3 (RandomEqualize) comes after one channel is left": [T.RandomResizedCrop(24),
    T.Grayscale(), T.RandomEqualize()],
    "CROP and AUGMENT make 301 steps, want up to 256": [T.RandomResizedCrop(24),
    *[T.RandAugment(15)] * 20],
    "op 4 (ColOut) drops rows and columns after op 3 (RandomErasing); natively it comes before": [
        T.RandomResizedCrop(24), T.ToTensor(), T.RandomErasing(), T.ColOut(),
    ],
}  # fmt: skip


@pytest.mark.parametrize("reason", REASONS, ids=str)
def test_the_native_engine_says_what_it_lacks(folder, reason):
    with pytest.raises(fastload.BackendError) as caught:
        fastload.DataLoader(fastload.open(folder, REASONS[reason]), 4, backend="native")
    assert (
        str(caught.value)
        == f"backend native cannot run this plan: {reason}\nbackend torch can run it; pass "
        "backend='torch'"
    )


def test_the_native_engine_says_all_that_it_lacks(folder):
    ops = [
        T.RandomResizedCrop(24),
        T.RandomRotation(9, expand=True),
        T.CenterCrop(20),
        T.RandomChoice([T.AugMix(), T.Grayscale(3)]),
    ]
    ops += [T.ToTensor(), T.RandomErasing(), T.ColOut()]
    with pytest.raises(fastload.BackendError) as caught:
        fastload.DataLoader(fastload.open(folder, ops), 4, backend="native")
    assert [
        line.removeprefix("backend native cannot run this plan: ")
        for line in str(caught.value).splitlines()
    ] == [
        "op 2 (RandomRotation) has expand=True; the native engine keeps the size",
        (
            "op 3 (CenterCrop) cuts after op 2 (RandomRotation); the native engine warps what has "
            "its last size"
        ),
        "op 7 (ColOut) drops rows and columns after op 6 (RandomErasing); natively it comes before",
        "backend torch can run it; pass backend='torch'",
    ]


def test_a_small_image_without_padding_ends_the_epoch_with_its_size(folder):
    loader = fastload.DataLoader(fastload.open(folder, [T.RandomCrop(60)]), 40)
    with pytest.raises(
        fastload.PipelineError,
        match=r"^RandomCrop: size is 60x60, but an image of 37x53 px is smaller; set pad_if_needed",
    ):
        next(iter(loader))


def test_torchvisions_own_transforms_still_run_as_in_torch(folder):
    chain = v1.Compose(
        [
            v1.RandomResizedCrop((24, 24)),
            v1.RandomRotation(9, expand=True),
            v1.CenterCrop(24),
            v1.ToTensor(),
        ]
    )
    loader = fastload.DataLoader(ImageFolder(folder, chain), 4)
    assert "op 2 (RandomRotation) has expand=True" in loader.explain()
    assert next(iter(loader))[0].shape == (4, 3, 24, 24)
