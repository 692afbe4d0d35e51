"""Boxes, masks and keypoints move with their images: against torchvision, told the same draws."""

import threading

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import fastload
from fastload.engine import joint
from fastload.engine.joint import JointEngine
from fastload.joint.picture import Picture, opened
from tests import keypoints
from tests.conftest import encoded, textured
from tests.loader import detection_helpers as helpers
from tests.waiting import HANGS

CASES = 8


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("voc")
    helpers.write_voc(root)
    return root


@pytest.mark.parametrize("name", helpers.PRESETS)
def test_a_preset_is_torchvisions_bit_for_bit_on_pillows_images(root, name):
    transforms = helpers.preset(name, pil=True)
    data = helpers.voc(root, transforms)
    plan, some = helpers.plan_of(data), 0
    for seed in range(CASES):
        sample, drawn = helpers.made(plan, helpers.work([seed % 8], seed))
        target = plan.joint.target(seed % 8, opened_size(plan, seed % 8))
        image, want = helpers.wants(plan.source.name(seed % 8), target, transforms, drawn)
        assert torch.equal(sample.image, image), (seed, drawn)
        helpers.same_targets(sample.target, want)
        some += len(want["boxes"])
    assert some > CASES


@pytest.mark.parametrize(("name", "most"), [("hflip", 0), ("multiscale", 1), ("ssdlite", 0)])
def test_on_tensors_pixels_are_those_of_ops_md(root, name, most):
    transforms = helpers.preset(name)
    plan = helpers.plan_of(helpers.voc(root, transforms))
    for seed in range(8):
        sample, drawn = helpers.made(plan, helpers.work([seed], seed))
        target = plan.joint.target(seed, opened_size(plan, seed))
        image, want = helpers.wants(plan.source.name(seed), target, transforms, drawn)
        assert float((sample.image - image).abs().max()) * 255 < most + 0.01
        helpers.same_targets(sample.target, want)


@keypoints.needed
def test_keypoints_and_masks_move_too(root):
    """Those of a target that the wrapper did not make."""
    parts = [*helpers.geometry("multiscale"), *helpers.geometry("ssdlite"), v2.ClampKeyPoints()]
    transforms = v2.Compose([*parts, v2.PILToTensor()])
    plan = helpers.plan_of(helpers.voc(root, transforms))
    for seed in range(8):
        height, width = size = opened_size(plan, seed)
        rng = np.random.default_rng(seed)
        boxes = torch.from_numpy(helpers.boxes_of(seed, height, width))
        points = torch.from_numpy(rng.integers(0, min(size), (3, 5, 2)))
        target = {
            "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=size),
            "masks": tv_tensors.Mask(torch.from_numpy(rng.integers(0, 2, (3, *size), np.uint8))),
            "points": tv_tensors.KeyPoints(points, canvas_size=size), "labels": torch.arange(3),
        }  # fmt: skip
        picture = opened_picture(plan, seed)
        uniforms = helpers.draws(helpers.work([seed], seed), 0)
        moves = list(helpers.moves(plan.joint.steps, picture, target, uniforms))
        drawn, got = [(one.step.of, one.params) for one in moves], moves[-1].target
        image, want = helpers.wants(plan.source.name(seed), target, transforms, drawn)
        assert torch.equal(torch.from_numpy(picture.made()).permute(2, 0, 1), image)
        helpers.same_targets(got, want)


def opened_picture(plan, sample):
    with open(plan.source.name(sample), "rb") as file:
        return opened(file.read())


def opened_size(plan, sample):
    return opened_picture(plan, sample).size


def test_draws_depend_on_seed_epoch_and_sample_alone(root):
    plan = helpers.plan_of(helpers.voc(root, helpers.preset("ssd")))

    def shown(samples, position, **which):
        sample, _ = helpers.made(plan, helpers.work(samples, **which), position)
        return sample.image

    alone = shown([5], 0, seed=3)
    assert torch.equal(alone, shown([1, 2, 5], 2, seed=3))
    others = [shown([5], 0, seed=seed, epoch=epoch) for seed in range(4, 8) for epoch in range(3)]
    assert len({tuple(other.shape) for other in others}) > 3


def test_a_flip_is_drawn_half_the_time_and_places_are_everywhere(root):
    parts = [v2.RandomZoomOut(p=1.0), v2.RandomIoUCrop(), v2.RandomHorizontalFlip(), v2.ToImage()]
    plan = helpers.plan_of(helpers.voc(root, v2.Compose(parts)))
    target = plan.joint.target(5, (64, 48))
    flips, lefts, whole = [], [], []
    for seed in range(150):
        picture = Picture(np.zeros((64, 48, 3), np.uint8), (64, 48))
        uniforms = helpers.draws(helpers.work([5], seed), 0)
        zoomed, cropped, flipped = (
            one.params for one in helpers.moves(plan.joint.steps, picture, target, uniforms)
        )
        flips.append(flipped is not None)
        whole.append(cropped == {})
        if (space := sum(zoomed["padding"][::2])) > 9:
            lefts.append(zoomed["padding"][0] / space)
    assert 50 < sum(flips) < 100
    assert 0.4 < np.mean(lefts) < 0.6
    assert min(lefts) < 0.1 < 0.9 < max(lefts)
    assert 0.05 < np.mean(whole) < 0.75  # one of seven options, drawn again where no crop fits


@pytest.mark.parametrize("encodes", [True, False], ids=["encoded", "pixels"])
def test_any_order_of_calls_is_pillows(encodes):
    """Random crops, resizes, paddings and flips, folded into one native call or not."""
    data = encoded(textured(61, 83, 1), "PNG" if encodes else "BMP")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        picture = opened(data)
        image = Image.fromarray(textured(61, 83, 1))
        for _ in range(4):
            image = one_call(rng, picture, image)
            assert picture.size == (image.height, image.width)
        assert np.array_equal(picture.made(), np.asarray(image)), seed


def one_call(rng, picture: Picture, image: Image.Image) -> Image.Image:
    kind, height, width = rng.integers(0, 4), image.height, image.width
    if kind == 0:
        picture.flip()
        return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if kind == 1:
        high, wide = int(rng.integers(1, height + 1)), int(rng.integers(1, width + 1))
        top, left = int(rng.integers(0, height - high + 1)), int(rng.integers(0, width - wide + 1))
        picture.cut(top, left, high, wide)
        return image.crop((left, top, left + wide, top + high))
    if kind == 2:
        high, wide = (int(v) for v in rng.integers(5, 90, 2))
        picture.resize(high, wide, "bilinear")
        return image.resize((wide, high), Image.Resampling.BILINEAR)
    left, top, right, bottom = (int(v) for v in rng.integers(0, 9, 4))
    fill = tuple(int(v) for v in rng.integers(0, 256, 3))
    picture.pad((left, top, right, bottom), fill)
    canvas = Image.new("RGB", (width + left + right, height + top + bottom), fill)
    canvas.paste(image, (left, top))
    return canvas


def test_a_file_that_only_pillow_decodes_is_the_same():
    whole = encoded(textured(64, 80, 3), quality=90)
    data = whole[: len(whole) * 2 // 3] + b"\xff\xd9"  # coded bits end early
    from fastload.transforms import pil

    try:
        want = np.asarray(pil.decode(data))
    except OSError:
        pytest.skip("this Pillow refuses the file")
    picture = opened(data)
    picture.cut(3, 5, 40, 50)
    assert np.array_equal(picture.made(), want[3:43, 5:55])


@pytest.mark.parametrize("timeout", [0, 0.2])
def test_what_is_raised_while_one_is_waited_for_costs_no_batch(root, monkeypatch, timeout):
    one, go_on, left = JointEngine.one, threading.Event(), threading.current_thread()

    def late(self, work, position, into=None):
        if 2 in work.samples and threading.current_thread() is not left:
            go_on.wait(HANGS)
        return one(self, work, position, into)

    def interrupted(*_):
        raise KeyboardInterrupt

    data = helpers.voc(root, helpers.preset("hflip"))

    def made(workers, **given):
        return fastload.DataLoader(
            data, 2, num_workers=workers, seed=3, collate_fn=helpers.collate, **given
        )

    monkeypatch.setattr(JointEngine, "one", late)
    batches = iter(made(1, timeout=timeout))
    got = [next(batches)]
    with monkeypatch.context() as waits:
        if not timeout:
            waits.setattr(joint, "wait", interrupted)
        with pytest.raises(RuntimeError if timeout else KeyboardInterrupt):
            next(batches)
    go_on.set()
    while True:
        try:
            got.append(next(batches))
        except RuntimeError:  # a busy machine
            continue
        except StopIteration:
            break
    for mine, other in zip(got, made(0), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=0)
