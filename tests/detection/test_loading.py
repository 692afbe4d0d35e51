"""Data sets of fastload.detection on both loaders, and torchvision's others: the same targets."""

import json

import numpy as np
import pytest
import torch
from torch.utils.data import Subset
from torchvision import tv_tensors
from torchvision.datasets import CocoCaptions, Kitti, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

import fastload
from fastload import detection
from tests.loader import detection_files as files
from tests.loader import detection_helpers as helpers
from tests.loader.detection_helpers import collate

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation")  # pycocotools' masks
KEYS = ["image_id", "boxes", "labels"]


def still():
    """Transforms without draws."""
    return v2.Compose([
        v2.ToImage(), v2.RandomHorizontalFlip(1.0), v2.RandomRotation((20, 20)),
        v2.ClampBoundingBoxes(), v2.ToDtype(torch.float32, scale=True),
    ])  # fmt: skip


def yolo(root):
    files.write_yolo(root)
    return detection.yolo(root, transforms=still(), keys=[*KEYS, "masks"])


def lvis(root):
    files.write_lvis(root)
    return detection.lvis(root, root / "lvis.json", transforms=still())


def open_images(root):
    files.write_open_images(root)
    places = (root / "images", root / "boxes.csv", root / "classes.csv")
    return detection.open_images(*places, transforms=still(), first_label=1)


def kitti(root):
    files.write_kitti(root)
    return wrap_dataset_for_transforms_v2(Kitti(str(root), transforms=still()), target_keys="all")


@pytest.mark.parametrize("make", [yolo, lvis, open_images, kitti])
def test_native_batches_are_those_of_pytorchs_loader(tmp_path, make):
    if make is yolo:
        pytest.importorskip("pycocotools", reason="masks need pycocotools")
    data = make(tmp_path)
    native = fastload.DataLoader(data, 3, collate_fn=collate)
    assert native.explain().startswith("backend native"), native.explain()
    others = torch.utils.data.DataLoader(data, 3, collate_fn=collate)
    seen = 0
    for (images, targets), (want_images, wants) in zip(native, others, strict=True):
        for image, target, want_image, want in zip(
            images, targets, want_images, wants, strict=True
        ):
            # torchvision turns tensors by another arithmetic than Pillow's images
            assert image.shape == want_image.shape
            helpers.same_targets(target, want)
            seen += len(target["boxes"])
    assert seen > 8


def test_lvis_is_torchvisions_coco(tmp_path):
    pytest.importorskip("pycocotools", reason="torchvision's CocoDetection needs pycocotools")
    files.write_lvis(tmp_path)
    file = tmp_path / "lvis.json"
    known = json.loads(file.read_text())
    for image in known["images"]:
        image["file_name"] = image["coco_url"].rpartition("/")[2]
    (tmp_path / "instances.json").write_text(json.dumps(known))
    (tmp_path / "images").symlink_to(tmp_path / "val2017")
    keys = [*KEYS, "masks"]
    want = helpers.coco(tmp_path, None, target_keys=keys)
    data = detection.lvis(tmp_path, file, keys=keys)
    assert len(data) == len(want) == 8
    for number in range(7):  # torchvision leaves out the keys of an image without objects
        image, target = data[number]
        want_image, wanted = want[number]
        assert np.array_equal(np.asarray(image), np.asarray(want_image))
        helpers.same_targets(target, wanted)
    assert [tuple(value.shape) for value in list(data[7][1].values())[1:]] == [
        (0, 4), (0, 70, 33), (0,),
    ]  # fmt: skip


@pytest.mark.parametrize("make", [yolo, open_images])
def test_boxes_of_shares_are_those_that_were_written(tmp_path, make):
    pytest.importorskip("pycocotools", reason="masks need pycocotools")
    data = make(tmp_path)
    data.transforms = None
    for number in range(7):
        image, target = data[number]
        want = torch.from_numpy(files.boxes_of(number, image.height, image.width))
        torch.testing.assert_close(
            target["boxes"].as_subclass(torch.Tensor), want.float(), rtol=0, atol=1e-5
        )
        assert target["boxes"].canvas_size == (image.height, image.width)
        if "masks" in target:  # of a box is the box
            assert target["masks"].sum((1, 2)).tolist() == [
                (c - a) * (d - b) for a, b, c, d in want.tolist()
            ]
    assert data[-1][1]["boxes"].shape == (0, 4)


def test_what_the_labels_are(tmp_path):
    pytest.importorskip("pycocotools", reason="masks need pycocotools")
    first, second, third = (tmp_path / name for name in ("yolo", "lvis", "oi"))
    data = yolo(first)
    assert data.classes == ("cat", "dog", "bird")
    assert data[3][1]["labels"].tolist() == [0, 1, 2, 0]
    later = detection.yolo(first, first_label=1)
    assert later[3][1]["labels"].tolist() == [1, 2, 3, 1]
    assert (data.names[0], later.names) == ("cat", {1: "cat", 2: "dog", 3: "bird"})
    data = lvis(second)
    assert data[1][1]["labels"].tolist() == [2, 2]
    assert data.names == {1: "a"}
    data = open_images(third)
    assert (data.classes, data.names) == (("Cat", "Dog"), {1: "Cat", 2: "Dog"})
    assert data[3][1]["labels"].tolist() == [1, 2, 1, 2]
    assert data[3][1]["image_id"] == "003"
    assert repr(data) == "fastload.detection 'images': 8 images, 2 classes"


def test_a_subset_and_changed_transforms_are_seen(tmp_path):
    files.write_yolo(tmp_path)
    plain = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(0.0)])
    data = detection.yolo(tmp_path, transforms=plain)
    loader = fastload.DataLoader(Subset(data, [2, 0]), 2, collate_fn=collate)
    ((images, targets),) = list(loader)
    assert [target["image_id"] for target in targets] == [2, 0]
    plain.transforms[1].p = 1.0
    ((flipped, _),) = list(loader)
    assert torch.equal(flipped[0], images[0].flip(-1))
    data.transforms = None
    told = fastload.DataLoader(data, 2, collate_fn=collate).explain()
    assert "is no v2.Compose of joint transforms" in told


def test_captions_are_the_target(tmp_path):
    pytest.importorskip("pycocotools", reason="torchvision's CocoCaptions needs pycocotools")
    files.write_images(tmp_path / "images", 4)
    said = [["a", "b"], [], ["c"], ["d"]]
    known = {
        "images": [{"id": n, "file_name": f"{n:03}.jpg"} for n in range(4)],
        "annotations": [
            {"id": 10 * n + place, "image_id": n, "caption": text}
            for n, texts in enumerate(said)
            for place, text in enumerate(texts)
        ],
    }
    file = tmp_path / "captions.json"
    file.write_text(json.dumps(known))
    crop = v2.Compose([v2.ToImage(), v2.RandAugment(), v2.RandomCrop(24)])
    data = wrap_dataset_for_transforms_v2(
        CocoCaptions(str(tmp_path / "images"), str(file), transforms=crop)
    )
    loader = fastload.DataLoader(data, 4, collate_fn=collate)
    told = loader.explain()
    assert told.startswith("backend native"), told
    assert told.endswith("  target  that of CocoCaptions")
    ((images, captions),) = list(loader)
    assert list(captions) == said
    assert {tuple(image.shape) for image in images} == {(3, 24, 24)}


def test_kitti_without_targets_is_left_to_pytorch(tmp_path):
    files.write_kitti(tmp_path)
    (tmp_path / "Kitti" / "raw" / "training").rename(tmp_path / "Kitti" / "raw" / "testing")
    data = wrap_dataset_for_transforms_v2(Kitti(str(tmp_path), train=False, transforms=still()))
    told = fastload.DataLoader(data, 2, collate_fn=collate).explain()
    assert "Kitti has no targets with train=False" in told


def test_fixed_size_crop_by_known_numbers():
    image = tv_tensors.Image(torch.arange(3 * 4 * 10, dtype=torch.uint8).reshape(3, 4, 10))
    boxes = tv_tensors.BoundingBoxes(
        [[0.0, 0.0, 5.0, 2.0], [6.0, 1.0, 10.0, 4.0]], format="XYXY", canvas_size=(4, 10)
    )
    crop = detection.FixedSizeCrop((6, 8), fill=7)
    assert crop.placed((4, 10), 0.9) == {
        "needs_crop": True, "top": 0, "left": 1, "height": 4, "width": 8,
        "needs_pad": True, "padding": [0, 0, 0, 2],
    }  # fmt: skip
    crop.make_params = lambda _: crop.placed((4, 10), 0.9)
    made, moved = crop(image, boxes)
    assert torch.equal(made[:, :4], image[:, :, 1:9])
    assert (made[:, 4:] == 7).all()
    assert moved.tolist() == [[0, 0, 4, 2], [5, 1, 8, 4]]
    assert moved.canvas_size == (6, 8)
