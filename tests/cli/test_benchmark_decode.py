"""The decode benchmark: one real run on a few images, what it takes and leaves out, and its own
arithmetic.
"""

import dataclasses
import io
import json
import os
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from fastload import _native
from fastload.errors import BackendError, SourceError, UsageError
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop

decode = pytest.importorskip("benchmarks.decoding.decode")  # not in an installed package
decode_images = pytest.importorskip("benchmarks.decoding.images")
decode_passes = pytest.importorskip("benchmarks.decoding.passes")
variants = pytest.importorskip("benchmarks.decoding.variants")

SIZES = np.array([[37, 53], [500, 375], [64, 300]], np.int32)  # height, width; px
KNOWN_CROPS = [
    [7, 20, 29, 24, 24, 24, 0, 0, 0, 1],
    [47, 27, 334, 327, 24, 24, 0, 0, 1, 1],
    [4, 35, 57, 68, 24, 24, 0, 0, 1, 1],
]
FLIP = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 0], np.int32)


@pytest.fixture
def work(make_image, encode):
    jpegs = [encode(make_image(40 + number, 61, number), quality=90) for number in range(7)]
    return decode_images.workloads(decode_images.covered("here", jpegs), 24)[0]


@pytest.mark.long
def test_every_comparison_has_its_rows(command, folder, tmp_path):
    arguments = ["decode", "--data", folder, "--name", "few", "--size", "24", "--repetitions", "2"]
    done = command("-m", "benchmarks", *arguments, "--json", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (tmp_path / "decode.jsonl").read_text() == done.stdout
    assert all(
        r["median"] > 0 and r["data"]["images"] == 40 and r["settings"]["left_out"] == 0
        for r in rows
    )
    tables = Counter(r["settings"].get("table", "") for r in rows)
    # Random crops, scalar body, whole-image crops, tiny images, progressive copies, raw arrays
    main = 6 + 2 * len(variants.weaker_targets()) + 2 + 4 + 4 + 3 + 1
    assert tables == {
        "": main,
        "stages": 5,
        "layer stages": 5,
        "sampling": 3 * 4,
        "cores": min(2, len(os.sched_getaffinity(0))),
    }
    assert (
        sum(r["settings"]["images"] for r in rows if r["settings"].get("table") == "sampling")
        == 4 * 40
    )
    assert {r["settings"].get("sampling") for r in rows} == {None, "4:4:4", "4:2:0", "other"}
    for r in rows:
        same = [
            other
            for other in rows
            if other["settings"] == r["settings"] and other["variant"] == r["reference"]
        ]
        assert (r["ratio"] is None) == (same == [])
        assert not same or r["ratio"] == pytest.approx(r["median"] / same[0]["median"])
    # The median of two turns is their mean, so that the stages add up to the whole.
    assert sum(r["also"].get("percent_of_all", 0) for r in rows) == pytest.approx(200)


@pytest.mark.long
def test_options_that_make_no_sense_are_refused_together(command, folder):
    done = command(
        "-m",
        "benchmarks",
        "decode",
        "--data",
        folder,
        "--size",
        "0",
        "--step",
        "65536",
        "--repetitions",
        "0",
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "benchmarks: size is (0, 0), want whole numbers from 1 to 16384 px",
        "benchmarks: step: 65536 (want 0 to 65535 MCUs per entry); the default is 8",
        "benchmarks: repetitions: 0 (want 1 or more); 5 or more give a useful interval",
    ]


def test_an_unknown_option_is_a_usage_error(command, folder):
    done = command("-m", "benchmarks", "decode", "--data", folder, "--workers", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unrecognized arguments: --workers 2" in done.stderr


def test_the_crops_are_frozen():
    found = decode_images.draw((RandomResizedCrop(24), RandomHorizontalFlip()), SIZES)
    assert found.tolist() == KNOWN_CROPS
    more = decode_images.draw(
        (RandomResizedCrop(24), RandomHorizontalFlip()), np.concatenate([SIZES, SIZES])
    )
    # An image's crop hangs on its place and size only
    np.testing.assert_array_equal(more[:3], found)


def test_whole_image_crops_take_the_whole_image(work):
    whole = decode_images.workloads(work.images, 24)[2]
    assert whole.name == "whole-image crops"
    np.testing.assert_array_equal(whole.crops[:, :4], [[0, 0, *size] for size in work.images.sizes])


def test_what_the_own_decoder_does_not_cover_is_left_out(make_image, encode):
    pixels = make_image(40, 61, 0)
    grey = encode(pixels[..., 0])
    others = [encode(pixels, "PNG"), encode(pixels, progressive=True), encode(pixels)[:-50]]
    found = decode_images.covered(
        "here", [others[0], encode(pixels, subsampling=0), others[1], grey, others[2]]
    )
    assert (found.left_out, found.samplings, found.sizes.tolist()) == (
        3,
        ("4:4:4", "grey"),
        [[40, 61], [40, 61]],
    )
    assert found.jpegs[1] == grey
    with pytest.raises(SourceError) as error:
        decode_images.covered("here", others)
    assert (
        str(error.value)
        == "here: no image that fastload's own decoder covers (got 3 others); give baseline JPEGs"
    )


def test_of_many_images_every_nth_is_taken(folder, monkeypatch):
    whole = decode_images.read(folder)
    monkeypatch.setattr(decode_images, "MOST", 15)
    found = decode_images.read(folder)
    assert (whole.stride, found.stride) == (1, 3)
    assert found.jpegs == whole.jpegs[::3]


@pytest.mark.parametrize(
    ("height", "width", "small"), [(90, 200, (142, 64)), (300, 100, (64, 192)), (5, 9, (115, 64))]
)
def test_tiny_images_are_64_px_on_their_short_side(make_image, encode, height, width, small):
    with Image.open(
        io.BytesIO(decode_images.shrunk(encode(make_image(height, width, 1)[..., 0])))
    ) as image:
        assert (image.size, image.mode) == (small, "L")


def test_all_ways_make_the_same_pixels(work):
    expected = {}
    for name, way in variants.ways(work.name, 8).items():
        decode_passes.check_pixels(
            name, decode_passes.Passes(work, way, decode_passes.indexes(work, way.step)), expected
        )
    others = dataclasses.replace(
        work, crops=np.concatenate([work.crops[:3], work.crops[3:] ^ FLIP])
    )
    passes = decode_passes.Passes(
        others, decode_passes.Way("scan"), decode_passes.indexes(others, None)
    )
    with pytest.raises(BackendError) as error:
        decode_passes.check_pixels("scan", passes, expected)
    what = "4 of 7 images have other pixels than libjpeg-turbo's, the first is image 3"
    assert str(error.value) == f"decode: scan: {what}; report this"


def test_a_limit_on_instruction_sets_ends_with_the_pass(work):
    before = _native.targets()
    decode_passes.one_pass(
        work, decode_passes.Way("scan", limit=before[-1]), decode_passes.indexes(work, None)
    )
    assert _native.targets() == before
    with pytest.raises(ValueError, match="instruction set"):
        decode_passes.one_pass(
            work, decode_passes.Way("scan", limit="Z80"), decode_passes.indexes(work, None)
        )


def test_a_pass_rate_is_images_by_their_time():
    # 2 passes, 2 images; ns
    times = np.array([[[1, 1], [2, 0]], [[4, 4], [0, 0]]], np.int64) * 1_000_000
    assert decode_passes.rates(times).values == (500.0, 250.0)
    assert decode_passes.rates(times[..., 0]).values == pytest.approx((2000 / 3, 500.0))


def test_threads_share_the_images_and_each_is_done_once(work, monkeypatch):
    seen = []
    passes = decode_passes.Passes(
        work, decode_passes.Way("scan"), decode_passes.indexes(work, None)
    )
    monkeypatch.setattr(
        decode_passes, "time_one", lambda jpeg, *_: seen.append(work.images.jpegs.index(jpeg))
    )
    with decode_passes.pinned_threads(sorted(os.sched_getaffinity(0))[:2]) as threads:
        assert decode_passes.clock_rate(passes, threads, 2) > 0
    assert sorted(seen) == list(range(7))


def test_the_thread_is_pinned_and_let_go():
    before = os.sched_getaffinity(0)
    with decode_passes.pinned(max(before)):
        assert os.sched_getaffinity(0) == {max(before)}
    assert os.sched_getaffinity(0) == before


def test_settings_are_checked_before_data_are_read():
    with pytest.raises(UsageError, match=r"^repetitions: 0 "):
        decode.run("nowhere", "few", decode.Settings(repetitions=0), lambda _: None)
