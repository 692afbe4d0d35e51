"""backend="ffcv": the native engine's batches by FFCV's loop, and everything that FFCV itself does
not notice.
"""

import gc
import importlib
import os
import re
import threading
from pathlib import Path

import pytest
import torch
from torch.utils.data import Subset, WeightedRandomSampler

import fastload
from fastload.backends import choosing
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.backends.ffcv import runner as ffcv
from fastload.errors import BackendError, SampleError
from fastload.plan.plan import plan
from fastload.system.machine import INSTALL_FFCV
from fastload.transforms import (
    CenterCrop,
    ColOut,
    Normalize,
    RandAugment,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
    ToImage,
    ToTensor,
    Views,
)
from tests.beton.layout import Writer
from tests.waiting import until

needs_ffcv = pytest.mark.skipif(
    bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}"
)
FIELDS = [("note", "bytes"), ("image", "image"), ("weight", "float"), ("label", "int")]
CROPS = [RandomResizedCrop((24, 31)), RandomHorizontalFlip()]
MEDIUM = [
    *CROPS,
    RandAugment(2, 9),
    ToTensor(),
    Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
    RandomErasing(0.5, value="random"),
]
STORED = [
    Resize((26, 35)),
    CenterCrop((24, 31)),
    ColOut(),
    ToImage(channels_last=True),
    ToDtype("bfloat16", scale=True),
]
TWO = Views(
    [([RandomResizedCrop((24, 31)), ToTensor()], 1), ([RandomResizedCrop((9, 12)), ToTensor()], 2)]
)


@pytest.fixture
def cells(make_image, encode):
    """13 images, every third raw, and a CMYK JPEG, which only Pillow decodes."""
    from PIL import Image

    found = []
    for number in range(13):
        pixels = make_image(40 + 3 * number, 61 - number, number)
        raw, jpeg = (
            ("raw", pixels),
            ("jpg", encode(pixels, quality=90, subsampling=number % 3), *pixels.shape[:2]),
        )
        found.append(jpeg if number % 3 else raw)
    found[4] = ("jpg", as_jpeg(Image.fromarray(make_image(30, 41, 4)).convert("CMYK")), 30, 41)
    return found


@pytest.fixture
def beton(tmp_path):
    """Writes a file of these images, labels and other fields."""

    def write(cells):
        rows = [
            [bytes(number % 3), cell, number / 2, number % 5] for number, cell in enumerate(cells)
        ]
        (tmp_path / "x.beton").write_bytes(Writer(FIELDS, rows).bytes())
        return str(tmp_path / "x.beton")

    return write


def as_jpeg(image):
    import io

    out = io.BytesIO()
    image.save(out, "JPEG")
    return out.getvalue()


def same(got, want):
    got, want = list(got), list(want)
    assert len(got) == len(want)
    for (a, a_labels), (b, b_labels) in zip(got, want, strict=True):
        for x, y in zip(
            a if isinstance(a, list) else [a], b if isinstance(b, list) else [b], strict=True
        ):
            assert (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride())
            assert torch.equal(x, y)
        assert torch.equal(a_labels, b_labels)
        assert a_labels.dtype == torch.int64


def pair(path, ops, batch_size=4, **options):
    """A loader by FFCV and one by the native engine."""
    data = fastload.open(path, ops)
    subset = options.pop("subset", None)
    data = data if subset is None else Subset(data, subset)
    return [
        fastload.DataLoader(data, batch_size, backend=backend, seed=3, **options)
        for backend in ("ffcv", "native")
    ]


@needs_ffcv
@pytest.mark.parametrize(
    ("ops", "workers"), [(MEDIUM, 2), (STORED, 0), (TWO, 1)], ids=["medium", "stored", "views"]
)
def test_batches_are_the_native_ones_over_epochs(ops, workers, cells, beton):
    threads = torch.get_num_threads()
    ours, native = pair(beton(cells), ops, shuffle=True, num_workers=workers)
    for _ in range(2):
        same(ours, native)  # kept to the end: none is overwritten, and the last one is short
    assert torch.get_num_threads() == threads  # which FFCV sets to its own


@needs_ffcv
def test_repeated_samples_and_parts_of_a_file(cells, beton):
    sampler = WeightedRandomSampler([1.0] * 5, 11, generator=torch.Generator().manual_seed(1))
    order = list(sampler)
    ours, native = pair(
        beton(cells), MEDIUM, subset=[7, 4, 4, 0, 12], sampler=order, drop_last=True, num_workers=1
    )
    same(ours, native)


@needs_ffcv
def test_sizes_change_without_compiling_again(cells, beton):
    ours, native = pair(
        beton(cells), [RandomResizedCrop(31)], size_schedule=[31, 16], num_workers=1
    )
    same(ours, native)
    code = ours._engine.loop.loader.code
    same(ours, native)
    assert ours._engine.loop.loader.code is code
    stage, _ = code[0][0]
    (compiled,) = (value for name, value in stage.__globals__.items() if name.startswith("code_"))
    assert len(compiled.signatures) == 1


@needs_ffcv
@pytest.mark.parametrize("mode", ["decode", "resize", "crop"])
def test_sizes_change_from_batch_to_batch(mode, cells, beton):
    schedule = fastload.ProgressiveResize(
        total_steps=8, delay=0, finetune=0.25, increment=1, mode=mode
    )
    ours, native = pair(
        beton(cells), [RandomResizedCrop(31)], size_schedule=schedule, num_workers=1
    )
    for _ in range(2):
        found = list(ours)
        same(found, native)
    assert len({images.shape for images, _ in found}) > 2


@needs_ffcv
def test_two_epochs_at_once_and_one_that_is_dropped(cells, beton):
    ours, native = pair(beton(cells), MEDIUM, num_workers=1)
    both = list(zip(ours, ours, strict=True))
    same([first for first, _ in both], native)
    same([second for _, second in both], native)
    before = threading.active_count()
    iterator = iter(ours)
    next(iterator)
    assert threading.active_count() > before
    del iterator
    gc.collect()
    assert until(
        lambda: threading.active_count() == before
    )  # dropping it waits for none of its threads


@needs_ffcv
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (
            lambda jpeg: (*jpeg[:1], jpeg[1][: len(jpeg[1]) // 2], *jpeg[2:]),
            "cannot be decoded (image file is truncated",
        ),
        (
            lambda jpeg: ("jpg", b"no image at all", *jpeg[2:]),
            "cannot be decoded (cannot identify image file",
        ),
        (lambda jpeg: (*jpeg[:2], jpeg[2] + 1, jpeg[3]), "is 55x56 px, and its row says 56x56"),
    ],
    ids=["cut off", "text", "another size"],
)
def test_what_ffcv_passes_over_is_named(spoil, reason, cells, beton):
    cells[5] = spoil(cells[5])
    path = beton(cells)
    ours, _ = pair(path, CROPS, num_workers=1)
    batches = iter(ours)
    next(batches)
    with pytest.raises(SampleError) as found:
        next(batches)
    assert str(found.value).startswith(f"{path}[5], sample 5: {reason}")
    assert len(list(batches)) == 2  # the epoch goes on


@needs_ffcv
def test_a_file_that_is_cut_off_in_an_epoch(cells, beton):
    path = beton(cells)
    ours, _ = pair(path, CROPS, batch_size=1, num_workers=1, prefetch_factor=1)
    batches = iter(ours)
    next(batches)
    assert path not in Path("/proc/self/maps").read_text()  # a mapped file would end the process
    os.truncate(path, 8192)
    found = []
    for _ in cells[1:]:
        try:
            next(batches)
        except SampleError as error:
            found.append(str(error))
    assert len(found) >= 9  # of 12; some were made before, or lie in front
    reason = r"cannot be read \(ends at byte (\d+) \(want bytes \1\.\.\d+\)\)"
    assert re.fullmatch(rf"{path}\[12\], sample 12: {reason}", found[-1])


@needs_ffcv
def test_what_is_raised_in_ffcvs_thread_arrives(cells, beton, monkeypatch):
    ours, _ = pair(beton(cells), CROPS, num_workers=1)

    def fail(self, *_):
        raise MemoryError("no records")

    monkeypatch.setattr(ffcv.Runner, "draw", fail)
    with pytest.raises(MemoryError, match="no records"):
        next(iter(ours))
    monkeypatch.undo()
    assert len(list(ours)) == 4


@needs_ffcv
def test_explain_and_counters(cells, beton):
    ours, _ = pair(beton(cells), CROPS, num_workers=2)
    assert ours.explain().splitlines()[0] == "backend ffcv, 2 threads, device cpu"
    assert len(list(ours)) == 4
    assert ours.decodes() == {"indexed": 0, "whole": 7, "library": 0, "refused": 0, "scaled": 0}
    assert ours.stats()["stages"]["store"]["samples"] == 13


@needs_ffcv
def test_what_cannot_be_imported_says_so(cells, beton, monkeypatch):
    real = importlib.import_module

    def refuse(name, *package):
        if name.split(".")[0] != "ffcv":  # Numba imports its own parts so
            return real(name, *package)
        raise ImportError(f"libturbojpeg.so.0: no such file, for {name}")

    steps = plan(fastload.open(beton(cells), CROPS).pipeline)
    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(BackendError) as found:
        ffcv.loop(steps, 1)
    why = (
        "ffcv is installed and cannot be imported (libturbojpeg.so.0: no such file, for "
        "ffcv.loader)"
    )
    assert str(found.value) == f"backend ffcv: {why}; {INSTALL_FFCV}"


def test_every_reason_at_once(folder, monkeypatch):
    monkeypatch.setattr(
        "importlib.metadata.version", lambda name: {"ffcv": "0.0.3", "numba": "0.60"}[name]
    )
    steps = plan(
        fastload.open(folder, [Resize((9, 9)), Resize((8, 8)), ToTensor()]).pipeline, "fast"
    )
    here = 'use backend="native"'
    assert ffcv.unsupported(steps, "cuda") == [
        f"ffcv is 0.0.3, want 1.0.2; {INSTALL_FFCV}",
        (
            f"data is FileSource ({folder}), FFCV reads one .beton file; fastload convert SRC x.beton, "
            f"or {here}"
        ),
        (
            "op 2 (Resize) resizes after op 1 (Resize); one resize, first of all, is what a record "
            "holds"
        ),
    ]
    again = (
        "op 2 (Resize) resizes after op 1 (Resize); one resize, first of all, is what a "
        'record holds; use backend="torch"'
    )
    assert ffcv.unsupported(steps)[-1] == again
    steps = plan(fastload.open(folder, [RandomResizedCrop((8, 9))]).pipeline, "fast")
    fast = (
        "decode_scale 'fast' needs each JPEG's header before its crop is chosen; leave it "
        f"out, or {here}"
    )
    assert ffcv.unsupported(steps)[-1] == fast


def test_what_is_not_installed_says_how(monkeypatch):
    import importlib.metadata

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert ffcv_installed.problem() == (
        "ffcv is not installed; apt-get install pkg-config libopencv-dev libturbojpeg0-dev && "
        "pip install wheel numba && pip install --no-build-isolation ffcv==1.0.2"
    )


def test_auto_never_takes_it(cells, beton):
    steps = plan(fastload.open(beton(cells), CROPS).pipeline)
    assert choosing.choose("auto", steps, "cpu")[:2] == ("native", [])
