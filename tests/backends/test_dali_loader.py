"""The DALI backends as loaders: order, last batches, bad samples, sizes, ends; and why they refuse."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload.backends.dali import installed as dali_installed
from fastload.backends.dali import own as dali_own
from fastload.dataset import Dataset
from fastload.errors import BackendError, SampleError
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import plan
from fastload.sources import ArraySource
from fastload.transforms import (
    AugMix,
    AutoAugment,
    CenterCrop,
    ColOut,
    GaussianBlur,
    Normalize,
    RandAugment,
    RandomErasing,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResizedCrop,
    Resize,
    ToDtype,
    ToImage,
    ToTensor,
    TrivialAugmentWide,
    Views,
)  # fmt: skip

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is not installed")
TRAIN = [RandomResizedCrop((24, 31)), RandomHorizontalFlip()]
BOTH = ("dali", "dali-own")


def loader(path, ops=TRAIN, backend="dali", batch_size=7, **options):
    return fastload.DataLoader(
        fastload.open(path, ops),
        batch_size,
        **{"shuffle": True, "seed": 5, "backend": backend, **options},
    )


def equal(first, second):
    return len(first) == len(second) and all(
        torch.equal(x, y)
        for a, b in zip(first, second, strict=True)
        for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("backend", BOTH)
@pytest.mark.parametrize("drop_last", [False, True])
def test_order_labels_and_last_batch_are_natives(backend, drop_last, folder):
    native, batches = (
        list(loader(folder, backend=name, drop_last=drop_last)) for name in ("native", backend)
    )
    assert [len(images) for images, _ in batches] == [7] * 5 + [5] * (not drop_last)
    assert [labels.tolist() for _, labels in batches] == [labels.tolist() for _, labels in native]


@pytest.mark.parametrize("backend", BOTH)
def test_epochs_differ_and_come_again_with_set_epoch(backend, folder):
    found = loader(folder, backend=backend, num_workers=2)
    first, second = list(found), list(found)
    found.set_epoch(0)
    assert equal(list(found), first)
    assert not equal(first, second)


def test_threads_and_batch_size_change_nothing(folder):
    whole = [torch.cat(parts) for parts in zip(*loader(folder), strict=True)]
    for options in ({"num_workers": 3}, {"batch_size": 40}, {"batch_size": 1, "num_workers": 1}):
        assert equal(
            [[torch.cat(parts) for parts in zip(*loader(folder, **options), strict=True)]], [whole]
        )


@pytest.mark.parametrize("backend", BOTH)
def test_several_iterators_and_early_ends(backend, folder):
    found = loader(folder, backend=backend, num_workers=1)
    want = list(found)
    found.set_epoch(0)
    left = iter(found)
    next(left)
    found.set_epoch(0)
    right = iter(found)
    assert equal([next(right)], want[:1])
    assert equal([next(left)], want[1:2])
    del left
    assert equal(list(right), want[1:])
    with pytest.raises(StopIteration):
        next(right)


def test_a_dropped_iterator_ends_its_pipeline(folder):
    iterator = iter(loader(folder, num_workers=1))
    next(iterator)
    pipeline = weakref.ref(iterator._batches.line.pipeline)
    del iterator
    gc.collect()
    assert pipeline() is None


@pytest.mark.parametrize("backend", BOTH)
def test_only_pipelines_without_draws_of_their_own_are_used_again(folder, backend):
    found, seen = loader(folder, backend=backend, num_workers=1), []
    for _ in range(2):
        iterator = iter(found)
        seen.append(iterator._batches.line.pipeline)
        assert len(list(iterator)) == len(found)
    assert (seen[0] is seen[1]) == (backend == "dali")


def test_kept_batches_are_never_overwritten(folder):
    found = loader(folder, num_workers=2, batch_size=3)
    kept = [(images, images.clone()) for images, _ in found]
    assert all(torch.equal(images, copy) for images, copy in kept)
    assert len({images.data_ptr() for images, _ in kept}) == len(kept)


@pytest.mark.parametrize("backend", BOTH)
@pytest.mark.parametrize("mode", ["decode", "resize", "crop"])
def test_sizes_change_from_epoch_to_epoch_and_step_to_step(backend, mode, folder):
    ops = [
        RandomResizedCrop(40),
        RandomHorizontalFlip(),
        RandAugment(1),
        ToImage(channels_last=True),
    ]
    schedule = fastload.ProgressiveResize(
        total_steps=12, scale=0.5, delay=0, finetune=0.25, increment=1, mode=mode
    )
    native, found = (
        loader(folder, ops, name, size_schedule=schedule, num_workers=2)
        for name in ("native", backend)
    )
    for _ in range(2):
        shapes = [images.shape for images, _ in found]
        assert shapes == [images.shape for images, _ in native]
    assert shapes[0] != shapes[-1]


def test_batches_may_grow(folder):
    dataset = fastload.open(folder, TRAIN)
    batches = [[0, 1], [2, 3, 4], [5], list(range(6, 20)), [20, 21]]
    native, found = (
        fastload.DataLoader(dataset, batch_sampler=batches, seed=1, backend=name)
        for name in ("native", "dali")
    )
    for (images, labels), (want, want_labels) in zip(found, native, strict=True):
        assert images.shape == want.shape
        assert torch.equal(labels, want_labels)
        assert (images.float() - want.float()).abs().mean() < 1


def test_views(folder):
    two = Views([[RandomResizedCrop((24, 31))], [RandomResizedCrop((16, 20)), RandAugment(1)]])
    (large, small), labels = next(iter(loader(folder, two)))
    (want_large, want_small), want_labels = next(iter(loader(folder, two, "native")))
    assert (large.shape, small.shape, labels.tolist()) == (
        want_large.shape,
        want_small.shape,
        want_labels.tolist(),
    )
    assert (large.float() - want_large.float()).abs().mean() < 1


def test_masks_stay_on_their_images(folder, tmp_path):
    for path in Path(folder).rglob("*.jpg"):
        mask = tmp_path / "masks" / path.relative_to(folder).with_suffix(".png")
        mask.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(path) as image:
            image.convert("L").save(mask)
    found = {}
    for backend in ("native", "dali"):
        dataset = fastload.open(folder, TRAIN, masks=tmp_path / "masks")
        found[backend] = [
            masks
            for _, masks in fastload.DataLoader(dataset, 7, seed=3, shuffle=True, backend=backend)
        ]
    assert all(torch.equal(a, b) for a, b in zip(found["native"], found["dali"], strict=True))
    with pytest.raises(BackendError) as caught:
        fastload.DataLoader(dataset, 7, backend="dali-own")
    assert reasons(caught) == [
        "masks need the crops of their images, which only DALI knows; use backend='dali'"
    ]


@pytest.mark.parametrize("backend", BOTH)
@pytest.mark.parametrize("content", [b"", b"no image", "cut"])
def test_a_bad_sample_is_named_after_the_batches_before_it(
    backend, content, bad_folder, encode, make_image
):
    good = [encode(make_image(50, 60, number)) for number in range(12)]
    bad = good[9][:-300] if content == "cut" else content
    path = bad_folder(
        {f"{number:02d}.jpg": bad if number == 9 else data for number, data in enumerate(good)}
    )
    batches = iter(loader(path, backend=backend, batch_size=4, shuffle=False, num_workers=1))
    assert [len(next(batches)[0]) for _ in range(2)] == [4, 4]
    with pytest.raises(
        SampleError,
        match=r"/a/09\.jpg, sample 9: cannot be decoded \(.*\); mend or remove the file$",
    ):
        next(batches)
    assert [len(images) for images, _ in batches] == [1]  # the epoch goes on: 13 samples


def test_what_dali_itself_refuses_is_asked_of_pillow(bad_folder, encode, make_image, monkeypatch):
    monkeypatch.setattr(
        "fastload.backends.dali.inputs.certain", lambda *_: True
    )  # so that it reaches DALI
    good = encode(make_image(50, 60, 1))
    path = bad_folder({"1.jpg": good, "2.jpg": good[:-300], "3.jpg": good})
    batches = iter(loader(path, [CenterCrop((40, 50))], batch_size=1, shuffle=False, num_workers=1))
    assert len(list(zip(range(2), batches, strict=False))) == 2
    with pytest.raises(
        SampleError,
        match=r"2\.jpg, sample 2: cannot be decoded \(image file is truncated.*mend or remove the "
        r"file$",
    ):
        next(batches)
    monkeypatch.setattr("PIL.ImageFile.LOAD_TRUNCATED_IMAGES", True)
    native = [
        images for images, _ in loader(path, [CenterCrop((40, 50))], "native", 3, shuffle=False)
    ]
    found = [
        images
        for images, _ in loader(
            path, [CenterCrop((40, 50))], "dali", 3, shuffle=False, num_workers=1
        )
    ]
    assert [torch.equal(a, b) for a, b in zip(native, found, strict=True)] == [True, True]


def test_png_and_grey_images_come_through_pillow(bad_folder, encode, make_image):
    pixels = make_image(50, 60, 3)
    path = bad_folder(
        {
            "1.jpg": encode(pixels, "PNG"),
            "2.jpg": encode(pixels[..., 0]),
            "3.png": encode(np.dstack([pixels, pixels[..., :1]]), "PNG"),
        }
    )
    native, found = (
        list(loader(path, [CenterCrop((40, 50))], name, shuffle=False))
        for name in ("native", "dali")
    )
    assert equal(native, found)


def test_pixels_in_memory():
    images = np.random.default_rng(0).integers(0, 256, (9, 20, 26, 3), np.uint8)
    source = ArraySource("memory", images, np.arange(9), ("a",) * 9)
    batches = fastload.DataLoader(
        Dataset(Pipeline(source, (CenterCrop((20, 26)),))), 9, backend="dali"
    )
    assert torch.equal(next(iter(batches))[0], torch.from_numpy(images).permute(0, 3, 1, 2))


def test_explain_and_auto(folder):
    assert (
        loader(folder, num_workers=3).explain().splitlines()[0]
        == "backend dali, 3 threads, device cpu"
    )
    assert (
        loader(folder, backend="auto").explain().splitlines()[0]
        == "backend native, the caller's thread, device cpu"
    )


def reasons(caught):
    *lines, last = str(caught.value).splitlines()
    assert last == "backend native can run it; pass backend='native'"
    return [line.partition(" cannot run this plan: ")[2] for line in lines]


def test_every_reason_at_once(folder):
    ops = [
        RandomResizedCrop(24, interpolation="hamming"), RandomPerspective(), AugMix(),
        RandAugment.timm("rand-m9"),
        RandAugment(fill=(1, 2, 3)), ToTensor(), RandomErasing(value="random"),
    ]  # fmt: skip
    with pytest.raises(BackendError) as caught:
        loader(folder, ops, decode_scale="fast")
    assert reasons(caught) == [
        "op 2 (RandomPerspective) is not written for DALI; use backend='native'",
        (
            "op 1 (RandomResizedCrop) has interpolation 'hamming'; DALI has nearest, bilinear, "
            "bicubic, lanczos"
        ),
        "op 3 (AugMix) draws Add, Start, Sum, which is not written for DALI; use backend='native'",
        (
            "op 4 (RandAugment) draws bicubic Affine, which is not written for DALI; use "
            "backend='native'"
        ),
        "op 5 (RandAugment) has fill (1, 2, 3); DALI fills with one number",
        (
            "op 7 (RandomErasing) fills with noise ('random'), which DALI has not; give a number, or "
            "use backend='native'"
        ),
        "decode_scale is 'fast', which DALI has not; use 'exact' or backend='native'",
    ]


def test_every_reason_of_dali_by_itself(folder):
    ops = [
        Resize(30),
        CenterCrop(24),
        GaussianBlur(3),
        RandAugment.composer(),
        AutoAugment("svhn"),
        ToImage(),
    ]
    with pytest.raises(BackendError) as caught:
        loader(folder, ops, "dali-own")
    assert reasons(caught) == [
        (
            "CROP is Resize, CenterCrop; DALI by itself has RandomResizedCrop, then "
            "RandomHorizontalFlip; use backend='dali'"
        ),
        "op 3 (GaussianBlur) is none of DALI's own policies; use backend='dali'",
        (
            "op 4 (RandAugment) has another library's definition; DALI has its own only; use "
            "backend='dali'"
        ),
        (
            "op 5 (AutoAugment) has policy 'svhn'; DALI by itself has 'imagenet' as fastload means it; "
            "use backend='dali'"
        ),
    ]


def test_not_installed_or_too_old(folder, monkeypatch):
    monkeypatch.setattr(dali_installed, "installed", lambda *_: "1.44.0")
    with pytest.raises(BackendError) as caught:
        loader(folder)
    assert str(caught.value) == (
        "backend dali cannot run this plan: NVIDIA DALI is 1.44.0, want 2.2 or newer; pip install "
        '"fastload-torch[dali]"\n'
        "backend native can run it; pass backend='native'"
    )
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert (
        dali_installed.missing()
        == dali_own.unsupported(plan(fastload.open(folder, TRAIN).pipeline))
        == ['NVIDIA DALI is not installed; pip install "fastload-torch[dali]"']
    )


def test_a_broken_nvimagecodec_decodes_whole_images(monkeypatch):
    monkeypatch.setattr(dali_installed, "installed", lambda *_: "0.9.0.20")
    assert (dali_installed.whole_decode("cuda"), dali_installed.whole_decode("cpu")) == (
        True,
        False,
    )
    monkeypatch.setattr(dali_installed, "installed", lambda *_: "0.8.0.1")
    assert not dali_installed.whole_decode("cuda")


@pytest.mark.parametrize(
    "policy", [RandAugment(2, 9), TrivialAugmentWide(interpolation="bilinear"), AutoAugment()]
)
def test_dalis_own_policies_run(policy, folder):
    ops = [
        *TRAIN,
        policy,
        ToImage(),
        ColOut(),
        ToDtype("float32", scale=True),
        Normalize((0.5,) * 3, (0.25,) * 3),
    ]
    native, found = (list(loader(folder, ops, name)) for name in ("native", "dali-own"))
    for (images, _), (want, _) in zip(found, native, strict=True):
        assert (images.shape, images.dtype) == (want.shape, want.dtype)
        assert abs(images.mean() - want.mean()) < 0.6
        assert 0.3 < images.std() / want.std() < 3


@pytest.mark.parametrize("name", ["peer", "dali", "dali-own", "native"])
def test_the_benchmarks_loaders_give_the_same_number_of_images(name, folder):
    benchmark = pytest.importorskip("benchmarks.dali.child")  # not in an installed package
    spec = {
        "loader": name,
        "data": folder,
        "output": "float32",
        "workers": 1,
        "batch_size": 16,
        "size": 24,
    }
    found = list(benchmark.make_loader(spec))
    assert sum(len(labels) for _, labels in found) == benchmark.PASSES * 40
    assert {(tuple(images.shape[1:]), images.dtype, labels.dtype) for images, labels in found} == {
        ((3, 24, 24), torch.float32, torch.int64)
    }
