"""The pictures of `fastload demo`: the same on every run, and like ImageNet's in what a decoder
sees.
"""

import dataclasses
import io

import numpy as np
import pytest
from PIL import Image

from fastload import demo_images
from fastload.demo_images import files, one_image
from fastload.demo_images.files import Info

SEED = 5

FACTORS = {
    "grey": (0x11,),
    "4:4:4": (0x11,) * 3,
    "4:2:2": (0x21, 0x11, 0x11),
    "4:2:0": (0x22, 0x11, 0x11),
}
SOF0, DHT, SOS, DRI = 0xC0, 0xC4, 0xDA, 0xDD
STANDARD_TABLES = 416  # bytes of the four tables of annex K; two of them for grey


@pytest.fixture(scope="module")
def sample() -> list[tuple[bytes, Info]]:
    return [one_image(index, SEED) for index in range(80)]


def segments(jpeg: bytes) -> dict[int, bytes]:
    """Payload of every marker up to the scan; equal markers are joined."""
    found: dict[int, bytes] = {}
    at = 2
    while SOS not in found:
        marker, size = jpeg[at + 1], int.from_bytes(jpeg[at + 2 : at + 4], "big")
        found[marker] = found.get(marker, b"") + jpeg[at + 4 : at + 2 + size]
        at += 2 + size
    return found


def test_an_image_depends_on_index_and_seed_alone(sample):
    assert one_image(7, SEED) == sample[7]
    assert one_image(7, SEED + 1)[0] != sample[7][0]
    assert len({jpeg for jpeg, _ in sample}) == len(sample)
    assert [info.label for _, info in sample] == [index % 20 for index in range(80)]


def test_the_bytes_are_what_the_info_says(sample):
    for jpeg, info in sample:
        parts = segments(jpeg)
        frame, components = parts[SOF0], parts[SOF0][5]  # SOF0: baseline, never progressive
        assert (int.from_bytes(frame[1:3], "big"), int.from_bytes(frame[3:5], "big")) == (
            info.height,
            info.width,
        )
        assert tuple(frame[7 + 3 * c] for c in range(components)) == FACTORS[info.sampling]
        assert DRI not in parts
        assert info.optimized == (len(parts[DHT]) not in {STANDARD_TABLES, STANDARD_TABLES // 2})
        with Image.open(io.BytesIO(jpeg)) as image:
            image.load()
            assert (image.height, image.width) == (info.height, info.width)
            assert image.mode == ("L" if info.sampling == "grey" else "RGB")


def test_sizes_and_bytes_follow_imagenet(
    sample,
):  # 1,000 real files: 500 x 375 and 107 KB at the median, 4.6 bits per pixel
    sizes = np.array([(info.height, info.width) for _, info in sample])
    lengths = np.array([len(jpeg) for jpeg, _ in sample])
    bits = 8 * lengths / sizes.prod(axis=1)
    assert 160_000 <= np.median(sizes.prod(axis=1)) <= 190_000
    assert 85_000 <= np.median(lengths) <= 130_000
    assert 4.0 <= bits.mean() <= 5.3
    assert 0.8 <= np.quantile(bits, 0.05) <= 1.6
    assert 7.0 <= np.quantile(bits, 0.95) <= 10.0
    assert 0.6 <= (sizes[:, 0] < sizes[:, 1]).mean() <= 0.8
    assert (sizes[:, 0] != sizes[:, 1]).mean() > 0.9


# Real files: 76.1 % 4:4:4, 20.3 % 4:2:0, 1.2 % 4:2:2, 2.3 % grey, 97.9 % optimised, 67 % quality 96
def test_kinds_follow_imagenet():
    infos = [files.draw_info(files.random(SEED, index), 0) for index in range(2000)]
    share = {kind: np.mean([info.sampling == kind for info in infos]) for kind in FACTORS}
    assert share == pytest.approx(
        {"4:4:4": 0.761, "4:2:0": 0.203, "4:2:2": 0.012, "grey": 0.023}, abs=0.03
    )
    assert min(share.values()) > 0
    assert np.mean([info.optimized for info in infos]) == pytest.approx(0.979, abs=0.01)
    assert np.mean([info.quality == 96 for info in infos]) == pytest.approx(0.68, abs=0.03)
    pixels = [info.height * info.width for info in infos]
    assert np.mean(pixels) == pytest.approx(201_700, rel=0.1)
    assert min(pixels) < 20_000
    assert 1_500_000 < max(pixels) <= 1800**2


def test_a_picture_too_dense_for_pillows_buffer_gets_standard_tables(monkeypatch):
    index = next(k for k in range(100) if files.draw_info(files.random(SEED, k), 0).optimized)
    encode = demo_images.encode

    def small_buffer(planes, info):
        if info.optimized:
            raise OSError("broken data stream when writing image file")
        return encode(planes, info)

    wanted = one_image(index, SEED)[1]
    monkeypatch.setattr(demo_images, "encode", small_buffer)
    jpeg, info = one_image(index, SEED)
    assert info == dataclasses.replace(wanted, optimized=False)
    assert len(segments(jpeg)[DHT]) == STANDARD_TABLES
