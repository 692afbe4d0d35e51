"""What each check finds:

"decode" what a whole decode would, "markers" what is cut off; and what one look at an image says.
"""

import random

import pytest

from fastload import _native
from fastload.conversion import samples
from fastload.errors import ConversionError, UsageError


def jpegs(tools):
    """One of each kind of coding and sampling."""
    how = [
        {"subsampling": 0},
        {"subsampling": 1},
        {"subsampling": 2},
        {"progressive": True},
        {"restart_marker_blocks": 3},
    ]
    return [tools.encode(37, 61, seed, quality=80, **each) for seed, each in enumerate(how)] + [
        tools.encode(29, 45, 7, "L")
    ]


@pytest.mark.parametrize("step", [None, 0, 8])
def test_a_look_says_what_the_single_questions_say(tools, step):
    for data in [
        *jpegs(tools),
        tools.encode(9, 13, format="PNG"),
        b"text",
        b"\xff\xd8",
        jpegs(tools)[0][:200],
    ]:
        for check in samples.CHECKS:
            height, width, format, coding, checksum, _, index, why = _native.examine(
                data, check, step
            )
            assert (height, width, format) == (*_native.probe(data)[1:3], _native.probe(data)[4])
            assert (coding, checksum) == (_native.jpeg_coding(data), _native.xxh3(data))
            if step is None or why:
                assert index == b""
                assert (step is None) == (why == "")
                assert why in ("", "not a JPEG") or why == refusal(data, step)
            else:
                assert index == _native.jpeg_index(data, step)


def refusal(data, step):
    with pytest.raises(ValueError, match="jpeg_index") as refused:
        _native.jpeg_index(data, step)
    return str(refused.value).removeprefix("jpeg_index: ")


def test_good_jpegs_pass(tools):
    for data in jpegs(tools):
        baseline = _native.jpeg_coding(data) == "baseline"
        assert _native.examine(data, "markers", None)[5]
        assert _native.examine(data, "markers", 8)[5]
        assert _native.examine(data, "decode", None)[5] == baseline
        assert _native.examine(data, "decode", 8)[5] == baseline
        assert _native.examine(data, "none", None)[5] is False


def test_every_cut_is_found_by_markers(tools):
    for data in jpegs(tools):
        assert not any(_native.examine(data[:end], "markers", None)[5] for end in range(len(data)))
        assert _native.examine(data + b"more", "markers", None)[5]


def test_what_passes_the_decoding_check_libjpeg_decodes(tools):
    """Bits flipped anywhere: the check may leave an image open, but never lets one pass that
    libjpeg-turbo refuses or warns of.
    """
    draw, passed, open_ = random.Random(1), 0, 0
    for data in jpegs(tools)[:3]:
        for _ in range(400):
            damaged = bytearray(data)
            damaged[draw.randrange(2, len(data))] ^= 1 << draw.randrange(8)
            for step in (None, 8):
                if _native.examine(bytes(damaged), "decode", step)[5]:
                    _native.decode(bytes(damaged))
                    passed += 1
                else:
                    open_ += 1
    assert passed > 100
    assert open_ > 100


def test_random_bytes_behind_markers_never_crash(tools):
    draw = random.Random(2)
    for data in jpegs(tools):
        for _ in range(200):
            damaged = bytearray(data)
            for _ in range(draw.randrange(1, 8)):
                damaged[draw.randrange(len(data))] = draw.choice(
                    (0, 1, 0xD9, 0xDA, 0xFF, draw.randrange(256))
                )
            for check in samples.CHECKS:
                _native.examine(bytes(damaged), check, draw.choice((None, 0, 8)))


@pytest.mark.parametrize("to", ["shards", "webdataset", "folder", "parquet", "beton"])
@pytest.mark.parametrize("check", ["decode", "markers"])
def test_a_cut_image_is_bad_in_every_format(tools, tmp_path, to, check):
    good = tools.encode(40, 60)
    root = tools.write_tree(
        tmp_path / "in",
        {"c/a.jpg": good, "c/b.jpg": good[:-400], "c/c.png": tools.encode(9, 7, format="PNG")},
    )
    with pytest.raises(ConversionError) as refused:
        tools.convert_to(root, tmp_path / "out.beton", to, check=check)
    first, *lines = str(refused.value).splitlines()
    assert "1 of 3 samples are bad" in first
    assert len(lines) == 1
    assert lines[0].startswith(f"{root}/c/b.jpg: cannot be decoded (")


def test_an_unknown_check_is_refused(tools, small, tmp_path):
    with pytest.raises(UsageError) as refused:
        tools.convert(small, tmp_path / "out", check="all")
    assert str(refused.value) == "check: got 'all', want 'decode', 'markers' or 'none'; choose one"


def test_native_arguments_are_checked():
    with pytest.raises(ValueError, match="examine: check"):
        _native.examine(b"x", "all", None)
    with pytest.raises(ValueError, match="examine: step"):
        _native.examine(b"x", "none", 65536)
