"""Mosaic, MixUp and CopyPaste through the loader: draws, resume, bad partners, what it says."""

import pytest
import torch
from torch.utils.data import Subset
from torchvision.datasets import CocoCaptions, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

import fastload
from fastload import detection, parity
from fastload.errors import SampleError, UsageError
from fastload.parity.setting import Setting
from fastload.sheets.joint import stages
from tests.detection.mix_helpers import copy_paste_collate
from tests.loader import detection_helpers as helpers
from tests.loader.detection_helpers import collate, flat, loader


def mixes():
    """A mix after a mix, with draws before, between and after."""
    return v2.Compose([
        v2.RandomHorizontalFlip(), detection.Mosaic((30, 40), p=0.8),
        v2.RandomCrop((50, 60), pad_if_needed=True), detection.MixUp(p=0.7), v2.ToImage(),
        v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
        v2.SanitizeBoundingBoxes(),
    ])  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    where = tmp_path_factory.mktemp("mixes")
    helpers.write_voc(where)
    return where


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    pytest.importorskip("pycocotools", reason="torchvision's CocoDetection needs pycocotools")
    where = tmp_path_factory.mktemp("coco")
    helpers.write_coco(where)
    return where


def data_of(root, transforms=None):
    return detection.WithPartners(helpers.voc(root, None), transforms or mixes())


def test_threads_batches_and_order_change_no_mix(root):
    data = data_of(root)
    want = flat(loader(data))
    assert all(len(boxes) == len(labels) for _, boxes, labels in want)
    assert max(len(boxes) for _, boxes, _ in want) > 4
    assert flat(loader(data, 2, num_workers=2)) == want
    other = loader(data, 5, sampler=[5, 2, 7], num_workers=1)
    assert flat(other) == [want[5], want[2], want[7]]
    second = loader(data)
    second.set_epoch(1)
    assert flat(second) != want


def test_resume_goes_on_with_the_same_mixes(root):
    data = data_of(root)
    whole = flat(loader(data, shuffle=True, num_workers=1))
    first = loader(data, shuffle=True, num_workers=1)
    next(iter(first))
    rest = loader(data, 3, shuffle=True, num_workers=2)
    rest.load_state_dict(first.state_dict())
    assert flat(rest) == whole[3:]


def test_two_ranks_have_the_samples_of_one(root):
    data = data_of(root)
    want = sorted(flat(loader(data, 8)))
    ranks = [
        fastload.DistributedSampler(data, num_replicas=2, rank=rank, shuffle=False, seed=1)
        for rank in range(2)
    ]
    assert sorted(one for rank in ranks for one in flat(loader(data, sampler=rank))) == want


def test_pytorchs_own_loader_mixes_too(root):
    data = data_of(root)
    for workers in (0, 1):
        batches = list(
            torch.utils.data.DataLoader(data, 4, num_workers=workers, collate_fn=collate)
        )
        assert sum(len(images) for images, _ in batches) == 8
        for images, targets in batches:
            assert {image.dtype for image in images} == {torch.float32}
            assert all(len(one["boxes"]) == len(one["labels"]) for one in targets)


def test_what_explain_says(root):
    lines = loader(data_of(root)).explain().splitlines()
    assert "  JOINT   Mosaic(p=0.8, size=(30, 40), fill=(114, 114, 114))" in lines
    assert "  JOINT   MixUp(p=0.7, alpha=32.0, fill=(114, 114, 114))" in lines
    assert lines[-1] == "  partners of mixes: any of 8 samples"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (
            [detection.Mosaic(9), v2.ToImage(), v2.CenterCrop(9)],
            "transform CenterCrop is not there",
        ),
        (
            [v2.ToImage(), v2.ToDtype(torch.float32), detection.Mosaic(9)],
            "transform Mosaic comes after ToDtype, natively it comes before",
        ),
    ],
)
def test_what_is_not_native_says_why(root, parts, reason):
    told = fastload.DataLoader(data_of(root, v2.Compose(parts)), 3, collate_fn=collate).explain()
    assert told.startswith("PyTorch's own engine")
    assert reason in told


def test_a_data_set_that_is_not_native_runs_on_pytorchs_engine(root):
    transforms = v2.Compose([detection.Mosaic(9), v2.ToImage(), v2.CenterCrop(9)])
    used = fastload.DataLoader(data_of(root, transforms), 3, collate_fn=collate)
    with pytest.warns(fastload.FallbackWarning, match="CenterCrop is not there for boxes"):
        images, _ = next(iter(used))
    assert images[0].shape == (3, 9, 9)


def test_a_mix_without_partners_says_what_to_do(root):
    data = helpers.voc(root, v2.Compose([detection.MixUp(), v2.ToImage()]))
    told = fastload.DataLoader(data, 3, collate_fn=collate).explain()
    assert (
        "transform MixUp mixes several samples, want the data set and its transforms in "
        "fastload.detection.WithPartners"
    ) in told
    with pytest.raises(UsageError, match=r"detection\.MixUp: got one sample, want 2; give"):
        data[0]


def test_another_data_set_inside_is_not_native(root):
    inside = torch.utils.data.ConcatDataset([helpers.voc(root, None)])
    told = fastload.DataLoader(detection.WithPartners(inside, mixes()), 3).explain()
    assert "WithPartners has data set torch.utils.data.dataset.ConcatDataset, want one with" in told


def test_captions_are_not_mixed(coco):
    plain = CocoCaptions(str(coco / "images"), str(coco / "instances.json"))
    data = detection.WithPartners(wrap_dataset_for_transforms_v2(plain), mixes())
    told = fastload.DataLoader(data, 3, collate_fn=collate).explain()
    assert "CocoCaptions has no objects, which WithPartners mixes" in told


def test_a_changed_mix_is_seen(root):
    data = data_of(root, v2.Compose([detection.MixUp(p=0.0), v2.ToImage()]))
    used = loader(data)
    assert len(flat(used)[0][1]) == 1
    data.transforms.transforms[0].p = 1.0
    used.set_epoch(0)
    assert len(flat(used)[0][1]) > 1


def test_a_bad_partner_fails_the_sample_or_another_one_stands_in(tmp_path):
    helpers.write_voc(tmp_path)
    path = tmp_path / "VOCdevkit" / "VOC2012" / "JPEGImages" / "004.jpg"
    path.write_bytes(b"no image")
    data = data_of(tmp_path, v2.Compose([detection.MixUp(), v2.ToImage()]))
    outside = [0, 1, 2, 3, 5, 6, 7]
    batches, failed = iter(loader(Subset(data, outside), 1, sampler=list(range(7)) * 3)), []
    for _ in range(21):
        try:
            next(batches)
        except SampleError as error:
            failed.append((error.index, str(error)))
    assert 0 < len(failed) < 15
    for index, text in failed:
        before, after = text.split("its partner ")
        assert before.endswith(f"00{outside[index]}.jpg, sample {index}: ")
        assert after.startswith(f"{path}, sample 4: cannot be decoded (")
        assert after.endswith("; mend or remove the file")
    options = {"max_bad": 0.9, "bad_samples": str(tmp_path / "bad.jsonl"), "num_workers": 1}
    left = [len(images) for images, _ in loader(data, 8, on_error="skip", **options)]
    assert 0 < left[0] < 8
    full = [len(images) for images, _ in loader(data, 8, on_error="substitute", **options)]
    assert full == [8]
    # Samples that no mix may take are not read
    good = detection.WithPartners(Subset(helpers.voc(tmp_path, None), outside), data.transforms)
    assert len(flat(loader(good))) == 7


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # pycocotools' masks
def test_objects_are_pasted_with_their_masks(coco):
    keys = [*helpers.KEYS, "masks", "iscrowd"]
    parts = [
        v2.ToImage(),
        v2.RandomResize(40, 60),
        detection.CopyPaste(),
        v2.SanitizeBoundingBoxes(),
    ]
    inner = helpers.coco(coco, None, target_keys=keys)
    data = detection.WithPartners(inner, parts)
    images, targets = next(iter(loader(data, 8, num_workers=2)))
    more = 0
    for number, (image, target) in enumerate(zip(images, targets, strict=True)):
        if "masks" not in target:
            continue
        count = len(target["boxes"])
        assert target["masks"].shape == (count, *image.shape[1:])
        assert len(target["labels"]) == count
        more += count > len(inner[number][1].get("labels", ()))
    assert more > 2
    assert flat(loader(data, 3)) == flat([(images, targets)])


@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_an_image_without_annotations_has_those_of_its_partners(coco):
    inner = helpers.coco(coco, None, target_keys=[*helpers.KEYS, "masks"])
    assert list(inner[7][1]) == ["image_id"]
    data = detection.WithPartners(inner, [detection.Mosaic(30), v2.ToImage()])
    batches = loader(data, 1, sampler=[7] * 4)
    counts = [len(targets[0].get("boxes", ())) for _, targets in batches]
    assert max(counts) > 0
    torch.manual_seed(1)
    target = data[7][1]
    assert len(target["boxes"]) == len(target["masks"]) > 0
    assert target["image_id"] == inner[7][1]["image_id"]


@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_a_collate_fn_of_references_detection_pastes_on_our_batches(coco):
    parts = v2.Compose([
        v2.ToImage(), v2.ScaleJitter((48, 64)), v2.RandomCrop((48, 64), pad_if_needed=True),
        v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True), v2.ToPureTensor(),
    ])  # fmt: skip
    data = helpers.coco(coco, parts, target_keys=[*helpers.KEYS, "masks"])
    with_objects = Subset(data, range(7))

    def all_of(workers):
        torch.manual_seed(5)
        used = fastload.DataLoader(
            with_objects, 4, num_workers=workers, collate_fn=copy_paste_collate, seed=1
        )
        assert used.explain().startswith("backend native")
        return list(used)

    plain, batches = all_of(0), all_of(2)
    for (images, targets), (others, wants) in zip(plain, batches, strict=True):
        for image, other, target, want in zip(images, others, targets, wants, strict=True):
            assert torch.equal(image, other)
            helpers.same_targets(target, want)
            assert len(target["boxes"]) == len(target["masks"]) == len(target["labels"])
    unmixed = [len(one["boxes"]) for _, targets in loader(with_objects, 4) for one in targets]
    pasted = [len(one["boxes"]) for _, targets in plain for one in targets]
    assert sum(pasted) > sum(unmixed)


def test_parity_compares_each_mix(root):
    report = parity.measure(data_of(root), Setting(4, 2, seed=3))
    assert [name for name, _ in report.rows] == [
        "decode", "1 RandomHorizontalFlip", "2 Mosaic", "3 RandomCrop", "4 MixUp",
        "5 RandomHorizontalFlip", "6 SanitizeBoundingBoxes", "whole batches",
    ]  # fmt: skip
    assert {cell.verdict for _, cells in report.rows for cell in cells} == {"bit-equal"}


def test_show_and_replay_say_who_the_partners_are(root):
    shown = fastload.show(loader(data_of(root), shuffle=True), n=4)
    said = [line for card in shown.contents.cards for line in card.lines]
    assert any(line.startswith("Mosaic: partners [") and ", centre (" in line for line in said)
    assert any(line.startswith("MixUp: partners [") and ", share 0." in line for line in said)
    assert " boxes, before " in shown.contents.cards[0].subtitle
    plan = helpers.plan_of(data_of(root, v2.Compose([detection.Mosaic(9), v2.ToImage()])))
    steps = stages(plan, helpers.work([3], 1), 64)
    assert [step.step for step in steps] == ["original", "Mosaic"]
    assert steps[1].size == (18, 18)
    assert steps[1].words.startswith("partners [")
