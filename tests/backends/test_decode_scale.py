"""decode_scale="fast": both backends pick the same scale and give the same pixels; "exact" is left
alone.
"""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import _native
from fastload.backends.native import crop
from fastload.conversion import indexing
from fastload.errors import UsageError
from fastload.transforms import (
    CenterCrop,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToTensor,
)
from tests.kernels.helpers import picture

SIZES = [(300, 410), (411, 277), (128, 190), (97, 333), (650, 64), (23, 31)]  # height, width, px
KINDS = ["4:4:4", "4:2:2", "4:2:0", "grey", "progressive", "cmyk", "png", "damaged"]
PIPELINES = {
    "crop": [RandomResizedCrop((24, 31))],
    "flip after": [RandomResizedCrop((24, 31)), RandomHorizontalFlip()],
    "flip before": [RandomHorizontalFlip(), RandomResizedCrop((24, 31)), RandomHorizontalFlip(0.3)],
    "bicubic": [
        RandomResizedCrop((19, 15), interpolation="bicubic"),
        ToTensor(),
        Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
    ],
    "nearest": [RandomResizedCrop((19, 15), interpolation="nearest")],
    "a filter for each image": [RandomResizedCrop((24, 31), interpolation="random")],
    "validation": [Resize(40), CenterCrop((32, 37))],
    "padding": [Resize(20), RandomHorizontalFlip(), CenterCrop((33, 27))],
    "both sides": [Resize((25, 40)), CenterCrop(19)],
}


def damaged(data: bytes) -> bytes:
    """Coded bytes taken out behind the middle: libjpeg warns that there are too few or too many,
    Pillow decodes.
    """
    coded = len(data) - data.index(b"\xff\xda")
    at = len(data) - coded // 3
    return data[:at] + data[at + coded // 8 :]


def encode(kind: str, pixels: np.ndarray) -> bytes:
    image = Image.fromarray(pixels).convert({"grey": "L", "cmyk": "CMYK"}.get(kind, "RGB"))
    options = {"subsampling": kind} if ":" in kind else {"progressive": kind == "progressive"}
    out = io.BytesIO()
    image.save(out, "PNG" if kind == "png" else "JPEG", **({} if kind == "png" else options))
    return damaged(out.getvalue()) if kind == "damaged" else out.getvalue()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """ROOT/a/NAME.jpg: every kind in every size."""
    root = tmp_path_factory.mktemp("large")
    (root / "a").mkdir()
    for number, (height, width) in enumerate(SIZES):
        rng = np.random.default_rng(number)
        y, x = np.mgrid[:height, :width]
        waves = np.stack([np.sin(x / 9 + c) + np.cos(y / (7 + c)) for c in range(3)], -1)
        pixels = (128 + 50 * waves + rng.normal(0, 9, waves.shape)).clip(0, 255).astype(np.uint8)
        for kind in KINDS:
            (root / "a" / f"{kind.replace(':', '')}{number}.jpg").write_bytes(encode(kind, pixels))
    return str(root)


def load(root, ops, **options):
    loader = fastload.DataLoader(fastload.open(root, ops), 7, shuffle=True, seed=5, **options)
    return torch.cat([images for images, _ in loader]), loader


def test_what_only_the_decoder_finds_damaged_is_pillows_at_that_scale(large):
    data = [path.read_bytes() for path in sorted((Path(large) / "a").glob("damaged*"))]
    assert [_native.probe(d)[0] for d in data] == [_native.OK] * len(SIZES)
    for one in data:
        with pytest.raises(ValueError, match="Corrupt JPEG data"):
            _native.decode(one)
    want, got = (
        load(large, PIPELINES["validation"], backend=backend, decode_scale="fast")
        for backend in ("torch", "native")
    )
    torch.testing.assert_close(got[0], want[0], rtol=0, atol=0)
    assert got[1].decodes()["scaled"] >= len(SIZES) - 1


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("workers", [0, 2])
def test_native_gives_the_torch_backends_pixels(large, name, workers):
    want, _ = load(large, PIPELINES[name], backend="torch", decode_scale="fast")
    got, loader = load(
        large, PIPELINES[name], backend="native", decode_scale="fast", num_workers=workers
    )
    torch.testing.assert_close(got, want, rtol=0, atol=0)
    assert loader.decodes()["scaled"] > 0


def test_an_index_changes_no_pixel(large, tmp_path):
    copy = shutil.copytree(large, tmp_path / "copy")
    before, loader = load(
        str(copy), PIPELINES["crop"], backend="native", decode_scale="fast", num_workers=2
    )
    assert loader.decodes()["indexed"] == 0
    indexing.run(indexing.prepare(str(copy)), count=1)
    after, loader = load(
        str(copy), PIPELINES["crop"], backend="native", decode_scale="fast", num_workers=2
    )
    assert loader.decodes()["indexed"] > 0
    torch.testing.assert_close(after, before, rtol=0, atol=0)


def test_exact_is_the_default_and_scales_nothing(large):
    want, loader = load(large, PIPELINES["crop"], backend="native", num_workers=2)
    assert loader.decodes()["scaled"] == 0
    assert "decode_scale" not in loader.explain()
    got, _ = load(large, PIPELINES["crop"], backend="native", num_workers=2, decode_scale="exact")
    torch.testing.assert_close(got, want, rtol=0, atol=0)
    fast, _ = load(large, PIPELINES["crop"], backend="native", num_workers=2, decode_scale="fast")
    assert not torch.equal(fast, want)
    assert (fast.int() - want.int()).abs().float().mean() < 4  # the same pictures


def test_scales_never_make_a_box_smaller_than_its_target():
    crops = np.zeros((9, 10), np.int32)
    crops[:, 2:4] = [
        [64, 80],
        [63, 80],
        [64, 79],
        [32, 99],
        [31, 40],
        [16, 20],
        [15, 99],
        [640, 19],
        [8, 10],
    ]
    crops[:, 4:6] = 8, 10
    crops[:, crop.SCALE] = 1
    crop.shrink([crops], np.ones(9, bool))
    assert crops[:, crop.SCALE].tolist() == [8, 4, 4, 4, 2, 2, 1, 1, 1]
    crops[:, crop.SCALE] = 1
    crop.shrink([crops], np.arange(9) % 2 == 1)  # only what the native decoder takes
    assert crops[:, crop.SCALE].tolist() == [1, 4, 1, 4, 1, 2, 1, 1, 1]


def test_what_is_no_record_is_not_scaled(large):
    ops = [CenterCrop(60), Resize((24, 31))]
    want, _ = load(large, ops, backend="torch")
    got, loader = load(large, ops, backend="torch", decode_scale="fast")
    torch.testing.assert_close(got, want, rtol=0, atol=0)
    assert loader.explain().splitlines()[-1] == (
        "  decode_scale 'fast' changes nothing: op 2 (Resize) resizes after op 1 (CenterCrop); "
        "one resize at the start is what a record holds"
    )  # fmt: skip


def test_explain_says_it(large):
    ours = fastload.DataLoader(fastload.open(large, PIPELINES["crop"]), decode_scale="fast")
    line = (
        "  decode_scale 'fast': JPEGs at 1/2, 1/4 or 1/8 where the crop is that much larger "
        "than its target"
    )
    assert line in ours.explain().splitlines()
    theirs = fastload.DataLoader([1, 2, 3], decode_scale="fast")
    assert theirs.explain().splitlines()[-1] == "  decode_scale 'fast' changes nothing there"


@pytest.mark.parametrize("value", ["quick", None, 2])
def test_other_values_are_refused(large, value):
    with pytest.raises(UsageError) as caught:
        fastload.DataLoader(fastload.open(large, PIPELINES["crop"]), decode_scale=value)
    assert str(caught.value) == f"DataLoader: decode_scale is {value!r}, want 'exact' or 'fast'"


def test_a_broken_file_is_named(large, tmp_path):
    (tmp_path / "a").mkdir()
    whole = encode("4:2:0", np.full((200, 310, 3), 90, np.uint8))
    path = tmp_path / "a" / "x.jpg"
    path.write_bytes(whole[: len(whole) // 2])
    for backend in ("native", "torch"):
        with pytest.raises(fastload.SampleError) as caught:
            load(str(tmp_path), PIPELINES["crop"], backend=backend, decode_scale="fast")
        assert str(caught.value).startswith(
            f"{path}, sample 0: cannot be decoded (image file is truncated"
        )


def test_pixels_given_for_a_crop_have_its_scale(tmp_path):
    (tmp_path / "x.jpg").write_bytes(encode("4:2:0", np.zeros((30, 41, 3), np.uint8)))
    pool = _native.Pool(0)
    job = pool.fetch(
        _native.Files([str(tmp_path / "x.jpg")], False), *(np.array([v]) for v in (0, 0, -1)), None
    )
    job.wait_fetched()
    with pytest.raises(ValueError) as caught:
        job.set_pixels(0, np.zeros((15, 20, 3), np.uint8), 2)
    assert (
        str(caught.value)
        == "Job.set_pixels: pixels: size (got 15x20, want 15x21, 1/2 of the image)"
    )
    with pytest.raises(ValueError) as caught:
        job.set_pixels(0, np.zeros((15, 21, 3), np.uint8), 3)
    assert str(caught.value) == "Job.set_pixels: scale (got 3, want 1, 2, 4 or 8)"
    job.set_pixels(0, np.zeros((15, 21, 3), np.uint8), 2)
    crops, out = (
        np.array([[0, 0, 30, 41, 4, 5, 0, 0, 0, 4]], np.int32),
        np.zeros((1, 4, 5, 3), np.uint8),
    )
    with pytest.raises(ValueError) as caught:
        job.run([picture(crops, "bilinear", None, out, 4, 5, True)])
    assert (
        str(caught.value)
        == "Job.run: crops[0]: scale (got 4, want 2, that of the pixels given for it)"
    )
