"""Detection data sets through the loader: batches, order, resume, bad samples, what it says."""

import json
import os
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import Subset
from torchvision import tv_tensors
from torchvision.transforms import v2

import fastload
from fastload.errors import SampleError
from tests.loader import detection_helpers as helpers
from tests.loader.detection_helpers import collate, flat, loader


class Preset:
    """As torchvision's references write it."""

    def __init__(self, name):
        self.transforms = helpers.preset(name)

    def __call__(self, image, target):
        return self.transforms(image, target)


@pytest.fixture
def root(tmp_path):
    helpers.write_voc(tmp_path)
    return tmp_path


@pytest.fixture
def coco(tmp_path):
    pytest.importorskip("pycocotools", reason="torchvision's CocoDetection needs pycocotools")
    helpers.write_coco(tmp_path)
    return tmp_path


def test_batches_are_what_the_users_function_makes(root):
    data = helpers.voc(root, Preset("hflip"))
    images, targets = next(iter(loader(data)))
    assert [type(part) for part in (images, targets)] == [tuple, tuple]
    sizes = [(3, *size) for size in helpers.SIZES[:3]]
    assert [tuple(image.shape) for image in images] == sizes
    assert {image.dtype for image in images} == {torch.float32}
    assert type(targets[0]["boxes"]) is torch.Tensor
    assert len(targets[1]["boxes"]) == len(targets[1]["labels"]) == 2


def test_a_pipeline_without_draws_is_pytorchs(root):
    still = v2.Compose([
        v2.ToImage(), v2.RandomHorizontalFlip(1.0), v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.5] * 3, [0.25] * 3), v2.SanitizeBoundingBoxes(),
    ])  # fmt: skip
    data = helpers.voc(root, still)
    pairs = zip(loader(data), torch.utils.data.DataLoader(data, 3, collate_fn=collate), strict=True)
    for (images, targets), (others, wants) in pairs:
        for image, other, target, want in zip(images, others, targets, wants, strict=True):
            assert type(image) is type(other) is tv_tensors.Image
            assert torch.equal(image, other)
            helpers.same_targets(target, want)


def test_threads_batches_and_order_change_no_sample(root):
    data = helpers.voc(root, Preset("ssd"))
    want = flat(loader(data))
    assert flat(loader(data, num_workers=2)) == want
    other = fastload.DataLoader(
        data, sampler=[5, 2, 7], batch_size=2, collate_fn=collate, seed=1, num_workers=1
    )
    assert flat(other) == [want[5], want[2], want[7]]
    second = loader(data)
    second.set_epoch(1)
    assert flat(second) != want


def test_resume_goes_on_with_the_same_samples(root):
    data = helpers.voc(root, Preset("ssd"))
    whole = flat(loader(data, shuffle=True, num_workers=1))
    first = loader(data, shuffle=True, num_workers=1)
    batches = iter(first)
    next(batches)
    rest = loader(data, shuffle=True, num_workers=1)
    rest.load_state_dict(first.state_dict())
    assert flat(rest) == whole[3:]


def test_an_iterator_that_is_left_ends_and_the_next_one_begins_anew(root):
    data = helpers.voc(root, Preset("multiscale"))
    used = loader(data, num_workers=2)
    next(iter(used))
    used.set_epoch(0)
    assert flat(used) == flat(loader(data))


def test_a_subset_has_its_own_samples(root):
    data = helpers.voc(root, Preset("hflip"))
    inner = Subset(Subset(data, [6, 3, 1]), [2, 0])
    _, targets = next(iter(loader(inner)))
    assert [len(target["boxes"]) for target in targets] == [2, 3]


def test_what_explain_says(root):
    data = helpers.voc(root, helpers.preset("ssdlite"))
    lines = loader(data, num_workers=2).explain().splitlines()
    assert lines[0] == "backend native, 2 threads, device cpu"
    assert lines[1].startswith("  tier 1 of 3: pixels are native; ")
    assert "  JOINT   RandomHorizontalFlip(p=0.5)" in lines
    assert "  STORE   float32 [3, H, W] of each image's own size" in lines


def test_a_changed_transform_is_seen(root):
    data = helpers.voc(root, v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(0.0)]))
    used = loader(data)
    plain = next(iter(used))[0][0]
    data.transforms.transforms[1].p = 1.0
    assert torch.equal(next(iter(used))[0][0], plain.flip(-1))
    data.transforms.transforms.append(v2.CenterCrop(20))
    assert used.explain().splitlines()[-1].startswith("  changed since")
    iter(used)
    assert used.explain().startswith("PyTorch's own engine")


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (v2.CenterCrop(20), "transform CenterCrop is not there for boxes yet"),
        (v2.Resize(30, antialias=False), "transform Resize does not resize bilinear or bicubic"),
        (v2.RandomZoomOut(fill=0.5), "transform RandomZoomOut fills with 0.5, want whole numbers"),
        (v2.RandomZoomOut(fill=float("nan")), "transform RandomZoomOut fills with nan, want whole"),
        (v2.Lambda(lambda value: value), "transform torchvision.transforms.v2._misc.Lambda"),
        (
            v2.SanitizeBoundingBoxes(labels_getter=lambda _: None),
            "transform SanitizeBoundingBoxes has a labels_getter of its own",
        ),
    ],
)
def test_what_is_not_native_says_why(root, part, reason):
    data = helpers.voc(root, v2.Compose([v2.ToImage(), part]))
    told = fastload.DataLoader(data, 3, collate_fn=collate).explain()
    assert told.startswith("PyTorch's own engine")
    assert reason in told


def test_a_resize_after_values_is_not_native(root):
    late = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Resize(30)])
    told = fastload.DataLoader(helpers.voc(root, late), 3, collate_fn=collate).explain()
    assert "transform Resize comes after ToDtype, natively it comes before" in told


def test_other_options_leave_it_to_pytorch(root):
    data = helpers.voc(root, Preset("hflip"))
    told = fastload.DataLoader(data, 3, collate_fn=collate, decode_scale="fast").explain()
    assert "decode_scale='fast': is not there for boxes" in told
    with pytest.raises(fastload.errors.BackendError, match="backend torch moves no boxes"):
        fastload.DataLoader(data, 3, collate_fn=collate, backend="torch")


def test_a_bad_image_fails_its_batch_or_another_one_stands_in(root):
    path = root / "VOCdevkit" / "VOC2012" / "JPEGImages" / "004.jpg"
    path.write_bytes(b"no image")
    data = helpers.voc(root, Preset("hflip"))
    batches = iter(loader(data, num_workers=1))
    assert len(next(batches)[0]) == 3
    with pytest.raises(SampleError, match=r"004\.jpg, sample 4: cannot be decoded"):
        next(batches)
    assert len(next(batches)[0]) == 2
    options = {"max_bad": 1, "bad_samples": str(root / "bad.jsonl")}
    left = loader(data, on_error="skip", num_workers=1, **options)
    assert [len(images) for images, _ in left] == [3, 2, 2]
    filled = loader(data, on_error="substitute", num_workers=1, **options)
    assert [len(images) for images, _ in filled] == [3, 3, 2]


def test_a_collate_function_that_fails_raises_and_the_epoch_goes_on(root):
    data = helpers.voc(root, Preset("hflip"))
    batches = iter(fastload.DataLoader(data, 4, seed=1))  # images of several sizes do not stack
    for _ in range(2):
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            next(batches)


def test_a_copy_of_the_loader_makes_the_same(root):
    data = helpers.voc(root, Preset("lsj"))
    used = loader(data, num_workers=1)
    want = flat(used)
    again = pickle.loads(pickle.dumps(used))
    again.set_epoch(0)
    assert flat(again) == want


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_of_fork_has_threads_of_its_own(root):
    used = loader(helpers.voc(root, Preset("hflip")), num_workers=1)
    want = flat(used)
    read, write = os.pipe()
    if not (child := os.fork()):
        used.set_epoch(0)
        os.write(write, b"same" if flat(used) == want else b"other")
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        assert answer.read() == b"same"
    os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # pycocotools' masks
@pytest.mark.parametrize("name", ["hflip", "ssd"])
def test_coco_is_torchvisions(coco, name):
    transforms = helpers.preset(name, pil=True)
    data = helpers.coco(coco, transforms, target_keys=[*helpers.KEYS, "masks", "iscrowd"])
    plan = helpers.plan_of(data)
    for number in range(7):
        sample, drawn = helpers.made(plan, helpers.work([number], number))
        image, target = data._dataset[number]
        target = data._wrapper(number, (image, target))[1]
        want_image, want = helpers.wants(plan.source.name(number), target, transforms, drawn)
        assert torch.equal(sample.image, want_image)
        helpers.same_targets(sample.target, want)
        assert sample.target["masks"].shape[1:] == sample.image.shape[1:]


def test_coco_by_the_reference_leaves_out_images_without_annotations(coco):
    data = helpers.coco(coco, Preset("ssdlite"), target_keys=helpers.KEYS)
    with_boxes = [n for n, image in enumerate(data.ids) if data.coco.getAnnIds(image)]
    batches = list(loader(Subset(data, with_boxes), num_workers=1))
    numbers = [target["image_id"] for _, targets in batches for target in targets]
    assert numbers == [100 + n for n in with_boxes]
    assert len(numbers) == 7
    with pytest.raises(SampleError, match="RandomIoUCrop needs the boxes of the sample"):
        list(loader(data, num_workers=1))


@pytest.mark.filterwarnings("ignore:__array__ implementation")
@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("bbox", ["a", 1, 2, 3], "too many dimensions 'str'"),
        ("segmentation", [[1e9, 1e9, -1e9, 5, 3, 1e9]], "the polygon of object 0 is 4e+09 px long"),
        ("segmentation", {"size": [10**6] * 2, "counts": "z"}, "the RLE of object 0 has 1000000x"),
    ],
)
def test_a_bad_annotation_fails_its_batch_or_another_sample_stands_in(coco, key, value, text):
    file = coco / "instances.json"
    said = json.loads(file.read_text())
    said["annotations"][0][key] = value
    file.write_text(json.dumps(said))
    transforms = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip()])
    data = helpers.coco(coco, transforms, target_keys=["boxes", "masks"])
    number = data.ids.index(said["annotations"][0]["image_id"])
    with pytest.raises(SampleError) as error:
        list(loader(Subset(data, [number])))
    assert "its annotation cannot be read (" + text in str(error.value)
    assert str(error.value).endswith("); mend or remove it")
    ours = loader(Subset(data, [number, number + 1]), on_error="substitute")
    ((images, _),) = list(ours)
    assert len(images) == 2


def test_numbers_of_boxes_are_checked_by_nobody_but_torchvision(root):
    """A target keeps what is no tensor of torchvision's."""
    transforms = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(1.0)])
    data = helpers.voc(root, transforms, target_keys="all")
    _, targets = next(iter(loader(data)))
    assert targets[0]["annotation"]["filename"] == "000.jpg"
    left, right = np.array(helpers.boxes_of(0, *helpers.SIZES[0]))[:, ::2].T
    moved = targets[0]["boxes"][:, ::2].T.numpy()
    assert np.array_equal(moved, helpers.SIZES[0][1] - np.array([right, left]))
