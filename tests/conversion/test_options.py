"""What the options do to images and samples, and the commands as a user runs them."""

import io
import json
import os

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from fastload.cli import build
from fastload.conversion import editing, forecast, job, seek_writer
from fastload.conversion.readers import Choice, open_reader
from fastload.errors import ConversionError, FastloadError, UsageError
from fastload.sources import open_source
from tests.conversion import kill_release


def run(*arguments):
    return CliRunner().invoke(build(), [str(argument) for argument in arguments])


def decoded(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def turned(height, width, orientation, kind="JPEG"):
    """An image whose EXIF says that it lies otherwise."""
    pixels = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    out = io.BytesIO()
    Image.fromarray(pixels).save(
        out, kind, exif=exif, comment="a comment"
    ) if kind == "JPEG" else Image.fromarray(pixels).save(out, kind, exif=exif)
    return out.getvalue()


def test_nothing_is_changed_without_options(tools):
    data = tools.encode(40, 60)
    assert editing.edit(data, editing.Edits()) is data
    assert editing.edit(data, editing.Edits(max_side=60, apply_exif=True)) == data


@pytest.mark.parametrize(
    ("height", "width", "side", "want"),
    [(40, 60, 30, (20, 30)), (61, 40, 30, (30, 20)), (10, 1000, 40, (1, 40))],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_max_side(tools, height, width, side, want, kind):
    made = Image.open(
        io.BytesIO(
            editing.edit(tools.encode(height, width, format=kind), editing.Edits(max_side=side))
        )
    )
    assert ((made.height, made.width), made.format) == (want, kind)


def test_sampling_and_colour_profile_stay(tools):
    data = tools.encode(40, 60, subsampling=0, quality=95, icc_profile=b"profile")
    made = editing.edit(data, editing.Edits(max_side=30, quality=80))
    assert Image.open(io.BytesIO(made)).info["icc_profile"] == b"profile"
    from fastload.conversion.samples import headers

    assert headers(made).format == "jpeg 4:4:4"


def test_quality_never_makes_an_image_larger(tools):
    data = tools.encode(40, 60, quality=30)
    assert editing.edit(data, editing.Edits(quality=95)) == data
    assert len(editing.edit(tools.encode(40, 60, quality=95), editing.Edits(quality=30))) < len(
        tools.encode(40, 60, quality=95)
    )


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_is_applied_as_pillow_does(orientation):
    from PIL import ImageOps

    data = turned(16, 24, orientation, "PNG")
    made = editing.edit(data, editing.Edits(apply_exif=True))
    np.testing.assert_array_equal(
        decoded(made),
        np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")),
    )
    assert editing.orientation(made) == 1
    assert (made == data) == (orientation == 1)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_metadata_goes_and_pixels_stay(kind):
    data = turned(16, 24, 6, kind)
    made = editing.strip(data)
    assert len(made) < len(data)
    assert not Image.open(io.BytesIO(made)).getexif()
    assert b"a comment" not in made
    np.testing.assert_array_equal(decoded(made), decoded(data))
    assert editing.strip(made) == made


def test_strip_leaves_what_it_does_not_understand(tools):
    data = turned(16, 24, 6)
    for length in range(0, len(data), 3):
        cut = data[:length]
        assert len(editing.strip(cut)) <= length
    assert editing.strip(b"GIF89a...") == b"GIF89a..."
    assert editing.strip(b"\xff\xd8\xff\xe1\x00\x00rest") == b"\xff\xd8\xff\xe1\x00\x00rest"


def test_edits_that_make_no_sense():
    for given, text in (
        ({"max_side": 0}, "max side: got 0 (want 1 to 65500 px); give another"),
        ({"quality": 101}, "quality: got 101 (want 1 to 100); give another"),
    ):
        with pytest.raises(UsageError) as refused:
            editing.Edits(**given)
        assert str(refused.value) == text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"mode": "raw"},
            "mode: raw pixels are for beton (got shards); convert to NAME.beton, or leave it out",
        ),
        (
            {"to": "folder", "seek_step": seek_writer.COEFFICIENTS},
            "layer: coefficients are for shards (got folder); convert to shards, or leave it out",
        ),
    ],
)
def test_what_only_another_format_has_is_refused(options, text):
    with pytest.raises(UsageError) as caught:
        job.Options(**options)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        (
            {"root": "x"},
            (
                "root: does not go with folder of classes (got {}, want a list of files); leave "
                "--root out"
            ),
        ),
        (
            {"masks": "x", "format": "folder"},
            "masks: do not go with folder of classes (got {}); leave --masks or --from out",
        ),
    ],
)
def test_what_only_another_reader_takes_is_refused(small, choice, text):
    with pytest.raises(UsageError) as caught:
        open_reader(str(small), Choice(**choice))
    assert str(caught.value) == text.format(small)


def test_bad_images_are_substituted_by_their_class(tools, small, tmp_path):
    (small / "cat" / "3.JPEG").write_bytes(b"no image")
    for workers in (1, 3):
        summary = tools.convert_to(
            small,
            tmp_path / f"w{workers}",
            "shards",
            on_error="substitute",
            workers=workers,
            shard_bytes=4000,
        )
    assert tools.contents(tmp_path / "w1") == tools.contents(tmp_path / "w3")
    rows = {key: (data, label) for key, data, label in tools.samples(tmp_path / "w1")}
    assert rows["cat/3"] == rows["cat/5"]
    assert len(rows) == summary.samples == 7
    (bad,) = summary.bad
    assert (
        bad.reason
        == "is no image that Pillow knows; mend or remove the file; cat/5 stands in for it"
    )
    for path in small.glob("cat/*"):
        path.write_bytes(b"no image")
    with pytest.raises(ConversionError) as refused:
        tools.convert_to(small, tmp_path / "out", "shards", on_error="substitute")
    first, second, *_ = str(refused.value).splitlines()
    assert first == f"{tmp_path}/out: 3 of 7 samples are bad; mend them, or pass --on-error skip"
    assert second.endswith(
        "is no image that Pillow knows; mend or remove the file; no other image of its class can "
        "stand in for it"
    )


def test_a_forecast_is_near_and_writes_nothing(tools, small, tmp_path):
    prepared = job.prepare(str(small), str(tmp_path / "out"), job.Options(workers=1))
    said = forecast.forecast(prepared)
    assert os.listdir(tmp_path) == ["small"]
    size = sum(
        path.stat().st_size
        for path in (tools.convert(small, tmp_path / "out") and tmp_path / "out").iterdir()
    )
    assert (said.looked_at, said.bad) == (7, 0)
    assert 0.5 * size < said.bytes < 80_000 + 2 * size
    assert said.seconds == pytest.approx(7 / said.images_per_s)


def test_commands(tools, small, tmp_path):
    said = json.loads(run("convert", small, tmp_path / "a", "--dry-run", "--json", "-").stdout)
    assert (said["samples"], said["forecast"]["looked_at"]) == (7, 7)
    part = ("--to", "webdataset", "--max-side", 12, "--subset", 5)
    assert run("convert", small, tmp_path / "w", *part).exit_code == 0
    assert len(open_reader(str(tmp_path / "w"))) == 5
    assert run("convert", tmp_path / "w", tmp_path / "s", "--shuffle", 3).exit_code == 0
    assert run("convert", small, tmp_path / "b.beton", "--max-side", "12").exit_code == 0
    for args, text in (
        (("filter", tmp_path / "s", tmp_path / "f", "--where", "width > 0"), "filtered"),
        (("split", tmp_path / "s", tmp_path / "p", "--parts", "train=0.6,val=0.4"), "split"),
        (("merge", tmp_path / "p" / "train", tmp_path / "p" / "val", tmp_path / "m"), "merged"),
        (("repair", tmp_path / "s", tmp_path / "w"), "repaired"),
        (("verify", tmp_path / "m"), "all intact"),
        (("verify", tmp_path / "w"), "all intact"),
    ):
        done = run(*args)
        assert (done.exit_code, text in done.stdout) == (0, True), done.output
    assert tools.samples(tmp_path / "m") == tools.samples(tmp_path / "s")


def test_texts_of_what_commands_refuse(tmp_path):
    for args, text in (
        (
            ("filter", tmp_path / "s", tmp_path / "q"),
            "filter: nothing says which samples stay; give --where or --unique",
        ),
        (
            ("split", tmp_path / "s", tmp_path / "q", "--parts", "a=x"),
            "split: 'a=x' is no name with a share; write it like train=0.9,val=0.1",
        ),
        (
            ("split", tmp_path / "s", tmp_path / "q", "--parts", "../a=1"),
            (
                "split: '../a=1' needs a different plain name for each part; write it like "
                "train=0.9,val=0.1"
            ),
        ),
        (
            ("merge", tmp_path / "s", tmp_path / "q"),
            (
                "merge: got 2 paths, want at least two data sets and a folder for the result; give "
                "them"
            ),
        ),
    ):
        refused = run(*args).exception
        assert isinstance(refused, FastloadError)
        assert str(refused) == text


def test_options_are_in_the_journal_and_edits_reach_every_format(tools, small, tmp_path):
    for to in ("shards", "webdataset", "parquet", "folder"):
        tools.convert_to(small, tmp_path / to, to, edits=editing.Edits(max_side=10))
    assert (
        len(
            {
                tuple(tools.samples(tmp_path / to))
                for to in ("shards", "webdataset", "parquet", "folder")
            }
        )
        == 1
    )
    sizes = open_source(tmp_path / "shards").index
    assert int(max(sizes.columns["height"].all().max(), sizes.columns["width"].all().max())) == 10


def test_a_slice_of_the_release_check(tmp_path):
    found = kill_release.check(20, tmp_path, seed=7)
    assert found["resumed"] > 0
    assert found["died"] > 5


def test_an_interrupt_says_how_to_go_on(small, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "run", interrupted)
    done = run("convert", small, tmp_path / "out")
    assert (done.exit_code, done.stderr) == (
        130,
        "interrupted; what is done is kept: go on with --resume\n",
    )
