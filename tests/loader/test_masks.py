"""Masks: they stay on their images, pixel by pixel, and keep their class numbers."""

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

import fastload
from fastload.errors import SampleError
from fastload.plan.steps import records
from fastload.spec import Work
from fastload.transforms import (
    CenterCrop,
    ColorJitter,
    ColOut,
    Pad,
    RandomAffine,
    RandomApply,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    ToDtype,
    ToImage,
)
from fastload.transforms.reference import masks as reference

from .mask_helpers import COUNT, classes, opened, write_pairs, write_twins


@pytest.fixture
def pairs(tmp_path, make_image, encode):
    return write_pairs(tmp_path, make_image, encode)


@pytest.fixture
def twins(tmp_path):
    return write_twins(tmp_path)


def batches(root, ops, backend="native", **options):
    return list(
        fastload.DataLoader(opened(root, ops), 5, shuffle=True, seed=3, backend=backend, **options)
    )


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("op", [Resize((20, 31)), CenterCrop((20, 31))], ids=lambda op: op.name)
def test_masks_lie_as_pytorchs(pairs, op, workers):
    for _, masks in batches(pairs, [op, ToImage()], num_workers=workers):
        assert masks.is_contiguous()
        assert masks.view(-1).shape == (masks.numel(),)


CROP = InterpolationMode.NEAREST
SINGLE = {
    "down": (Resize((20, 31)), lambda mask, _: F.resize(mask, [20, 31])),
    "up": (Resize((90, 81)), lambda mask, _: F.resize(mask, [90, 81])),
    "twice": (Resize((74, 106)), lambda mask, _: F.resize(mask, [74, 106])),
    "shorter side": (Resize(30), lambda mask, _: F.resize(mask, [30])),
    "longest side": (Resize(30, max_size=33), lambda mask, _: F.resize(mask, [30], max_size=33)),
    "box": (
        RandomResizedCrop((24, 17)),
        lambda mask, r: F.resized_crop(mask, *map(int, r), [24, 17], CROP),
    ),
    "box, up": (
        RandomResizedCrop((124, 117)),
        lambda mask, r: F.resized_crop(mask, *map(int, r), [124, 117], CROP),
    ),
    "centre": (CenterCrop((20, 51)), lambda mask, _: F.center_crop(mask, [20, 51])),
    "centre, larger": (CenterCrop((60, 31)), lambda mask, _: F.center_crop(mask, [60, 31])),
    "pad": (Pad((1, 2, 3, 4), 255), lambda mask, _: F.pad(mask, [1, 2, 3, 4], 255)),
    "pad, reflect": (
        Pad((5, 2), padding_mode="reflect"),
        lambda mask, _: F.pad(mask, [5, 2], padding_mode="reflect"),
    ),
    "pad, symmetric": (
        Pad(4, padding_mode="symmetric"),
        lambda mask, _: F.pad(mask, [4], padding_mode="symmetric"),
    ),
    "pad, edge": (
        Pad(4, padding_mode="edge"),
        lambda mask, _: F.pad(mask, [4], padding_mode="edge"),
    ),
    "crop": (RandomCrop((30, 40)), lambda mask, r: F.crop(mask, *map(int, r))),
    "crop, padded": (
        RandomCrop((36, 50), 9, fill=7),
        lambda mask, r: F.crop(F.pad(mask, [9], 7), int(r[0]) + 9, int(r[1]) + 9, 36, 50),
    ),
    "mirrored": (RandomHorizontalFlip(1.0), lambda mask, _: F.horizontal_flip(mask)),
    "upside down": (RandomVerticalFlip(1.0), lambda mask, _: F.vertical_flip(mask)),
}


@pytest.mark.parametrize("name", SINGLE)
def test_one_op_is_torchvisions(name):
    op, theirs = SINGLE[name]
    for seed in range(20):
        mask = classes(37, 53, seed)
        u = np.random.default_rng(seed).random((1, op.draws(None)))
        record = op.params(u, np.array([[37, 53]], np.int32)).records[0]
        want = theirs(tv_tensors.Mask(mask[None]), record)
        np.testing.assert_array_equal(reference.moved(mask, [op], [record], None), want[0].numpy())


def test_images_and_masks_are_torchvisions(pairs):
    """The whole way: our records, given to torchvision's functions on (PIL image, Mask), give our
    batch.
    """
    ops = [RandomResizedCrop((24, 31)), RandomHorizontalFlip(), ColorJitter(0.4), ToImage()]
    data = opened(pairs, ops)
    jittered = 0
    for backend in ("native", "torch"):
        loader = fastload.DataLoader(data, COUNT, seed=3, backend=backend)
        images, masks = next(iter(loader))
        assert (masks.dtype, masks.shape) == (torch.uint8, (COUNT, 24, 31))
        steps = loader._route.plan.steps
        for sample in range(COUNT):
            image = Image.open(data.samples[sample][0])
            mask = tv_tensors.Mask(F.pil_to_tensor(Image.open(data.masks[sample])))
            work = Work(np.array([sample]), np.array([0]), 3, 0, 0)
            box, flip, jitter = (
                r[0]
                for r in records(steps, work, np.array([[image.height, image.width]], np.int32))[:3]
            )
            image, mask = (F.resized_crop(x, *map(int, box), [24, 31]) for x in (image, mask))
            if flip[0]:
                image, mask = F.horizontal_flip(image), F.horizontal_flip(mask)
            assert torch.equal(masks[sample], mask[0])
            factor = float(jitter[jitter[:, 0] > 0][0, 1])
            jittered += factor != 1
            assert torch.equal(images[sample], F.pil_to_tensor(F.adjust_brightness(image, factor)))
    assert jittered > COUNT


TOGETHER = {
    "crops": [
        RandomCrop((36, 40)),
        RandomHorizontalFlip(),
        RandomVerticalFlip(),
        CenterCrop((30, 33)),
    ],
    "padding": [
        RandomVerticalFlip(),
        RandomCrop((70, 64), (3, 9), pad_if_needed=True),
        RandomHorizontalFlip(),
    ],
    "reflected": [CenterCrop((36, 40)), Pad((5, 2, 7, 1), padding_mode="reflect")],
    "ColOut": [
        RandomCrop((36, 40)),
        ToImage(channels_last=True),
        ColOut(0.2, 0.1),
        ColOut(0.1, 0.3, batch=False),
    ],
    "rotation": [CenterCrop((36, 40)), RandomRotation(40)],
    "affine": [
        RandomCrop((36, 40)),
        RandomAffine(20, (0.1, 0.2), (0.7, 1.4), 10),
        RandomHorizontalFlip(),
        ColOut(),
    ],
    "perspective": [
        RandomHorizontalFlip(),
        CenterCrop((36, 40)),
        RandomPerspective(0.5, 0.8, "nearest"),
    ],
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_masks_stay_on_their_images(twins, name, backend):
    for images, masks in batches(twins, TOGETHER[name], backend):
        assert torch.equal(images[:, 0], masks)


def test_what_only_changes_colours_leaves_masks_alone(twins):
    plain = batches(twins, [CenterCrop((36, 40)), ToImage()])
    colour = RandomApply([ColorJitter(0.5, 0.5, 0.5, 0.2)], 1.0)
    ops = [
        CenterCrop((36, 40)),
        colour,
        ToImage(),
        RandomErasing(1.0),
        ToDtype("float32", scale=True),
    ]
    for (images, masks), (before, want) in zip(batches(twins, ops), plain, strict=True):
        assert torch.equal(masks, want)
        assert not torch.equal((images * 255).round().to(torch.uint8), before)


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [{"num_workers": 2}, {"decode_scale": "fast"}, {"size_schedule": [12, 24]}], ids=str
)
def test_backends_and_workers_agree(pairs, options):
    ops = [RandomResizedCrop(24), RandomHorizontalFlip(), RandomVerticalFlip()]
    found, want = ([batch for _ in range(2) for batch in loader] for loader in (
        fastload.DataLoader(opened(pairs, ops), 5, seed=3, backend="native", **options),
        fastload.DataLoader(opened(pairs, ops), 5, seed=3, backend="torch", **{**options,
        "num_workers": 0}),
    ))  # fmt: skip
    assert len(found) == 6
    for (images, masks), (want_images, want_masks) in zip(found, want, strict=True):
        assert torch.equal(images, want_images)
        assert torch.equal(masks, want_masks)
        assert masks.shape[1:] == images.shape[2:]


def test_what_is_seen_beyond_a_mask(pairs):
    ops = [CenterCrop((100, 110)), ToImage()]
    black, ignored = (
        next(iter(fastload.DataLoader(opened(pairs, ops, mask_fill=fill), 1)))[1]
        for fill in (None, 200)
    )
    assert (ignored == 200).sum() == 100 * 110 - 64 * 48
    assert torch.equal(torch.where(ignored == 200, 0, ignored), black)


def test_sixteen_bits_and_int64(tmp_path, encode, make_image):
    for folder in ("images", "masks"):
        (tmp_path / folder).mkdir()
    values = np.random.default_rng(1).integers(0, 65536, (37, 53)).astype(np.uint16)
    Image.fromarray(values).save(tmp_path / "masks" / "a.png")
    (tmp_path / "images" / "a.jpg").write_bytes(encode(make_image(37, 53, 1)))
    _, masks = next(
        iter(fastload.DataLoader(opened(tmp_path, [Resize((37, 53))], mask_dtype="int64")))
    )
    assert masks.dtype == torch.int64
    np.testing.assert_array_equal(masks[0], values)
    with pytest.raises(SampleError) as caught:
        next(iter(fastload.DataLoader(opened(tmp_path, [Resize((37, 53))]))))
    told = (
        f"mask has values {values.min()} to {values.max()}, want 0 to 255; use mask_dtype='int64'"
    )
    assert str(caught.value) == f"{tmp_path / 'masks' / 'a.png'}, sample 0: {told}"


def test_indexing_moves_both_alike(twins):
    torch.manual_seed(1)
    data = opened(
        twins, [RandomCrop((36, 40)), RandomHorizontalFlip(), RandomRotation(30), ToImage()]
    )
    for _ in range(20):
        image, mask = data[3]
        assert torch.equal(image[0], mask)
    (images, masks) = next(iter(torch.utils.data.DataLoader(data, 4)))
    assert torch.equal(images[:, 0], masks)


def test_masks_by_a_function(pairs):
    (pairs / "flat").mkdir()
    for path in (pairs / "masks").rglob("*.png"):
        path.rename(pairs / "flat" / f"{path.stem}_ids.png")
    data = fastload.open(
        pairs / "images",
        [Resize((9, 8))],
        masks=lambda name: pairs / "flat" / name.removeprefix("deep/").replace(".jpg", "_ids.png"),
    )
    assert [path.rsplit("/", 1)[1] for path in data.masks[:5]] == [
        "01_ids.png",
        "02_ids.png",
        "04_ids.png",
        "05_ids.png",
        "07_ids.png",
    ]
    assert next(iter(fastload.DataLoader(data, 5)))[1].shape == (5, 9, 8)


def test_explain_tells_how_masks_are_made(pairs):
    lines = fastload.DataLoader(opened(pairs, [Resize((9, 8))]), 2).explain().splitlines()
    assert lines[0].startswith("backend native")
    assert (
        lines[3]
        == f"  masks   {pairs / 'masks'}: uint8, decoded by Pillow, moved like their images by "
        "nearest pixels"
    )
