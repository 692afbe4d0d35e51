"""Archives and folders as other programs leave them."""

import io
import os

import numpy as np
import pytest
from PIL import Image

from fastload.conversion import editing, filtering, job, subsets
from fastload.conversion.readers import from_iterable, open_reader
from fastload.errors import ConversionError, UsageError
from fastload.sources import open_source
from tests.conversion.archives import zip_of

APPLE = b"\0\5\x16\7" + bytes(80)  # what macOS puts beside a file


def test_a_zip_that_macos_made(tools, tmp_path):
    members = []
    for number, name in enumerate(("cat", "dog")):
        members += [
            (f"train/{name}/1.jpg", tools.encode(8, 13, number)),
            (f"__MACOSX/train/{name}/._1.jpg", APPLE),
        ]
    reader = open_reader(str(zip_of(tmp_path / "a.zip", *members)))
    assert (reader.keys, reader.classes) == (["cat/1", "dog/1"], ("cat", "dog"))


@pytest.mark.parametrize(
    ("names", "want"),
    [
        (("1", "10", "2"), ["1", "10", "2"]),
        (("01", "1"), ["01", "1"]),
        (("0", "1", "2"), ["0", "1", "2"]),
    ],
)
def test_folders_that_are_called_by_numbers_keep_names_and_order(tools, tmp_path, names, want):
    files = {f"{name}/a.jpg": tools.encode(8, 13, n) for n, name in enumerate(names)}
    tools.write_tree(tmp_path / "in", files)
    tools.convert(tmp_path / "in", tmp_path / "shards")
    for source in ("in", "shards"):
        tools.convert_to(tmp_path / source, tmp_path / f"{source}-out", "folder")
        made = open_source(tmp_path / f"{source}-out")
        assert (list(made.classes), made.labels.tolist()) == (want, [0, 1, 2][: len(names)])


def test_class_numbers_get_zeros_in_front(tools, tmp_path):
    files = {f"{n}.jpg": tools.encode(8, 13, n) for n in range(11)}
    tools.write_tree(tmp_path / "in", files)
    rows = "".join(f"{n}.jpg,{n}\n" for n in range(11))
    (tmp_path / "in" / "list.csv").write_text("path,label\n" + rows)
    tools.convert_to(tmp_path / "in" / "list.csv", tmp_path / "out", "folder")
    assert open_source(tmp_path / "out").classes == tuple(f"{n:02d}" for n in range(11))


@pytest.mark.parametrize(
    "edits", [editing.Edits(max_side=30), editing.Edits(quality=40), editing.Edits(apply_exif=True)]
)
def test_photographs_with_a_second_picture_stay_jpegs(edits):
    """Telephones write a preview behind the photograph, and Pillow has another name for these."""
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    image, out, exif = Image.fromarray(pixels), io.BytesIO(), Image.Exif()
    exif[0x0112] = 6
    image.save(out, "MPO", save_all=True, append_images=[image.resize((15, 10))], exif=exif)
    assert Image.open(out).format == "MPO"
    made = Image.open(io.BytesIO(editing.edit(out.getvalue(), edits)))
    assert made.format == "JPEG"
    sides = {30: (20, 30), None: (60, 40) if edits.apply_exif else (40, 60)}[edits.max_side]
    assert (made.height, made.width) == sides
    assert len(editing.edit(out.getvalue(), edits)) < len(out.getvalue())


def test_a_target_with_a_slash_behind_it(tools, small, tmp_path):
    tools.convert(small, f"{tmp_path}/deep/er/out//")
    assert len(open_source(tmp_path / "deep/er/out")) == 7


@pytest.mark.parametrize(("source", "target"), [("", "out"), ("small", "")])
def test_an_empty_path_is_told(tools, small, source, target):
    with pytest.raises(UsageError, match=r"(SRC|DST) is empty \(got '', want a path\); give one"):
        tools.convert(source and small, target)


@pytest.mark.parametrize("to", ["shards", "webdataset", "parquet"])
def test_classes_that_would_have_one_name(tools, tmp_path, to):
    for number, name in enumerate((b"a\xff", b"a\xfe")):
        os.makedirs(place := os.path.join(os.fsencode(tmp_path / "in"), name))
        with open(place + b"/0.jpg", "wb") as file:
            file.write(tools.encode(8, 13, number))
    with pytest.raises(ConversionError) as raised:
        tools.convert_to(tmp_path / "in", tmp_path / "out", to)
    assert str(raised.value) == (
        f"{tmp_path}/out: two classes would be called 'a\ufffd'; give other names with --labels"
    )
    assert not (tmp_path / "out").exists()


def test_a_list_of_classes_has_each_name_once(tools, tmp_path):
    source = from_iterable([("k", tools.encode(8, 13), 1)], ["a", "a"])
    with pytest.raises(ConversionError, match="2 classes are called 'a'; give other names with"):
        job.prepare_reader(source, str(tmp_path / "out"), job.Options(to="webdataset"))


@pytest.mark.parametrize("mode", ["CMYK", "F", "LAB", "I;16"])
def test_images_that_png_cannot_hold_are_made_smaller(mode):
    """A loader sees them in RGB; 16 bits of grey stay."""
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    image, out = Image.fromarray(pixels), io.BytesIO()
    if mode == "I;16":
        image = Image.fromarray(pixels[:, :, 0].astype(np.uint16) * 257)
    else:
        image = (image.convert("L") if mode == "F" else image).convert(mode)
    image.save(out, "TIFF")
    made = Image.open(io.BytesIO(editing.edit(out.getvalue(), editing.Edits(max_side=30))))
    assert (made.format, made.size) == ("PNG", (30, 20))
    assert made.mode == ("I;16" if mode == "I;16" else "RGB")


def test_another_edit_is_not_another_pillow(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out", workers=1)
    with pytest.raises(ConversionError) as raised:
        tools.convert(small, tmp_path / "out", resume=True, edits=editing.Edits(quality=50))
    assert str(raised.value) == (
        f"{tmp_path}/out: was made with other settings (edits); give the same again, or "
        "--overwrite to replace it"
    )


def test_shares_that_are_no_numbers(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out")
    index = subsets.open_index(str(tmp_path / "out"))
    with pytest.raises(UsageError, match=r"split: shares 0\.5, nan \(want some above 0"):
        subsets.drawn(index, [0.5, float("nan")], 0)


def test_conditions_do_not_count_beyond_64_bits(tools, small, tmp_path):
    """A size of many digits would be less than 0."""
    tools.convert(small, tmp_path / "out")
    condition = " * ".join(["size"] * 7) + " < 0"
    with pytest.raises(UsageError, match=r"cannot be computed \(overflow\); compare numbers"):
        filtering.run(str(tmp_path / "out"), str(tmp_path / "some"), condition)
    assert not (tmp_path / "some").exists()
