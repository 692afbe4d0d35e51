"""show: the loader's own pixels, every draw in words, and files that are whole or not there."""

import errno
import html
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import fastload
from fastload import recipes
from fastload.sheets.batch import Epoch, Run

from .show_helpers import unmixed, unnormalised


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize(
    ("recipe", "epoch", "seed"), [("hot", 0, 0), ("hot", 3, 7), ("mild", 1, 2**64 - 1)]
)
def test_a_batch_is_the_loaders_own_pixel_by_pixel(folder, recipe, epoch, seed, backend):
    wanted = unnormalised(folder, unmixed(recipe), epoch, seed, 9)
    made = Epoch(Run(folder, unmixed(recipe), seed, epoch, 9, backend))
    assert made.backend == backend
    for step in (4, 0, 2):  # in any order; the last has 4 images
        shown = made.show(made.step(step))
        assert len(shown) == len(wanted[step]) == (4 if step == 4 else 9)
        for one, pixels in zip(shown, wanted[step], strict=True):
            np.testing.assert_array_equal(np.asarray(one.image), pixels)


def test_samples_are_named_as_the_loader_orders_them(folder):
    data = fastload.open(folder, list(recipes.load("hot").ops()))
    made = Epoch(Run(folder, recipes.load("hot"), seed=5, epoch=2, batch_size=16))
    loader = fastload.DataLoader(data, 16, shuffle=True, seed=5)
    loader.set_epoch(2)
    for step, (_, labels) in enumerate(loader):
        shown = made.show(made.step(step))
        assert [one.label for one in shown] == labels.tolist()
        assert [(one.name, one.label) for one in shown] == [
            data.samples[one.sample] for one in shown
        ]
        assert [one.class_name for one in shown] == [Path(one.name).parent.name for one in shown]


def test_originals_are_small_and_show_the_box(encode, tmp_path):
    (tmp_path / "data" / "a").mkdir(parents=True)
    (tmp_path / "data" / "a" / "grey.png").write_bytes(
        encode(np.full((300, 400, 3), 128, np.uint8), "PNG")
    )
    made = Epoch(Run(str(tmp_path / "data"), unmixed("hot")))
    (shown,) = made.show(made.step(0))
    # Pillow's sizes are width, height
    assert (shown.size, shown.original.size) == ((300, 400), (176, 132))
    top, left, height, width = shown.log[0].record * 0.44  # 176 / 400
    coloured = np.argwhere((np.asarray(shown.original) != 128).any(-1))
    np.testing.assert_allclose(coloured.min(0), (top, left), atol=1)
    np.testing.assert_allclose(coloured.max(0) + 1, (top + height, left + width), atol=1.5)


def test_part_of_a_batch_has_the_batchs_draws(folder):
    made = Epoch(Run(folder, recipes.load("hot")))
    whole, few = made.show(made.step(1)), made.show(made.step(1), slice(2, 5))
    assert [str(line) for one in few for line in one.log] == [
        str(line) for one in whole[2:5] for line in one.log
    ]
    for one, same in zip(few, whole[2:5], strict=True):
        np.testing.assert_array_equal(np.asarray(one.image), np.asarray(same.image))


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_mixed_batch_is_shown_with_partners_and_shares(folder, backend):
    made = Epoch(Run(folder, recipes.load("hot"), seed=2, batch_size=9, backend=backend))
    work = made.step(1)
    shown, plain = (
        made.show(work),
        Epoch(Run(folder, unmixed("hot"), seed=2, batch_size=9)).show(work),
    )
    source = made.plan.source
    for one, line in [(one, one.log[-1]) for one in shown]:
        partner, _, _, _, _, own, other = line.record
        sample = int(work.samples[partner])
        class_name = source.classes[source.labels[sample]]
        of = f"sample {sample} ({class_name}, label {source.labels[sample]})"
        assert str(line) == f"MixUp: {own:.1%}, and {other:.1%} of {of}"
        both = (
            np.asarray(plain[shown.index(one)].image) * own
            + np.asarray(plain[partner].image) * other
        )
        assert np.abs(np.asarray(one.image) - both).max() <= 0.5 + 1e-3  # the nearest value
    assert line.as_dict()["stage"] == "MIX"


def test_show_writes_a_picture_of_every_image(run, folder, tmp_path):
    done = run(
        "show",
        folder,
        "-o",
        str(tmp_path / "sheet.png"),
        "--epoch",
        "2",
        "--step",
        "2",
        "--json",
        str(tmp_path / "facts"),
    )
    assert done.exception is None
    assert (
        done.stdout
        == f"{tmp_path}/sheet.png: the 8 images of batch 2, epoch 2, by the native backend\n"
    )
    facts = json.loads((tmp_path / "facts").read_text())
    assert (
        facts["epoch"],
        facts["step"],
        facts["batch_size"],
        facts["images"],
        len(facts["samples"]),
    ) == (2, 2, 16, 8, 8)
    assert [line["op"] for line in facts["samples"][0]["log"]] == [
        "RandomResizedCrop", "RandomHorizontalFlip", "RandAugment", "ColOut", "MixUp",
    ]  # fmt: skip
    made = Epoch(Run(folder, recipes.load("hot"), epoch=2))
    with Image.open(tmp_path / "sheet.png") as drawn:
        pixels = np.asarray(drawn.convert("RGB"))
    for one in made.show(made.step(2)):
        assert holds(pixels, np.asarray(one.image))
    assert sorted(os.listdir(tmp_path)) == ["facts", "sheet.png"]


def holds(sheet_pixels: np.ndarray, part: np.ndarray) -> bool:
    """Whether `part` lies somewhere in the sheet, pixel by pixel."""
    height, width = part.shape[:2]
    corner = (sheet_pixels[: -height + 1, : -width + 1] == part[0, 0]).all(-1) & (
        sheet_pixels[height - 1 :, width - 1 :] == part[-1, -1]
    ).all(-1)
    return any(
        (sheet_pixels[y : y + height, x : x + width] == part).all() for y, x in np.argwhere(corner)
    )


def test_html_stands_alone_and_escapes_names(run, make_image, encode, tmp_path):
    name = "<script>alert('&') .jpg"
    (tmp_path / "data" / "<b>").mkdir(parents=True)
    (tmp_path / "data" / "<b>" / name).write_bytes(encode(make_image(40, 60, 1)))
    done = run("show", str(tmp_path / "data"), "-o", str(tmp_path / "sheet.HTML"))
    assert done.exception is None
    text = (tmp_path / "sheet.HTML").read_text()
    assert text.count('src="data:image/png;base64,') == text.count("<img ") == 2
    assert [
        found for found in ("<script", "<b>", "http://", "https://", "<link") if found in text
    ] == []
    assert html.escape(name) in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["show", "DATA", "-o", "OUT/a.png", "--recipe", "spicy"],
         ("recipe: 'spicy' is unknown (want baseline, mild, medium, hot, nvidia-baseline, timm-a1, "
          "timm-a2, timm-a3, pytorch-blog, "
          "ffcv-rn50 or a .toml file); see fastload recipes list")),
        (["show", "OUT", "-o", "OUT/a.png"], ("OUT: no class folders (got none, want "
                                             "ROOT/CLASS/IMAGE); put each class into its own "
                                             "folder")),
        (["show", "DATA", "-o", "OUT/a.jpg"], ("OUT/a.jpg: ends in '.jpg', want .png or .html; "
                                              "give another name to --output")),
        (["show", "DATA", "-o", "OUT/no/a.png"], ("OUT/no/a.png: folder OUT/no does not exist; "
                                                 "make it, or give another name to --output")),
        (["show", "DATA", "-o", "OUT/a.png", "--step", "3"], ("show: --step is 3, want 0 to 2 (40 "
                                                             "images in batches of 16)")),
        (["show", "DATA", "-o", "OUT/a.png", "--epoch", "4294967296"], ("show: --epoch is "
                                                                       "4294967296, want 0 to "
                                                                       "2**32 - 1")),
        (["show", "DATA", "-o", "OUT/a", "--epoch", "-1", "--rank", "1", "--step", "-2", "--images",
        "0", "--batch-size", "0",
          "--seed", "-1", "--backend", "dali-own"],
         ("show: --epoch is -1, want 0 to 2**32 - 1\nshow: --seed is -1, want 0 to 2**64 - "
          "1\nshow: --batch-size is 0, want 1 or more\n"
         "show: --backend is 'dali-own', want auto or native or torch or ffcv or dali\nshow: "
         "--step is -2, want 0 or more\n"
         "show: --rank is 1, want 0; batches of other ranks are not written yet\nshow: --images is "
         "0, want 1 to 256\n"
         "OUT/a: ends in '', want .png or .html; give another name to --output")),
        (["replay", "DATA", "--sample", "40"], ("replay: --sample is 40, want 0 to 39 (DATA has 40 "
                                               "images)")),
        (["replay", "DATA", "--sample", "-1"], ("replay: --sample is -1, want 0 to 39 (DATA has 40 "
                                               "images)")),
        (["replay", "DATA", "--sample", "0", "--epoch", "-1"], ("replay: --epoch is -1, want 0 to "
                                                               "2**32 - 1")),
        (["replay", "DATA", "--sample", "0", "-o", "OUT/a.gif"],
         "OUT/a.gif: ends in '.gif', want .png or .html; give another name to --output"),
    ],
)  # fmt: skip
def test_mistakes_in_one_line_each_and_nothing_written(run, folder, tmp_path, arguments, text):
    (tmp_path / "out").mkdir()

    def filled(words: str) -> str:
        return words.replace("DATA", folder).replace("OUT", str(tmp_path / "out"))

    done = run(*map(filled, arguments))
    assert isinstance(done.exception, fastload.FastloadError)
    assert str(done.exception) == filled(text)
    assert os.listdir(tmp_path / "out") == []


def test_a_bad_image_is_named(run, bad_folder, tmp_path):
    data = bad_folder({"torn.jpg": b"\xff\xd8\xff"})
    done = run("show", data, "-o", str(tmp_path / "a.png"))
    assert isinstance(done.exception, fastload.FastloadError)
    assert str(done.exception).startswith(f"{data}/a/torn.jpg, sample 1: ")
    assert not (tmp_path / "a.png").exists()


def test_a_write_that_fails_leaves_the_old_sheet(run, folder, tmp_path, monkeypatch):
    out = tmp_path / "out" / "a.png"
    out.parent.mkdir()
    out.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = run("show", folder, "-o", str(out), "--images", "1")
    assert (
        str(done.exception)
        == f"{out}: cannot be written (No space left on device); give another file to --output"
    )
    assert {path.name: path.read_bytes() for path in out.parent.iterdir()} == {"a.png": b"old"}
