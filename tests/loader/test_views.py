"""Several views of each image: what they are, that they differ, and what a batch of them looks
like.
"""

import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from fastload.conversion import indexing
from fastload.transforms import (
    ColOut,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToImage,
    Views,
)
from tests.ways import ways_taken

from .view_helpers import DINO, LARGE, SMALL


def batches(path, views=DINO, backend="native", **options):
    return list(
        fastload.DataLoader(
            fastload.open(path, views), 7, shuffle=True, seed=5, backend=backend, **options
        )
    )


def first_batch(path, ops):
    return next(iter(fastload.DataLoader(fastload.open(path, ops), 7, shuffle=True, seed=5)))[0]


def assert_same(got, want):
    for (views, labels), (wanted, want_labels) in zip(got, want, strict=True):
        for images, others in zip(views, wanted, strict=True):
            assert images.stride() == others.stride()
            torch.testing.assert_close(images, others, rtol=0, atol=0)
        assert torch.equal(labels, want_labels)


@pytest.fixture
def mixed(folder, tmp_path, make_image, encode):
    """The folder and what only Pillow decodes: a PNG, and a JPEG that is cut off."""
    root = shutil.copytree(folder, tmp_path / "mixed")
    (root / "class1" / "900.png").write_bytes(encode(make_image(51, 37, 1), "PNG"))
    data = encode(make_image(64, 90, 2), quality=90)
    (root / "class0" / "901.jpg").write_bytes(
        data[: len(data) * 2 // 3] + bytes(3) + data[len(data) * 2 // 3 + 3 :]
    )
    return root


@pytest.mark.parametrize("options", [{}, {"decode_scale": "fast"}, {"num_workers": 2}], ids=str)
def test_native_gives_the_references_pixels(mixed, options):
    found = batches(mixed, **options)
    assert [tuple(images.shape) for images in found[0][0]] == [(7, 3, 40, 53)] * 2 + [
        (7, 3, 16, 24)
    ] * 3 + [(7, 3, 19, 21)]
    assert [images.dtype for images in found[0][0]] == [torch.float32] * 2 + [torch.uint8] * 3 + [
        torch.bfloat16
    ]
    assert_same(found, batches(mixed, backend="torch", **options))


@pytest.mark.parametrize("scale", ["exact", "fast"])
def test_a_seek_index_changes_no_pixel(folder, tmp_path, scale):
    root = shutil.copytree(folder, tmp_path / "copy")
    before = batches(root, decode_scale=scale, seek_index="off")
    indexing.run(indexing.prepare(str(root)), count=1)
    data = fastload.open(root, DINO)
    loader = fastload.DataLoader(data, 7, shuffle=True, seed=5, decode_scale=scale)
    assert_same(list(loader), before)
    assert loader.decodes()["indexed"] >= 40


def test_an_image_is_decoded_once(folder):
    loader = fastload.DataLoader(fastload.open(folder, DINO), 7, seek_index="off")
    list(loader)
    assert loader.decodes() == ways_taken(whole=40)


def test_one_scale_for_all_views_of_an_image(tmp_path, make_image, encode):
    (tmp_path / "data" / "a").mkdir(parents=True)
    (tmp_path / "data" / "a" / "0.jpg").write_bytes(encode(make_image(300, 410, 1)))
    for large, scaled in ((30, 1), (200, 0)):  # 200 px leave no room for a smaller image
        views = Views([[Resize((20, 30))], [Resize((large, large + 9))]])
        loaders = [
            fastload.DataLoader(
                fastload.open(tmp_path / "data", views), decode_scale="fast", backend=b
            )
            for b in ("native", "torch")
        ]
        assert_same(*map(list, loaders))
        assert loaders[0].decodes()["scaled"] == scaled


def test_a_view_is_the_samples_next_occurrence(folder):
    """What repeated augmentation gives for a sample's nth appearance is its nth view."""
    order = [int(n) for n in np.random.default_rng(1).permutation(40)]
    views, labels = next(
        iter(
            fastload.DataLoader(
                fastload.open(folder, Views([(LARGE, 3)])), 40, sampler=order, seed=9
            )
        )
    )
    thrice = [n for n in order for _ in range(3)]
    repeated, _ = next(
        iter(fastload.DataLoader(fastload.open(folder, LARGE), 120, sampler=thrice, seed=9))
    )
    assert torch.equal(torch.stack(views, dim=1).flatten(0, 1), repeated)
    assert [int(label) for label in labels] == [fastload.open(folder).targets[n] for n in order]


def test_repeated_samples_have_views_of_their_own(folder):
    views, _ = next(
        iter(
            fastload.DataLoader(
                fastload.open(folder, Views([(LARGE, 2)])), 4, sampler=[3, 3, 3, 3], seed=9
            )
        )
    )
    pictures = [image.numpy().tobytes() for images in views for image in images]
    assert len(set(pictures)) == 8


def test_what_a_batch_shares_differs_from_view_to_view(folder):
    ops = [Resize((40, 53)), ColOut(0.3, 0.3)]
    for backend in ("native", "torch"):
        (first, second), _ = batches(folder, Views([(ops, 2)]), backend)[0]
        assert not torch.equal(first, second)
    single = first_batch(folder, ops)
    assert torch.equal(first, single)  # the first view draws what the pipeline alone would


def test_one_view_is_still_a_list(folder):
    (views, _), *_ = batches(folder, Views([SMALL]))
    assert isinstance(views, list)
    assert torch.equal(views[0], first_batch(folder, SMALL))


def test_sizes_follow_a_schedule_in_proportion(folder):
    square = [RandomResizedCrop(40), ToImage()]
    views = Views([(square, 2), [RandomResizedCrop(16), ToImage()]])
    sides = []
    data, options = fastload.open(folder, views), {"seed": 3, "size_schedule": [20, 40]}
    native, reference = (
        fastload.DataLoader(data, 20, backend=backend, **options) for backend in ("native", "torch")
    )
    for _ in range(2):
        epoch = list(native)
        sides.append([images.shape[2:] for images in epoch[0][0]])
        assert_same(epoch, list(reference))
    assert sides == [[(20, 20), (20, 20), (8, 8)], [(40, 40), (40, 40), (16, 16)]]


def test_torchvisions_folder_with_views_is_native(folder):
    crop = v2.Compose(
        [
            v2.RandomResizedCrop(24),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    data = ImageFolder(
        folder,
        v1.Compose([Views([crop, (v1.Compose([v1.RandomResizedCrop(9), v1.ToTensor()]), 2)])]),
    )
    loader = fastload.DataLoader(data, 4)
    lines = loader.explain().splitlines()
    assert lines[1].startswith("  tier 1 of 3: ")
    assert [lines[0], *lines[2:5]] == [
        "backend native, the caller's thread, device cpu",
        "  view 1",
        f"    CROP    {RandomResizedCrop(24)}",
        "    CROP    RandomHorizontalFlip(p=0.5)",
    ]
    assert "  views 2 to 3" in lines
    ours, theirs = next(iter(loader)), next(iter(torch.utils.data.DataLoader(data, 4)))
    assert type(ours) is type(theirs) is list
    assert type(ours[0]) is type(theirs[0]) is list
    assert [(images.shape, images.dtype) for images in ours[0]] == [
        (images.shape, images.dtype) for images in theirs[0]
    ]


def test_called_with_one_image(make_image):
    torch.manual_seed(3)
    image = Image.fromarray(make_image(37, 53, 1))
    made = Views([([RandomResizedCrop((8, 9)), [RandomHorizontalFlip()]], 2), v2.ToImage(), None])(
        image
    )
    assert [type(one).__name__ for one in made] == [
        "Image",
        "Image",
        "Image",
        "Image",
    ]  # PIL's twice, torchvision's, PIL's
    assert [made[0].size, tuple(made[2].shape), made[3].size] == [(9, 8), (3, 37, 53), (53, 37)]
    assert made[0].tobytes() != made[1].tobytes()


def test_indexing_gives_a_list(folder):
    data = fastload.open(folder, DINO)
    views, label = data[4]
    assert [tuple(view.shape) for view in views] == [(3, 40, 53)] * 2 + [(3, 16, 24)] * 3 + [
        (3, 19, 21)
    ]
    assert label == data.targets[4]
    assert "\n    view 3: RandomResizedCrop(size=(16, 24)" in repr(data)
