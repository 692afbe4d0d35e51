"""Writing FFCV files: from folders and shards, and back."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import fastload
from fastload import _native
from fastload.cli import convert as verb
from fastload.conversion.readers import open_reader
from fastload.errors import FastloadError
from fastload.sources import beton_file

APP = typer.Typer(pretty_exceptions_enable=False)
verb.register(APP)


@pytest.fixture
def images(tmp_path, make_image, encode):
    """A baseline, a progressive and a grey JPEG, a CMYK one, and a PNG."""
    from PIL import Image

    root = tmp_path / "in"
    (root / "cat").mkdir(parents=True)
    (root / "dog").mkdir()
    (root / "cat" / "0.jpg").write_bytes(encode(make_image(40, 61, 0)))
    (root / "cat" / "1.jpg").write_bytes(encode(make_image(33, 52, 1), progressive=True))
    (root / "cat" / "2.jpg").write_bytes(encode(make_image(45, 30, 2)[..., 0]))
    Image.fromarray(make_image(20, 30, 3)).convert("CMYK").save(root / "dog" / "3.jpg")
    (root / "dog" / "4.png").write_bytes(encode(make_image(50, 41, 4), "PNG"))
    return root


def run(*arguments):
    return CliRunner().invoke(APP, [str(argument) for argument in arguments])


def test_jpegs_keep_their_bytes_and_the_rest_its_pixels(images, tmp_path):
    done = run(images, tmp_path / "out.beton", "--json", "-")
    said = json.loads(done.stdout)
    assert (said["samples"], said["classes"], said["jpegs"], said["raw"], said["bad"]) == (
        5,
        2,
        3,
        2,
        [],
    )
    file, folder = beton_file.read(str(tmp_path / "out.beton")), fastload.open(images)
    assert file.names == ("image", "label")
    for number, path in enumerate(folder.samples):
        value = file.value("image", number)
        if number < 3:
            assert value == Path(path[0]).read_bytes()
        else:
            np.testing.assert_array_equal(value, np.asarray(folder[number][0]))
        assert file.value("label", number) == path[1]


def test_to_shards_and_back(images, tmp_path):
    assert run(images, tmp_path / "a.beton").exit_code == 0
    assert run(tmp_path / "a.beton", tmp_path / "shards").exit_code == 0
    assert run(tmp_path / "shards", tmp_path / "b.beton").exit_code == 0
    assert (tmp_path / "a.beton").read_bytes() == (tmp_path / "b.beton").read_bytes()
    first, second = fastload.open(tmp_path / "a.beton"), fastload.open(tmp_path / "shards")
    for number in range(5):
        np.testing.assert_array_equal(np.asarray(first[number][0]), np.asarray(second[number][0]))


def test_mode_raw_stores_pixels(images, tmp_path):
    run(images, tmp_path / "out.beton", "--mode", "raw")
    file, folder = beton_file.read(str(tmp_path / "out.beton")), fastload.open(images)
    for number in range(5):
        np.testing.assert_array_equal(file.value("image", number), np.asarray(folder[number][0]))


def test_pages_are_as_large_as_the_largest_image_needs(tmp_path, encode):
    root = tmp_path / "in" / "c"
    root.mkdir(parents=True)
    for number in range(3):
        (root / f"{number}.png").write_bytes(
            encode(np.full((2100, 1400, 3), number, np.uint8), "PNG")
        )
    run(tmp_path / "in", tmp_path / "out.beton")
    content = (tmp_path / "out.beton").read_bytes()
    page = int.from_bytes(content[4:8], "little")
    assert page == 16 << 20  # 8,820,000 bytes each
    file = beton_file.read(str(tmp_path / "out.beton"))
    starts = file.column(0)["data_ptr"]
    assert (starts // page == (starts + 8_820_000 - 1) // page).all()
    assert file.value("image", 2)[2099, 1399].tolist() == [2, 2, 2]


def test_bad_images_fail_it_or_are_left_out(images, tmp_path):
    (images / "cat" / "1.jpg").write_bytes(b"no image")
    done = run(images, tmp_path / "out.beton")
    assert isinstance(done.exception, FastloadError)
    assert str(done.exception) == (
        f"{tmp_path}/out.beton: 1 of 5 samples are bad; mend them, or pass --on-error skip\n"
        f"{images}/cat/1.jpg: is no image that Pillow knows; mend or remove the file"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    said = json.loads(
        run(images, tmp_path / "out.beton", "--on-error", "skip", "--json", "-").stdout
    )
    assert (said["samples"], said["bad"][0]["sample"]) == (4, 1)
    assert len(beton_file.read(str(tmp_path / "out.beton"))) == 4


def test_nothing_is_replaced_unasked(images, tmp_path):
    (tmp_path / "out.beton").write_text("mine")
    done = run(images, tmp_path / "out.beton")
    assert (
        str(done.exception)
        == f"{tmp_path}/out.beton: exists already; give another path, or --overwrite to replace it"
    )
    assert (tmp_path / "out.beton").read_text() == "mine"
    assert run(images, tmp_path / "out.beton", "--overwrite").exit_code == 0
    assert len(beton_file.read(str(tmp_path / "out.beton"))) == 5


def test_options_of_shards_are_refused(images, tmp_path):
    done = run(images, tmp_path / "out.beton", "--shard-size", "1M")
    assert (
        str(done.exception)
        == "convert: --shard-size is for shards, not for a .beton file; leave out"
    )
    done = run(images, tmp_path / "out.beton", "--layer", "coefficients")
    assert str(done.exception) == "convert: --layer is for shards, not for a .beton file; leave out"


def test_shuffled_as_shards_are(images, tmp_path):
    assert run(images, tmp_path / "out.beton", "--shuffle", 3).exit_code == 0
    assert run(images, tmp_path / "shards", "--shuffle", 3).exit_code == 0
    shards, plain = open_reader(str(tmp_path / "shards")), open_reader(str(images))
    order = [plain.keys.index(key) for key in shards.keys]
    assert order != sorted(order)
    file, folder = beton_file.read(str(tmp_path / "out.beton")), fastload.open(images)
    assert [file.value("label", row) for row in range(5)] == [
        folder.samples[number][1] for number in order
    ]
    jpegs = {row: number for row, number in enumerate(order) if number < 3}
    assert [file.value("image", row) for row in jpegs] == [
        Path(folder.samples[number][0]).read_bytes() for number in jpegs.values()
    ]


def test_transcoded(images, tmp_path):
    done = run(images, tmp_path / "out.beton", "--transcode", "--json", "-")
    assert json.loads(done.stdout)["transcoding"]["images"] == {"progressive": 1}
    file = beton_file.read(str(tmp_path / "out.beton"))
    before = (images / "cat" / "1.jpg").read_bytes()
    assert _native.jpeg_coding(before) == "progressive"
    assert _native.jpeg_coding(file.value("image", 1)) == "baseline"
    np.testing.assert_array_equal(_native.decode(file.value("image", 1)), _native.decode(before))


@pytest.mark.parametrize(
    "spoilt", ["cat/1.jpg", "dog/4.png"]
)  # a JPEG's bytes, and what would be pixels
def test_another_image_of_the_class_in_a_bad_ones_place(images, tmp_path, spoilt):
    (images / spoilt).write_bytes(b"no image")
    done = run(images, tmp_path / "out.beton", "--on-error", "substitute", "--json", "-")
    (bad,) = json.loads(done.stdout)["bad"]
    other = {"cat/1.jpg": "cat/2", "dog/4.png": "dog/3"}[spoilt]
    assert bad["name"] == str(images / spoilt)
    assert bad["reason"].endswith(f"; {other} stands in for it")
    file, row = beton_file.read(str(tmp_path / "out.beton")), int(spoilt[4])
    assert len(file) == 5
    np.testing.assert_array_equal(file.value("image", row), file.value("image", int(other[4])))
    assert [file.value("label", row) for row in range(5)] == [0, 0, 0, 1, 1]


def test_what_it_would_take(images, tmp_path):
    done = run(images, tmp_path / "out.beton", "--dry-run", "--json", "-")
    said = json.loads(done.stdout)["forecast"]
    run(images, tmp_path / "out.beton")
    file = beton_file.read(str(tmp_path / "out.beton"))
    values = [file.value("image", row) for row in range(5)]
    payloads = sum(
        value.nbytes if isinstance(value, np.ndarray) else len(value) for value in values
    )
    assert (said["looked_at"], said["bad"]) == (5, 0)
    assert payloads <= said["bytes"] <= payloads + 5 * 100  # and the rows
    assert said["images_per_s"] > 0
