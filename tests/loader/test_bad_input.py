"""Files as they are in the world: each is decoded as PIL decodes it, or named in one clear
message.
"""

import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload.transforms import CenterCrop, RandomResizedCrop, Resize

WORKERS = (0, 2)


def picture(mode: str, size: tuple[int, int], kind: str) -> bytes:
    """An image of width, height `size` in PIL mode `mode`."""
    width, height = size
    ramp = np.linspace(0, 255, width * height * 4).reshape(height, width, 4).astype(np.uint8)
    image = Image.fromarray(ramp, "RGBA").convert("RGB")
    image = (
        Image.fromarray(ramp[..., 0].astype(np.uint16) * 257)
        if mode == "I;16"
        else image.convert(mode)
    )
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


GOOD = {
    "png named jpeg": ("x.JPEG", picture("RGB", (31, 20), "PNG")),
    "palette png": ("x.png", picture("P", (31, 20), "PNG")),
    "png with alpha": ("x.png", picture("RGBA", (31, 20), "PNG")),
    "16-bit png": ("x.png", picture("I;16", (31, 20), "PNG")),
    "cmyk jpeg": ("x.jpg", picture("CMYK", (31, 20), "JPEG")),
    "grey jpeg": ("x.jpg", picture("L", (31, 20), "JPEG")),
    "bmp": ("x.bmp", picture("RGB", (31, 20), "BMP")),
    "webp": ("x.webp", picture("RGB", (31, 20), "WEBP")),
    "tiff": ("x.tif", picture("RGB", (31, 20), "TIFF")),
    "1x1": ("x.jpg", picture("RGB", (1, 1), "JPEG")),
    "1x5000": ("x.jpg", picture("RGB", (5000, 1), "JPEG")),
    "5000x1": ("x.png", picture("RGB", (1, 5000), "PNG")),
}
JPEG = picture("RGB", (310, 200), "JPEG")
BAD = {
    "zero bytes": (b"", "empty file"),
    "text": (b"not an image at all\n", "cannot be decoded (cannot identify image file"),
    "truncated": (JPEG[: len(JPEG) // 2], "cannot be decoded (image file is truncated"),
    "only a header": (JPEG[:300], "cannot be decoded ("),
    "random bytes": (JPEG[:2] + bytes(range(256)) * 4, "cannot be decoded ("),
}


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("kind", GOOD)
def test_every_format_decodes_as_pil_does(kind, workers, bad_folder):
    name, content = GOOD[kind]
    root = bad_folder({name: content})
    loader = fastload.DataLoader(
        fastload.open(root, [RandomResizedCrop((16, 24))]),
        2,
        num_workers=workers,
        seed=1,
        backend="native",
    )
    reference = fastload.DataLoader(
        fastload.open(root, [RandomResizedCrop((16, 24))]), 2, seed=1, backend="torch"
    )
    torch.testing.assert_close(next(iter(loader))[0], next(iter(reference))[0], rtol=0, atol=0)


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("kind", BAD)
def test_a_broken_file_is_named(kind, workers, backend, bad_folder):
    content, reason = BAD[kind]
    root = bad_folder({"1bad.jpg": content})
    loader = fastload.DataLoader(
        fastload.open(root, [RandomResizedCrop(16)]), 1, num_workers=workers, backend=backend
    )
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(fastload.SampleError) as caught:
        next(iterator)
    if kind == "zero bytes":
        reason = "cannot be decoded ("
    path = os.path.join(root, "a", "1bad.jpg")
    assert str(caught.value).startswith(f"{path}, sample 1: {reason}")
    assert str(caught.value).endswith("mend or remove the file")
    assert "\n" not in str(caught.value)
    assert caught.value.index == 1
    with pytest.raises(StopIteration):
        next(iterator)  # the epoch is over, nothing hangs


def test_eval_of_a_very_long_image_stays_small(bad_folder):
    root = bad_folder({"x.jpg": GOOD["1x5000"][1]})
    loader = fastload.DataLoader(
        fastload.open(root, [Resize(64), CenterCrop(56)]), 2, backend="native"
    )
    assert next(iter(loader))[0].shape == (2, 3, 56, 56)  # PIL would make 320,000 columns first


@pytest.mark.parametrize("workers", WORKERS)
def test_a_file_that_vanishes_is_named(workers, bad_folder):
    root = bad_folder({"1gone.jpg": JPEG})
    data = fastload.open(root, [RandomResizedCrop(16)])
    os.unlink(os.path.join(root, "a", "1gone.jpg"))
    loader = fastload.DataLoader(data, 2, num_workers=workers, backend="native")
    path = re.escape(os.path.join(root, "a", "1gone.jpg"))
    with pytest.raises(
        fastload.SampleError,
        match=rf"^{path}, sample 1: cannot be read \(No such file or directory\)",
    ):
        next(iter(loader))


@pytest.fixture
def tmp_path_of_all() -> Iterator[str]:
    """A folder that every user may read, which pytest's are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield folder


@pytest.mark.long
def test_a_file_without_permission_is_named(program, tmp_path_of_all):
    root = tmp_path_of_all
    for name in ("0good.jpg", "1secret.jpg"):
        Path(root, "a").mkdir(exist_ok=True)
        Path(root, "a", name).write_bytes(JPEG)
    os.chmod(os.path.join(root, "a", "1secret.jpg"), 0)
    code = f"""
import os
import fastload
from fastload.transforms import RandomResizedCrop
loader = fastload.DataLoader(fastload.open({root!r}, [RandomResizedCrop(16)]), 2, backend="native")
if os.getuid() == 0:
    os.seteuid(65534)  # root reads everything
try:
    next(iter(loader))
except fastload.SampleError as error:
    print(error)
"""
    done = program("-c", code)
    assert done.returncode == 0, done.stderr
    path = os.path.join(root, "a", "1secret.jpg")
    assert done.stdout.startswith(f"{path}, sample 1: cannot be read (Permission denied)")


def refused(path: object) -> str:
    with pytest.raises(fastload.SourceError) as caught:
        fastload.open(str(path))
    return str(caught.value)


def test_folders_that_are_no_data_set(tmp_path):
    assert refused(tmp_path / "no") == f"{tmp_path}/no: does not exist; check the path"
    assert (
        refused(tmp_path)
        == f"{tmp_path}: no class folders (got none, want ROOT/CLASS/IMAGE); put each class into "
        "its own folder"
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.jpg").write_bytes(JPEG)
    assert (
        refused(tmp_path)
        == f"{tmp_path}: no image in 1 of 2 classes (a); remove them or add images"
    )


def test_a_folder_around_a_data_set(tmp_path):
    (tmp_path / "all" / "train").mkdir(parents=True)
    (tmp_path / "all" / "train" / "index.arrow").write_bytes(b"")
    assert refused(tmp_path / "all") == (
        f"{tmp_path}/all: folder train is no class of images (got fastload's shards); give "
        f"{tmp_path}/all/train"
    )


def test_files_that_are_no_data_set(tmp_path):
    known = (
        "want fastload's shards, FFCV file (.beton), MosaicML Streaming's shards (MDS), LitData's "
        "chunks, TFRecords (.tfrecord), LMDB of images (data.mdb, .lmdb), Lance of images as "
        "blobs (_versions), WebDataset tars (.tar), wids' index of tars (.json), Parquet of images "
        "(.parquet), folder of classes"
    )
    (tmp_path / "file").write_text("x")
    assert (
        refused(tmp_path / "file")
        == f"{tmp_path}/file: is a file of no known format ({known}); give one of these"
    )
    (tmp_path / "x.zip").write_bytes(b"")
    assert (
        refused(tmp_path / "x.zip")
        == f"{tmp_path}/x.zip: training reads no zip ({known}); run fastload convert "
        f"{tmp_path}/x.zip DST, and open DST"
    )
    (tmp_path / "x.tar").write_bytes(b"")
    assert (
        refused(tmp_path / "x.tar")
        == f"{tmp_path}/x.tar: is no tar archive, or damaged at byte 0 of 0 (empty file); restore "
        "it"
    )


def test_a_sampler_beyond_the_data_set_is_refused(folder):
    loader = fastload.DataLoader(
        fastload.open(folder, [RandomResizedCrop(16)]), 2, sampler=[0, 40], num_workers=1
    )
    with pytest.raises(
        IndexError, match=r"^data set: index 40 is outside \(want -40 to 39\); check the sampler$"
    ):
        list(loader)


def test_transforms_that_have_no_op_are_refused(folder):
    with pytest.raises(fastload.PipelineError) as caught:
        fastload.open(folder, [RandomResizedCrop(16), len, abs])
    assert caught.value.problems == (
        "transform: len is not one that fastload knows",
        "transform: abs is not one that fastload knows",
    )
