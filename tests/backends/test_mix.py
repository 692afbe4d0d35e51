"""MixRecords batches: native gives the torch backend's bits, and both what the unmixed batches
say.
"""

import numpy as np
import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.errors import BackendError, PipelineError
from fastload.plan.batch import mix_records
from fastload.transforms.reference.mix import mix as pixels

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
OUTPUTS = {
    "uint8": [T.ToImage()],
    "uint8 NHWC": [T.ToImage(channels_last=True)],
    "float32": [T.ToTensor(), T.Normalize(MEAN, STD)],
    "float32 NHWC": [T.ToImage(channels_last=True), T.ToDtype("float32", scale=True),
    T.Normalize(MEAN, STD)],
    "float16": [T.ToImage(), T.ToDtype("float16", scale=True), T.Normalize(MEAN, STD)],
    "bfloat16 NHWC": [T.ToImage(channels_last=True), T.ToDtype("bfloat16", scale=True),
    T.Normalize(MEAN, STD)],
    "augmented": [T.RandAugment(2), T.ColOut(0.1, 0.2), T.ToTensor(), T.ColOut(0.1, batch=False),
    T.Normalize(MEAN, STD)],
    "erased": [T.RandAugment(1), T.ToTensor(), T.Normalize(MEAN, STD), T.RandomErasing(0.8,
    value=(3.0, -1, 2), max_count=2)],
    "erased uint8": [T.ToImage(), T.RandomErasing(0.8, value=9)],
}  # fmt: skip
MIXES = {
    "MixUp": T.MixUp(), "CutMix": T.CutMix(), "composer": T.MixUp.composer(1.0,
    label_smoothing=0.1),
    "choice": T.RandomChoice([T.MixUp(), T.CutMix()]), "smoothing": T.LabelSmoothing(0.1),
    "timm": T.MixUp.timm(1.0, 1.0, prob=0.8, mode="elem"), "pair": T.MixUp.timm(1.0, 1.0,
    mode="pair"),
}  # fmt: skip


def loader(path, output="float32", mix="MixUp", size=7, **options):
    data = fastload.open(
        path, [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), *OUTPUTS[output]]
    )
    return fastload.DataLoader(data, size, shuffle=True, seed=5, mix=MIXES.get(mix), **options)


def assert_same(found, want):
    assert len(found) == len(want)
    for (images, labels), (want_images, want_labels) in zip(found, want, strict=True):
        assert (images.dtype, images.stride(), labels.dtype) == (
            want_images.dtype,
            want_images.stride(),
            want_labels.dtype,
        )
        assert torch.equal(images, want_images)
        assert torch.equal(labels, want_labels)


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("output", OUTPUTS)
def test_native_gives_the_references_bits(folder, output, mix):
    assert_same(
        list(loader(folder, output, mix, backend="native")),
        list(loader(folder, output, mix, backend="torch")),
    )


@pytest.mark.parametrize("mix", ["MixUp", "CutMix", "composer", "timm", "pair"])
def test_a_mixed_batch_is_the_unmixed_one_with_its_records(folder, mix):
    made = loader(folder, "erased", mix, size=9)
    plan = made._route.plan
    made.set_epoch(0)
    works = list(made._works(plan, 5, 0))
    made.set_epoch(0)
    for work, (images, labels), (plain, hard) in zip(
        works, made, loader(folder, "erased", None, size=9), strict=True
    ):
        how = mix_records(plan, work)
        assert torch.equal(images, pixels(plain, how))
        assert torch.equal(labels, torch.from_numpy(T.mixing.soft_labels(hard.numpy(), how, 3)))


def test_a_cut_box_is_copied_exactly(folder):
    for (images, _), (plain, _) in zip(
        loader(folder, "float16", "CutMix"), loader(folder, "float16", None), strict=True
    ):
        assert ((images == plain) | (images == plain.roll(1, 0))).all()


@pytest.mark.parametrize("mix", ["MixUp", "pair", "choice"])
def test_workers_and_kept_batches_change_nothing(folder, mix):
    want = list(loader(folder, mix=mix, num_workers=0, backend="native"))
    assert_same(list(loader(folder, mix=mix, num_workers=3)), want)
    assert_same(list(loader(folder, mix=mix, num_workers=2, backend="torch")), want)
    assert not torch.equal(want[0][0], want[1][0])
    again = loader(folder, mix=mix)
    list(again)
    assert not torch.equal(next(iter(again))[0], want[0][0])  # another epoch, other draws


@pytest.mark.parametrize("mix", ["CutMix", "composer", "pair"])
@pytest.mark.parametrize("count", [1, 3])
def test_small_batches_mix_with_what_they_have(bad_folder, encode, make_image, count, mix):
    root = bad_folder({f"{n}.jpg": encode(make_image(30 + n, 50, n)) for n in range(5)})
    assert_same(
        list(loader(root, mix=mix, size=count, backend="native")),
        list(loader(root, mix=mix, size=count, backend="torch")),
    )


@pytest.mark.parametrize("mode", ["decode", "resize", "crop"])
def test_sizes_change_from_batch_to_batch(folder, mode):
    data = fastload.open(folder, [T.RandomResizedCrop(32), T.ToTensor()])
    schedule = fastload.ProgressiveResize(total_steps=12, mode=mode)
    native, reference = (
        fastload.DataLoader(
            data, 7, seed=5, shuffle=True, backend=backend, size_schedule=schedule, mix=T.CutMix()
        )
        for backend in ("native", "torch")
    )
    sides = set()
    for _ in range(2):
        found = list(native)
        assert_same(found, list(reference))
        sides |= {images.shape[-1] for images, _ in found}
    assert len(sides) > 2


@pytest.mark.parametrize("workers", [0, 2])
def test_images_that_pillow_decodes_are_mixed_too(bad_folder, encode, make_image, workers):
    whole = encode(make_image(60, 80, 3))
    files = {
        "b.png": encode(make_image(33, 51, 4), "PNG"),
        "c.jpg": whole,
        "d.jpg": whole.replace(b"\xff\xd9", b"\xff\xff\xff\xd9"),
    }
    files["e.jpg"] = whole[:-40] + bytes(38) + b"\xff\xd9"  # a damaged end: only decoding finds it
    root = bad_folder(files)
    native, reference = (
        list(loader(root, "erased", size=5, num_workers=workers, backend=backend))
        for backend in ("native", "torch")
    )
    assert_same(native, reference)


def test_an_iterator_may_be_dropped_while_batches_wait_to_be_mixed(folder):
    for _ in range(5):
        batches = iter(loader(folder, mix="MixUp", size=8, num_workers=2))
        next(batches)
        del batches


def test_explain_says_what_is_mixed(folder):
    assert (
        "  mix     LabelSmoothing(smoothing=0.1, num_classes=None), labels float32 [N, 3]"
        in loader(folder, mix="smoothing").explain()
    )


def problems(folder, mix, ops=None, **options):
    with pytest.raises(PipelineError) as error:
        fastload.DataLoader(
            fastload.open(folder, ops or [T.RandomResizedCrop(9)]), mix=mix, **options
        )
    return str(error.value)


def test_every_problem_is_in_one_error(folder):
    text = problems(folder, T.MixUp(-1, num_classes=2), [T.Resize(9)], size_schedule=[])
    assert text.splitlines() == [
        (
            "pipeline: image sizes may still differ after the last op, so they cannot be stacked; "
            "end CROP with RandomResizedCrop, CenterCrop or Resize((height, width))"
        ),
        "size_schedule: the list is empty, want one size per epoch",
        "mix (MixUp): alpha is -1, want above 0",
        "mix (MixUp): num_classes is 2, but the largest label is 2; give num_classes=3 or more",
    ]
    assert problems(folder, T.CutMix(num_classes=2)) == (
        "mix (CutMix): num_classes is 2, but the largest label is 2; give num_classes=3 or more"
    )
    assert problems(folder, T.RandomChoice([T.MixUp(), T.RandomInvert()])) == (
        "mix (RandomChoice): holds RandomInvert, want MixUp, CutMix and the like only"
    )
    assert (
        problems(folder, T.RandomChoice([T.MixUp(), T.CutMix(0)]))
        == "mix (RandomChoice): CutMix: alpha is 0, want above 0"
    )


def test_unknown_classes_are_refused(folder):
    from dataclasses import replace

    data = fastload.open(folder, [T.RandomResizedCrop(9)])
    data.pipeline = replace(data.pipeline, source=replace(data.pipeline.source, classes=()))
    with pytest.raises(PipelineError) as error:
        fastload.DataLoader(data, mix=T.MixUp())
    assert (
        str(error.value)
        == "mix (MixUp): num_classes is not given, and the data set does not name its classes; "
        "give num_classes"
    )
    images, labels = next(iter(fastload.DataLoader(data, 4, mix=T.MixUp(num_classes=5))))
    assert (images.shape, labels.shape) == ((4, 3, 9, 9), (4, 5))


def test_a_data_set_of_the_users_own_is_refused_not_left_unmixed():
    data = torch.utils.data.TensorDataset(torch.zeros(4, 3, 5, 7), torch.arange(4))
    with pytest.raises(BackendError) as error:
        fastload.DataLoader(data, mix=T.MixUp(num_classes=4))
    want = "(want torchvision's ImageFolder or another of docs/pipelines.md, or fastload.open)"
    assert str(error.value).splitlines() == [
        (
            "loader: mix cannot run this data set: data set torch.utils.data.dataset.TensorDataset "
            f"is not one that fastload reads {want}"
        ),
        "loader: leave mix out, and call it on the batches: images, labels = mix(images, labels)",
    ]


def test_an_image_folder_that_is_not_native_is_mixed_by_the_torch_backend(folder):
    tv, datasets = (
        pytest.importorskip("torchvision.transforms.v2"),
        pytest.importorskip("torchvision.datasets"),
    )
    ops = [
        tv.RandomResizedCrop((9, 13)),
        tv.PILToTensor(),
        tv.ToDtype(torch.float32, scale=True),
        tv.RandomErasing(1.0, value="random"),
    ]
    made = fastload.DataLoader(
        datasets.ImageFolder(folder, tv.Compose(ops)), 4, mix=T.MixUp(), seed=1
    )
    assert made.explain().startswith("backend torch, ")
    _, labels = next(iter(made))
    assert labels.shape == (4, 3)


def test_a_mix_among_the_ops_is_sent_to_the_loader(folder):
    with pytest.raises(PipelineError) as error:
        fastload.open(folder, [T.RandomResizedCrop(9), T.MixUp()])
    assert (
        str(error.value)
        == "transform: MixUp mixes batches, not images; give it to DataLoader(mix=...)"
    )


def test_labels_are_soft_for_every_class_of_the_recipe(folder):
    from fastload import recipes

    for name, smoothing in (("hot", 0.13), ("medium", 0.1), ("mild", 0.08)):
        recipe = recipes.load(name)
        data = fastload.open(folder, list(recipe.ops()))
        _, labels = next(iter(fastload.DataLoader(data, 4, mix=recipe.mix(10))))
        assert labels.shape == (4, 10)
        np.testing.assert_allclose(labels.sum(1), 1, atol=1e-6)
        if name == "mild":
            np.testing.assert_allclose(labels.min(1).values, smoothing / 10, rtol=1e-6)
    assert recipes.load("baseline").mix() is None
