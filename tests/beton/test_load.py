"""FFCV files in the loader: the same pixels as the images in a folder, with the seek index and
without.
"""

import pickle

import numpy as np
import pytest
import torch

import fastload
from fastload.errors import SourceError
from fastload.sources import beton as source
from fastload.transforms import (
    ColOut,
    Normalize,
    RandAugment,
    RandomHorizontalFlip,
    RandomResizedCrop,
    ToImage,
    ToTensor,
)
from tests.beton.conftest import FIELDS
from tests.beton.layout import Writer

OPS = [
    RandomResizedCrop(24),
    RandomHorizontalFlip(),
    RandAugment(),
    ToTensor(),
    Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
]


def batches(path, ops=OPS, **options):
    loader = fastload.DataLoader(fastload.open(path, ops), 5, shuffle=True, seed=3, **options)
    return loader, [[part.clone() for part in batch] for batch in loader]


@pytest.fixture
def folder(rows, tmp_path, encode):
    """The same images as files; raw ones as PNG."""
    for number, (image, label, *_) in enumerate(rows):
        path = (
            tmp_path
            / "folder"
            / f"{label:04d}"
            / f"{number:08d}.{'png' if image[0] == 'raw' else 'jpg'}"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image[1] if image[0] == "jpg" else encode(image[1], "PNG"))
    return tmp_path / "folder"


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "ops",
    [OPS, [RandomResizedCrop(24), ToImage(channels_last=True), ColOut(0.2, 0.1)]],
    ids=["float", "uint8"],
)
def test_native_and_reference_agree(beton, workers, ops):
    loader, native = batches(beton, ops, num_workers=workers)
    _, reference = batches(beton, ops, backend="torch")
    assert "backend native" in loader.explain()
    for (images, labels), (want, want_labels) in zip(native, reference, strict=True):
        assert torch.equal(images, want)
        assert torch.equal(labels, want_labels)
    assert sum(loader.decodes().values()) == 6  # the other half is pixels already


def test_one_sample_is_a_pil_image(beton, rows):
    data = fastload.open(beton)
    assert (
        [data[number][1] for number in range(12)]
        == [row[1] for row in rows]
        == data.pipeline.source.labels.tolist()
    )
    np.testing.assert_array_equal(np.asarray(data[3][0]), rows[3][0][1])
    assert data.pipeline.source.classes == ("0", "1", "2", "3", "4")


def test_crops_of_raw_images_at_every_edge(tmp_path, make_image):
    pixels = [make_image(31, 47, number) for number in range(3)]
    path = tmp_path / "raw.beton"
    path.write_bytes(
        Writer(
            [("image", "image"), ("label", "int")], [[("raw", each), 0] for each in pixels]
        ).bytes()
    )
    ops = [RandomResizedCrop((17, 13), scale=(0.01, 1.0)), ToImage()]
    for _ in range(20):
        (_, native), (_, reference) = (
            batches(str(path), ops),
            batches(str(path), ops, backend="torch"),
        )
        assert all(torch.equal(a, b) for (a, _), (b, _) in zip(native, reference, strict=True))


def test_only_jpegs_are_decoded_at_a_smaller_scale(tmp_path, make_image, encode):
    pixels = make_image(200, 300, 3)
    cells = [("jpg", encode(pixels), 200, 300), ("raw", pixels)] * 3
    path = tmp_path / "large.beton"
    path.write_bytes(
        Writer([("image", "image"), ("label", "int")], [[cell, 0] for cell in cells]).bytes()
    )
    ops = [RandomResizedCrop(20, scale=(0.5, 1.0)), ToImage()]
    loader, native = batches(str(path), ops, decode_scale="fast")
    _, reference = batches(str(path), ops, decode_scale="fast", backend="torch")
    assert loader.decodes()["scaled"] == 3
    assert all(torch.equal(a, b) for (a, _), (b, _) in zip(native, reference, strict=True))


def test_a_seek_index_beside_the_file_is_found(beton):
    from fastload.conversion import indexing

    before, plain = batches(beton)
    assert before.decodes()["indexed"] == 0
    summary = indexing.run(indexing.prepare(beton), count=1)
    assert (summary.kind, summary.where, summary.seek.indexed) == ("file", f"{beton}.seek", 6)
    after, indexed = batches(beton)
    assert after.decodes()["indexed"] == 6
    assert all(torch.equal(a[0], b[0]) for a, b in zip(plain, indexed, strict=True))


def test_other_fields_can_be_named(tmp_path, rows):
    path = tmp_path / "two.beton"
    fields = [("small", "image"), ("large", "image"), ("a", "int"), ("b", "int")]
    path.write_bytes(Writer(fields, [[row[0], rows[0][0], 7, row[1]] for row in rows]).bytes())
    assert source.load(str(path)).chosen == ("small", "a")
    found = source.load(str(path), ("large", "b"))
    assert found.labels.tolist() == [row[1] for row in rows]
    assert pickle.loads(pickle.dumps(found)).chosen == ("large", "b")
    assert fastload.open(path, fields=("large", "b"))[5][0].size == (61, 40)
    with pytest.raises(SourceError) as caught:
        fastload.open(path, fields=("a", "b"))
    assert str(caught.value) == (
        f"{path}: has no image field 'a' (has 'small' (image), 'large' (image), 'a' (int), 'b' "
        "(int)); "
        "name the fields with images and labels: fields=(IMAGE, LABEL)"
    )


def test_a_file_that_is_replaced_meanwhile_is_not_mixed_up(beton, rows, tmp_path):
    pickled = pickle.dumps(source.load(beton))
    (tmp_path / "all.beton").write_bytes(Writer(FIELDS, rows[::-1]).bytes())
    with pytest.raises(SourceError, match="was replaced while in use"):
        pickle.loads(pickled)


def test_a_file_that_is_cut_off_meanwhile(tmp_path, make_image):
    path = tmp_path / "raw.beton"
    pixels = make_image(300, 200, 1)
    path.write_bytes(
        Writer([("image", "image"), ("label", "int")], [[("raw", pixels), 0]] * 2).bytes()
    )
    loader = fastload.DataLoader(fastload.open(path, OPS), 2)
    with path.open("r+b") as file:
        file.truncate(70_000)
    with pytest.raises(fastload.SampleError) as caught:
        next(iter(loader))
    assert str(caught.value).startswith(f"{path}[0], sample 0: cannot be read (")
