"""DALI's batches, mixed: as the reference mixes the same pixels, with native's labels, partners and
boxes.
"""

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.plan.batch import mix_records
from fastload.transforms.reference.mix import mix as reference

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is not installed")
MIXES = {
    "MixUp": T.MixUp(), "CutMix": T.CutMix(), "smoothing": T.LabelSmoothing(0.1),
    "choice": T.RandomChoice([T.MixUp(), T.CutMix()]),
    "composer": T.MixUp.composer(1.0, label_smoothing=0.1), "timm": T.MixUp.timm(1.0, 1.0, prob=0.8,
    mode="elem"),
}  # fmt: skip
CROPS = [
    T.RandomHorizontalFlip(),
    T.CenterCrop((32, 30)),
]  # what DALI decodes and cuts to the very pixels
OUTPUTS = {
    "uint8": [T.ToImage()],
    "uint8 NHWC": [T.ToImage(channels_last=True)],
    "float32": [T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))],
    "float16 NHWC": [T.ToImage(channels_last=True), T.ToDtype("float16", scale=True)],
    "bfloat16": [T.ToImage(), T.ToDtype("bfloat16", scale=True)],
    "erased": [T.ColOut(0.1, 0.2), T.ToTensor(), T.RandomErasing(0.8, value=(3.0, -1, 2))],
}  # fmt: skip


def loader(path, ops, mix, backend="dali", **options):
    named = {"shuffle": True, "seed": 5, "num_workers": 1, **options}
    return fastload.DataLoader(
        fastload.open(path, ops), 7, mix=MIXES.get(mix), backend=backend, **named
    )


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("layout", ["uint8", "uint8 NHWC"])
def test_what_is_decoded_alike_is_mixed_alike(folder, mix, layout):
    found, native = (
        list(loader(folder, [*CROPS, *OUTPUTS[layout]], mix, backend))
        for backend in ("dali", "native")
    )
    assert len(found) == len(native) == 6
    for (images, labels), (want, want_labels) in zip(found, native, strict=True):
        assert (images.dtype, images.stride(), labels.dtype) == (
            want.dtype,
            want.stride(),
            torch.float32,
        )
        assert torch.equal(images, want)
        assert torch.equal(labels, want_labels)


@pytest.mark.parametrize("backend", ["dali", "dali-own"])
@pytest.mark.parametrize("mix", ["MixUp", "CutMix", "smoothing"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_mixed_batch_is_the_unmixed_one_with_its_records(folder, backend, mix, output):
    ops = [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), *OUTPUTS[output]]
    made, plain = loader(folder, ops, mix, backend), loader(folder, ops, None, backend)
    works = list(made._works(made._route.plan, 5, 0))
    made.set_epoch(0)
    for work, (images, labels), (alone, hard) in zip(works, made, plain, strict=True):
        how = mix_records(made._route.plan, work)
        want = reference(alone, how)
        assert (images.dtype, images.shape, images.stride()) == (
            alone.dtype,
            alone.shape,
            alone.stride(),
        )
        assert torch.equal(images, want)
        assert torch.equal(labels, torch.from_numpy(T.mixing.soft_labels(hard.numpy(), how, 3)))


@pytest.mark.parametrize("mode", ["decode", "resize", "crop"])
def test_the_box_fits_the_batchs_own_size(folder, mode):
    schedule = fastload.ProgressiveResize(total_steps=12, mode=mode)
    ops = [T.RandomResizedCrop(32), T.ToImage()]
    made, plain, native = (
        loader(folder, ops, mix, backend, size_schedule=schedule)
        for mix, backend in (("CutMix", "dali"), (None, "dali"), ("CutMix", "native"))
    )
    sides, cut = set(), 0
    for epoch in range(2):
        works = list(made._works(made._route.plan, 5, epoch))
        made.set_epoch(epoch)
        for work, (images, labels), (alone, _), (_, want_labels) in zip(
            works, made, plain, native, strict=True
        ):
            at = made._route.plan if work.size is None else made._route.plan.at(work.size)
            assert torch.equal(images, reference(alone, mix_records(at, work)))
            assert torch.equal(labels, want_labels)
            sides.add(images.shape[-1])
            cut += not torch.equal(images, alone)
    assert len(sides) > 2
    assert cut > 6
