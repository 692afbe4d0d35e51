"""Why the DALI backends refuse a pipeline, and what `explain` says of it."""

import pytest

import fastload
from fastload.backends.dali import installed as dali_installed
from fastload.backends.dali import own as dali_own
from fastload.errors import BackendError
from fastload.plan.plan import plan
from fastload.transforms import (
    AugMix,
    AutoAugment,
    CenterCrop,
    GaussianBlur,
    RandAugment,
    RandomErasing,
    RandomPerspective,
    RandomResizedCrop,
    Resize,
    ToImage,
    ToTensor,
)

from .dali_helpers import TRAIN, loader, reasons

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is not installed")


def test_explain_and_auto(folder):
    assert (
        loader(folder, num_workers=3).explain().splitlines()[0]
        == "backend dali, 3 threads, device cpu"
    )
    assert (
        loader(folder, backend="auto").explain().splitlines()[0]
        == "backend native, the caller's thread, device cpu"
    )


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
            "op 7 (RandomErasing) fills with noise ('random'), which DALI has not; give a number, "
            "or use backend='native'"
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
            "op 5 (AutoAugment) has policy 'svhn'; DALI by itself has 'imagenet' as fastload means "
            "it; use backend='dali'"
        ),
    ]


def test_not_installed_or_too_old(folder, monkeypatch):
    monkeypatch.setattr(dali_installed, "version_of", lambda *_: "1.44.0")
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
    monkeypatch.setattr(dali_installed, "version_of", lambda *_: "0.9.0.20")
    assert (dali_installed.whole_decode("cuda"), dali_installed.whole_decode("cpu")) == (
        True,
        False,
    )
    monkeypatch.setattr(dali_installed, "version_of", lambda *_: "0.8.0.1")
    assert not dali_installed.whole_decode("cuda")
