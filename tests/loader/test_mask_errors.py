"""Masks that do not fit, folders that do not pair, and ops that masks cannot follow."""

import pytest
from PIL import Image

import fastload
from fastload.errors import PipelineError, SampleError, SourceError
from fastload.transforms import (
    CenterCrop,
    ColorJitter,
    Pad,
    RandAugment,
    RandomApply,
    RandomResizedCrop,
    Resize,
    ToImage,
    Views,
)

from .mask_helpers import COUNT, classes, opened, palette, write_pairs, write_twins


@pytest.fixture
def pairs(tmp_path, make_image, encode):
    return write_pairs(tmp_path, make_image, encode)


@pytest.fixture
def twins(tmp_path):
    return write_twins(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_mask_that_does_not_fit(pairs, backend):
    def told(change):
        path = pairs / "masks" / "01.png"
        before, data = path.read_bytes(), opened(pairs, [Resize((9, 8))])
        change(path)
        with pytest.raises(SampleError) as caught:
            list(fastload.DataLoader(data, 4, num_workers=1, backend=backend))
        path.write_bytes(before)
        return str(caught.value).removeprefix(f"{path}, sample 0: ")

    assert (
        told(lambda path: palette(classes(48, 64, 1)).save(path))
        == "mask is 48x64 px, its image 64x48 px; make them equal"
    )
    rgb = (
        "cannot be decoded as a mask (mode RGB, want one channel of class numbers: 1, L, P, I); "
        "mend or replace the file"
    )
    assert told(lambda path: palette(classes(64, 48, 1)).convert("RGB").save(path)) == rgb
    assert told(lambda path: path.write_bytes(b"nothing")).startswith(
        "cannot be decoded as a mask (cannot identify image file"
    )
    assert told(lambda path: path.write_bytes(path.read_bytes()[:900])).startswith(
        "cannot be decoded as a mask ("
    )
    assert (
        told(lambda path: path.unlink())
        == "cannot be read (No such file or directory); restore the mask"
    )


def test_folders_that_do_not_fit(pairs):
    for name in ("01", "deep/00"):
        (pairs / "masks" / f"{name}.png").unlink()
    Image.fromarray(classes(9, 9, 1)).save(pairs / "masks" / "02.bmp")
    images, masks = pairs / "images", pairs / "masks"
    away = "or take those images away"
    lacking = (
        f"{masks}: no mask for 2 of 12 images (01.jpg, deep/00.jpg); add files with the "
        f"same stems, {away}"
    )
    several = (
        f"{masks}: 1 images have several masks (such as 02.bmp and 02.png), want one each; "
        "take the others away"
    )
    twelve = (
        "masks: no mask for 12 of 12 images (01.jpg, 02.jpg, 04.jpg, 05.jpg, 07.jpg and 7 more)"
    )
    for given, text in (
        (masks, f"{lacking}\n{several}"),
        (
            lambda name: masks / name,
            f"{twelve}; the function gives {masks / '01.jpg'} for the first, {away}",
        ),
        (
            pairs / "none",
            f"{pairs / 'none'}: is no folder, want one of images or of masks; check the path",
        ),
        (
            images,
            (
                f"{images}: holds the images and the masks, want a folder for each; or give masks "
                "as a function of the image's path"
            ),
        ),
    ):
        with pytest.raises(SourceError) as caught:
            fastload.open(images, masks=given)
        assert str(caught.value) == text


def test_a_folder_without_images_has_no_masks(pairs):
    (pairs / "empty").mkdir()
    with pytest.raises(
        SourceError, match=r"empty: no images \(got none, want files that end in \.jpg, "
    ):
        fastload.open(pairs / "empty", masks=pairs / "masks")


def test_masks_below_the_images_are_no_images(twins):
    (twins / "masks").rename(twins / "images" / "masks")
    assert len(fastload.open(twins / "images", masks=twins / "images" / "masks")) == COUNT


def test_ops_that_masks_cannot_follow(pairs):
    data = opened(
        pairs, [RandomResizedCrop(9), RandAugment(), RandomApply([ColorJitter(0.1)]), ToImage()]
    )
    with pytest.raises(PipelineError) as caught:
        fastload.DataLoader(data)
    assert str(caught.value) == "op 2 (RandAugment): masks have no such op; leave it out"
    filled = [CenterCrop(9), Pad(2, (1, 2, 3))]
    with pytest.raises(PipelineError) as caught:
        fastload.DataLoader(opened(pairs, filled))
    assert (
        str(caught.value)
        == "op 2 (Pad): fills with (1, 2, 3), and a mask has one number; give mask_fill"
    )
    assert (
        next(iter(fastload.DataLoader(opened(pairs, filled, mask_fill=255))))[1][0, 0].tolist()
        == [255] * 13
    )


def test_arguments_that_make_no_sense(pairs):
    with pytest.raises(PipelineError) as caught:
        opened(pairs, Views([Resize((9, 8))]), mask_dtype="float32", mask_fill=300)
    assert caught.value.problems == (
        "masks: Views makes several pictures of an image, want one; leave out masks or Views",
        "mask_dtype is 'float32', want 'uint8' or 'int64'",
        "mask_fill is 300, want None (the op's fill) or a whole number from 0 to 255",
    )
