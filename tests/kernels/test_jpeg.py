"""JPEG: whole decodes against Pillow's libjpeg-turbo, regions against whole decodes.

Always to the bit.
"""

import re
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from fastload import _native as native

from .helpers import SAMPLINGS, fetch, files, jpeg, picture, pillow, scene

SHAPES = [(1, 1), (3, 17), (8, 8), (16, 33), (61, 47), (47, 130), (150, 101)]


def sampled(sampling, height, width, progressive):
    if sampling in ("4:4:4", "4:2:2", "4:2:0"):
        return jpeg(scene(height, width), sampling, progressive=progressive)
    if progressive:
        return planes(scene(height, width), *SAMPLINGS[sampling], progressive)
    return relabelled(sampling, height, width)


def relabelled(sampling, height, width):
    """An interleaved scan that Pillow cannot write: as many luma blocks per MCU as in a sampling
    that it can, other header.
    """
    h, v = SAMPLINGS[sampling]
    known = "4:2:2" if h * v == 2 else "4:2:0"
    from_h, from_v = SAMPLINGS[known]
    down, across = -(-height // (8 * v)), -(-width // (8 * h))  # MCUs
    data = jpeg(scene(down * 8 * from_v, across * 8 * from_h), known)
    at = data.index(b"\xff\xc0") + 5
    size = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return data[:at] + size + data[at + 4 : at + 6] + bytes([h << 4 | v]) + data[at + 7 :]


def planes(pixels, h, v, progressive):
    """Sampling h x v that Pillow cannot write: a file of one scan per component, each taken from a
    greyscale JPEG.
    """
    height, width = pixels.shape[:2]
    colour = Image.fromarray(pixels).convert("YCbCr").split()
    small = (-(-width // h), -(-height // v))
    parts = [
        grey(colour[0], progressive),
        *(grey(plane.resize(small), progressive) for plane in colour[1:]),
    ]
    out = b"\xff\xd8" + b"".join(segments(parts[0], 0xDB))
    factors = [(1, h << 4 | v), (2, 0x11), (3, 0x11)]
    frame = (
        bytes([8])
        + height.to_bytes(2, "big")
        + width.to_bytes(2, "big")
        + b"\x03"
        + b"".join(bytes([i, f, 0]) for i, f in factors)
    )
    out += (
        b"\xff"
        + (b"\xc2" if progressive else b"\xc0")
        + (len(frame) + 2).to_bytes(2, "big")
        + frame
    )
    for number, part in enumerate(parts, start=1):
        for marker, body, data in scans(part):
            if marker == 0xC4:
                out += b"\xff\xc4" + (len(body) + 2).to_bytes(2, "big") + body
            else:
                out += (
                    b"\xff\xda"
                    + (len(body) + 2).to_bytes(2, "big")
                    + body[:1]
                    + bytes([number])
                    + body[2:]
                    + data
                )
    return out + b"\xff\xd9"


END = b"\xff\xd9"  # the end-of-image marker


def grey(plane, progressive):
    out = BytesIO()
    plane.save(out, "JPEG", quality=90, progressive=progressive)
    return out.getvalue()


def walk(data):
    at = 2
    while data[at + 1] != 0xD9:
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        marker, body, stop = data[at + 1], data[at + 4 : end], end
        if marker == 0xDA:
            while data[stop] != 0xFF or data[stop + 1] == 0:
                stop += 1
        yield marker, body, data[end:stop], data[at:end]
        at = stop


def segments(data, wanted):
    return [raw for marker, _, _, raw in walk(data) if marker == wanted]


def scans(data):
    return [
        (marker, body, entropy) for marker, body, entropy, _ in walk(data) if marker in (0xC4, 0xDA)
    ]


def regions(tmp_path, data, boxes, size):
    """Windows of one size, cut at each box's top and left without a resize."""
    pool, source, count = native.Pool(0), files(tmp_path, [data]), len(boxes)
    job = pool.fetch(source, np.zeros(count, int), np.zeros(count, int), np.full(count, -1), None)
    job.wait_fetched()
    crops = np.zeros((count, 9), np.int32)
    crops[:, :4] = boxes
    crops[:, 4:6] = crops[:, 2:4]
    out = np.full((count, *size, 3), 99, np.uint8)
    job.run([picture(crops, "bilinear", None, out, *size, True)])
    job.wait_done()
    assert [job.message(n) for n in range(count)] == [""] * count
    return out


def some_boxes(height, width, seed):
    rng = np.random.default_rng(seed)
    boxes = [
        (0, 0, height, width),
        (height - 1, width - 1, 1, 1),
        (0, width - 1, height, 1),
        (height - 1, 0, 1, width),
    ]
    for _ in range(60):
        top, left = rng.integers(0, height), rng.integers(0, width)
        boxes.append(
            (top, left, rng.integers(1, height - top + 1), rng.integers(1, width - left + 1))
        )
    return boxes


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("sampling", [*SAMPLINGS, "grey"])
def test_any_region_has_the_pixels_of_a_whole_decode(tmp_path, sampling, progressive):
    for seed, (height, width) in enumerate(SHAPES):
        if sampling == "grey":
            data = grey(Image.fromarray(scene(height, width)).convert("L"), progressive)
        else:
            data = sampled(sampling, height, width, progressive)
        assert native.probe(data) == (
            native.OK,
            height,
            width,
            1 if sampling == "grey" else 3,
            f"jpeg {sampling}",
        )
        whole = native.decode(data)
        np.testing.assert_array_equal(whole, pillow(data))
        boxes = some_boxes(height, width, seed)
        out = regions(tmp_path, data, boxes, (height, width))
        for (top, left, box_height, box_width), pixels in zip(boxes, out, strict=True):
            want = np.zeros_like(whole)
            want[:box_height, :box_width] = whole[top : top + box_height, left : left + box_width]
            np.testing.assert_array_equal(
                pixels, want, err_msg=f"{height}x{width} {top, left, box_height, box_width}"
            )


def test_restart_markers_and_rgb_jpegs(tmp_path):
    for data in (
        jpeg(scene(61, 93), restart_marker_blocks=3),
        jpeg(scene(61, 93), "4:2:0", restart_marker_rows=1, progressive=True),
        jpeg(scene(61, 93), "4:4:4", keep_rgb=True),
    ):
        whole = native.decode(data)
        np.testing.assert_array_equal(whole, pillow(data))
        boxes = some_boxes(61, 93, 5)
        for (top, left, height, width), pixels in zip(
            boxes, regions(tmp_path, data, boxes, (61, 93)), strict=True
        ):
            np.testing.assert_array_equal(
                pixels[:height, :width], whole[top : top + height, left : left + width]
            )


def test_errors_and_warnings_are_foreign_with_the_librarys_text(tmp_path):
    data = jpeg(scene(61, 93))
    cut, padded = data[: len(data) // 2] + END, jpeg(scene(61, 93), progressive=True)
    tables = padded.rindex(b"\xff\xc4")  # of the last scan
    padded = padded[:tables] + b"\x12\x34" * 20 + padded[tables:]
    pool = native.Pool(0)
    job = fetch(pool, files(tmp_path, [cut, padded]))
    job.wait_fetched()
    assert job.status.tolist() == [native.OK, native.OK]
    crops = np.tile(np.array([0, 0, 61, 93, 61, 93, 0, 0, 0], np.int32), (2, 1))
    job.run([picture(crops, "box", None, np.zeros((2, 61, 93, 3), np.uint8), 61, 93, True)])
    job.wait_done()
    assert job.status.tolist() == [native.FOREIGN, native.FOREIGN]
    assert job.message(0) == "jpeg: Corrupt JPEG data: premature end of data segment"
    assert re.fullmatch(
        r"jpeg: Corrupt JPEG data: \d+ extraneous bytes before marker 0xc4", job.message(1)
    )
    with pytest.raises(ValueError) as error:
        native.decode(cut)
    assert str(error.value) == "decode: Corrupt JPEG data: premature end of data segment"


def test_what_scans_leave_open_is_pillows_to_smooth(tmp_path):
    """Cut behind any of its scans and closed: whole, in part and scaled; and the file itself, which
    leaves nothing open.
    """
    data = jpeg(scene(61, 93), progressive=True)
    scans = [at for at in range(len(data) - 1) if data[at] == 0xFF and data[at + 1] in (0xC4, 0xDA)]
    first = data.index(b"\xff\xda")
    cuts = [data[:at] + END for at in scans if at > first and data[at - 2 : at] != b"\xff\xc4"]
    assert len(cuts) > 8
    open_ended = "a progressive file without all its scans"
    for cut in cuts:
        for scale in (1, 2, 8):
            with pytest.raises(ValueError, match=f"^decode: {open_ended}$"):
                native.decode(cut, scale)
    pool = native.Pool(0)
    job = fetch(pool, files(tmp_path, [*cuts, data]))
    job.wait_fetched()
    assert set(job.status.tolist()) == {native.OK}
    crops = np.tile(np.array([9, 7, 20, 30, 20, 30, 0, 0, 0], np.int32), (len(cuts) + 1, 1))
    job.run(
        [picture(crops, "box", None, np.zeros((len(cuts) + 1, 20, 30, 3), np.uint8), 20, 30, True)]
    )
    job.wait_done()
    assert job.status.tolist() == [native.FOREIGN] * len(cuts) + [native.OK]
    assert {job.message(n) for n in range(len(cuts))} == {f"jpeg: {open_ended}"}


def test_a_verdict_does_not_depend_on_whether_anything_is_seen(tmp_path):
    """Windows beside the image: what the own decoders cover is certain by its markers, whatever is
    wrong below the crop; all else is looked at.
    """
    good, padded = jpeg(scene(61, 93)), jpeg(scene(61, 93), progressive=True)
    tables = padded.rindex(b"\xff\xc4")  # of the last scan
    padded = padded[:tables] + b"\x12\x34" * 20 + padded[tables:]
    spoilt = good.replace(
        b"\xff\xda\0\x0c\x03\x01\0", b"\xff\xda\0\x0c\x03\x01\x33"
    )  # a Huffman table that is not there
    assert spoilt != good
    pool = native.Pool(0)
    job = fetch(pool, files(tmp_path, [good, padded, spoilt]))
    job.wait_fetched()
    assert job.status.tolist() == [native.OK] * 3
    crops = np.tile(np.array([0, 0, 61, 93, 61, 93, -500, -500, 0], np.int32), (3, 1))
    job.run([picture(crops, "box", None, np.zeros((3, 20, 30, 3), np.uint8), 20, 30, True)])
    job.wait_done()
    assert job.status.tolist() == [native.OK, native.OK, native.FOREIGN]


def test_damage_below_the_region_does_not_matter(tmp_path):
    data = jpeg(scene(200, 93))
    out = regions(tmp_path, data[: len(data) * 2 // 3] + END, [(0, 0, 50, 93)], (50, 93))
    np.testing.assert_array_equal(out[0], native.decode(data)[:50])


def test_a_file_that_was_cut_off_is_foreign_whatever_its_crop(tmp_path):
    data = jpeg(scene(61, 93))
    pool = native.Pool(0)
    job = fetch(pool, files(tmp_path, [data[:-1], data + b"trailing", data[: len(data) // 2]]))
    job.wait_fetched()
    assert job.status.tolist() == [native.FOREIGN, native.OK, native.FOREIGN]
    assert job.sizes.tolist() == [[61, 93]] * 3
    assert job.message(0) == job.message(2) == "jpeg: ends without an end marker"


def test_decode_refuses_what_is_not_native():
    png = BytesIO()
    Image.fromarray(scene(5, 4)).save(png, "PNG")
    cases = {
        b"": "decode: empty file",
        png.getvalue(): "decode: png: not a JPEG",
        b"abc": "decode: unknown format",
    }
    for data, text in cases.items():
        with pytest.raises(ValueError) as error:
            native.decode(data)
        assert str(error.value) == text
