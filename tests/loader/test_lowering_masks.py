"""torchvision's segmentation data sets: native where every pixel is the same, PyTorch's own engine
where not.
"""

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.datasets import OxfordIIITPet, VOCSegmentation, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

import fastload
from fastload import parity
from fastload.parity.setting import Setting
from tests.loader.explained import END, FLOATS, own

SIZES = ((37, 53), (64, 48), (70, 90), (41, 45))  # height, width; px
COUNT = 8
OUTPUT = [
    v2.ToImage(),
    v2.ToDtype(
        {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}, scale=True
    ),
]
FIXED = {
    "resize": [v2.Resize((24, 31)), v2.RandomHorizontalFlip(1.0), v2.ToImage()],
    "evaluation": [
        v2.Resize(30),
        v2.CenterCrop((28, 33)),
        *OUTPUT,
        v2.Normalize((0.5, 0.4, 0.3), (0.2, 0.2, 0.2)),
        v2.ToPureTensor(),
    ],
    "types of plain tensors": [
        *(v2.Resize((24, 31)), v2.PILToTensor()),
        v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}),
    ],
    "types after all are plain": [
        *(v2.Resize((24, 31), v2.InterpolationMode.NEAREST), v2.ToImage(), v2.ToPureTensor()),
        v2.ToDtype({torch.Tensor: torch.float32, tv_tensors.Mask: torch.int64, "others": None}),
    ],
    "padding": [
        v2.CenterCrop((60, 44)),
        v2.RandomVerticalFlip(1.0),
        v2.ToImage(),
        v2.ToDtype(torch.float32),
    ],
}


@pytest.fixture
def files(tmp_path, make_image, encode):
    """Writes images and palette masks into two folders, under the same names."""

    def write(images, masks):
        for folder in (images, masks):
            folder.mkdir(parents=True)
        for number in range(COUNT):
            height, width = SIZES[number % 4]
            (images / f"pic_{number}.jpg").write_bytes(
                encode(make_image(height, width, number), quality=90)
            )
            mask = Image.fromarray(
                np.random.default_rng(number).integers(0, 256, (height, width)).astype(np.uint8),
                "P",
            )
            mask.putpalette(bytes(range(256)) * 3)
            mask.save(masks / f"pic_{number}.png")
        return [f"pic_{number}" for number in range(COUNT)]

    return write


@pytest.fixture
def voc(tmp_path, files):
    root = tmp_path / "VOCdevkit" / "VOC2012"
    names = files(root / "JPEGImages", root / "SegmentationClass")
    (root / "ImageSets" / "Segmentation").mkdir(parents=True)
    (root / "ImageSets" / "Segmentation" / "train.txt").write_text("\n".join(names))
    return lambda transforms, **options: VOCSegmentation(
        str(tmp_path), image_set="train", transforms=transforms, **options
    )


@pytest.fixture
def pet(tmp_path, files):
    root = tmp_path / "oxford-iiit-pet"
    names = files(root / "images", root / "annotations" / "trimaps")
    (root / "annotations" / "trainval.txt").write_text("\n".join(f"{name} 1 1 1" for name in names))
    return lambda transforms, kind="segmentation": OxfordIIITPet(
        str(tmp_path), target_types=kind, transforms=transforms
    )


def same_as_torch(data):
    loader = fastload.DataLoader(data, 3)
    assert loader.explain().startswith("backend native"), loader.explain()
    for (images, masks), (want, want_masks) in zip(
        loader, torch.utils.data.DataLoader(data, 3), strict=True
    ):
        assert masks.dtype == want_masks.dtype
        assert torch.equal(images, want)
        assert torch.equal(masks, want_masks)


@pytest.mark.parametrize("name", FIXED)
def test_voc_is_torchvisions(voc, name):
    same_as_torch(wrap_dataset_for_transforms_v2(voc(v2.Compose(FIXED[name]))))


def test_pets_are_torchvisions(pet):
    same_as_torch(wrap_dataset_for_transforms_v2(pet(v2.Compose(FIXED["evaluation"]))))


def test_random_transforms_move_both(voc):
    data = wrap_dataset_for_transforms_v2(
        voc(
            v2.Compose(
                [
                    v2.RandomCrop((30, 40)),
                    v2.RandomHorizontalFlip(),
                    v2.ColorJitter(0.2),
                    v2.ToImage(),
                ]
            )
        )
    )
    loader = fastload.DataLoader(data, COUNT, shuffle=True, seed=3)
    assert loader.explain().startswith("backend native")
    images, masks = next(iter(loader))
    assert images.shape == (COUNT, 3, 30, 40)
    assert masks.shape == (COUNT, 1, 30, 40)
    assert (
        "  masks   those of VOCSegmentation: uint8, decoded by Pillow, moved like their images by "
        "nearest pixels" in loader.explain()
    )


TAIL = (
    v2.ToDtype({tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None},
               scale=True),
    v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), v2.ToPureTensor(),
)  # fmt: skip
FILL = {tv_tensors.Mask: 255, "others": 0}
# Of references/segmentation, with torchvision's own padding; and what no op stands for
JOINT = {
    "train": (v2.ToImage(), v2.RandomResize(20, 80), v2.RandomHorizontalFlip(),
              v2.RandomCrop(40, pad_if_needed=True, fill=FILL), *TAIL),
    "jitter": (v2.ScaleJitter((40, 40)), v2.RandomCrop((40, 30), pad_if_needed=True, fill=FILL),
               v2.ToImage()),
    "float": (v2.ToImage(), v2.Resize((30, 20)),
              v2.ToDtype({tv_tensors.Mask: torch.float32, "others": None})),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINT)
def test_what_no_op_stands_for_goes_through_joint_steps(voc, name):
    data = wrap_dataset_for_transforms_v2(voc(v2.Compose(JOINT[name])))
    loader = fastload.DataLoader(data, 4, shuffle=True, seed=3, num_workers=2)
    assert "  target  that of VOCSegmentation, moved by torchvision's own functions" in (
        loader.explain()
    )
    assert loader.explain().startswith("backend native")
    first = [(images.clone(), masks.clone()) for images, masks in loader]
    want = torch.utils.data.default_collate([data[0], data[1]])
    for images, masks in first:
        assert images.dtype == want[0].dtype
        assert (masks.dtype, masks.shape[1:]) == (want[1].dtype, (1, *images.shape[2:]))
    assert parity.measure(data, Setting(4, 4, 3)).largest() == 0
    loader.set_epoch(0)
    again = fastload.DataLoader(data, 4, shuffle=True, seed=3)
    assert all(
        torch.equal(one, other) for mine, other in zip(first, again, strict=True)
        for one, other in zip(mine, other, strict=True)
    )  # fmt: skip


def test_the_evaluation_of_the_references_gives_torchvisions_masks(voc):
    data = wrap_dataset_for_transforms_v2(voc(v2.Compose([v2.ToImage(), v2.Resize(30), *TAIL])))
    loader = fastload.DataLoader(data, 1)
    assert loader.explain().startswith("backend native")
    for (images, masks), (want, want_masks) in zip(
        loader, torch.utils.data.DataLoader(data, 1), strict=True
    ):
        assert torch.equal(masks, want_masks)
        assert images.shape == want.shape
        # Pillow's resize and that of tensors are 1 level apart at most
        assert (images - want).abs().max() < 1.01 / 255 / 0.224


def test_a_mask_of_another_size_fails_its_batch(voc, tmp_path):
    data = wrap_dataset_for_transforms_v2(voc(v2.Compose(JOINT["train"])))
    path = data._dataset.masks[1]
    Image.fromarray(np.zeros((3, 4), np.uint8)).save(path)
    height, width = SIZES[1]
    with pytest.raises(fastload.SampleError) as raised:
        list(fastload.DataLoader(data, 2))
    assert str(raised.value) == (
        f"{data._dataset.images[1]}, sample 1: its annotation cannot be read ({path} has 3x4 px, "
        f"want its image's {height}x{width}); mend or remove it"
    )


@pytest.mark.parametrize(
    ("transforms", "reason"),
    [
        (
            [v2.RandomRotation(9), v2.CenterCrop(9), v2.ToImage()],
            "transform RandomRotation moves masks by torch's arithmetic, fastload by Pillow's",
        ),
        ([v2.Resize((9, 8))], "its transforms make no tensor of the image (no ToImage)"),
        (
            [v2.ToImage(), v2.RandomResizedCrop(9)],
            "transform RandomResizedCrop is not there for boxes yet",
        ),
        (
            [v2.Resize((9, 8)), v2.ToImage(), v2.RandomErasing()],
            "transform RandomErasing warns at every mask",
        ),
    ],
    ids=str,
)  # fmt: skip
def test_what_stays_with_torch(voc, transforms, reason):
    loader = fastload.DataLoader(wrap_dataset_for_transforms_v2(voc(v2.Compose(transforms))), 3)
    lacks = FLOATS if "ToImage" in str(transforms) else END
    assert loader.explain() == own(reason, lacks=lacks)


def test_a_type_that_is_missing_raises_as_in_torchvision(voc):
    parts = v2.Compose([v2.Resize((9, 8)), v2.ToDtype({tv_tensors.Image: torch.float32})])
    data = wrap_dataset_for_transforms_v2(voc(parts))
    for loader in (fastload.DataLoader, torch.utils.data.DataLoader):
        with pytest.raises(ValueError, match="No dtype was specified for type"):
            next(iter(loader(data, 3)))


def test_other_targets_and_other_classes_stay_with_torch(pet, voc):
    transforms = v2.Compose(FIXED["resize"])
    loader = fastload.DataLoader(wrap_dataset_for_transforms_v2(pet(transforms, "category")), 3)
    reason = "OxfordIIITPet has target_types ['category'], want ['segmentation']"
    assert loader.explain() == own(reason, lacks=FLOATS)
    assert (
        "is not one that fastload reads" in fastload.DataLoader(voc(transforms), 3).explain()
    )  # its masks are taken for images

    class Mine(VOCSegmentation):
        pass

    changed = voc(transforms)
    changed.__class__ = Mine
    assert (
        "is not one that fastload reads"
        in fastload.DataLoader(wrap_dataset_for_transforms_v2(changed), 3).explain()
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_one_size_are_made_in_place(voc, workers):
    parts = [v2.ToImage(), v2.RandomResize(20, 40), v2.RandomCrop(24, pad_if_needed=True)]
    data = wrap_dataset_for_transforms_v2(voc(v2.Compose([*parts, v2.ToPureTensor()])))
    options = {"num_workers": workers, "seed": 3}
    made = list(fastload.DataLoader(data, 3, **options))
    alone = list(fastload.DataLoader(data, 3, collate_fn=list, **options))
    for (images, masks), samples in zip(made, alone, strict=True):
        assert type(images) is type(masks) is torch.Tensor
        assert images.is_contiguous()
        assert masks.is_contiguous()
        want, want_masks = torch.utils.data.default_collate(samples)
        assert torch.equal(images, want)
        assert torch.equal(masks, want_masks)
    kept = made[0][0].clone()
    list(fastload.DataLoader(data, 3, **options))
    assert torch.equal(made[0][0], kept)


def test_an_epoch_under_way_keeps_its_way_to_make_batches(voc):
    parts = [v2.ToImage(), v2.RandomResize(20, 40), v2.RandomCrop(24, pad_if_needed=True)]
    data = wrap_dataset_for_transforms_v2(voc(v2.Compose(parts)))
    loader = fastload.DataLoader(data, 2, collate_fn=list)
    before = iter(loader)
    next(before)
    loader.collate_fn = torch.utils.data.default_collate
    images, _ = next(iter(loader))
    assert images.shape == (2, 3, 24, 24)
    assert [type(sample) for sample in next(before)] == [tuple, tuple]


def test_masks_that_only_pillow_reads_are_the_same(voc, tmp_path):
    still = v2.Compose([v2.ToImage(), v2.RandomResize(20, 21), v2.ToPureTensor()])
    data = wrap_dataset_for_transforms_v2(voc(still))
    want = [mask for _, mask in torch.utils.data.DataLoader(data, 1)]
    for path in (tmp_path / "VOCdevkit" / "VOC2012" / "SegmentationClass").iterdir():
        with Image.open(path) as image:
            mask = image.copy()
        mask.save(path, "BMP")
    loader = fastload.DataLoader(data, 1)
    assert loader.explain().startswith("backend native"), loader.explain()
    for (_, mask), before in zip(loader, want, strict=True):
        assert torch.equal(mask, before)
