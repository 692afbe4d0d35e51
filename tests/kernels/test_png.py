"""The own decoder of PNGs against Pillow: the same pixels, or none."""

import io
import itertools
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image, ImageFile

from fastload import _native
from tests.kernels.png_writer import (
    DEPTHS,
    SIGNATURE,
    VALUES,
    Chunk,
    Values,
    chunk,
    header,
    written,
)

KINDS = [(colour, depth) for colour, depths in DEPTHS.items() for depth in depths]
SIZES = [(1, 1), (1, 9), (9, 1), (3, 5), (8, 8), (13, 29), (40, 17)]


def values_of(height: int, width: int, depth: int, colour: int, seed: int = 0) -> Values:
    """Smooth ones with noise: every filter's choice of a neighbour is taken."""
    rng = np.random.default_rng([seed, height, width, depth, colour])
    most = (1 << depth) - 1
    down, across = np.mgrid[:height, :width]
    smooth = (np.sin(down / 7) + np.cos(across / 5) + 2) / 4
    noise = rng.normal(0, 0.05, (height, width, VALUES[colour]))
    return np.clip((smooth[..., None] + noise) * most, 0, most).astype(np.uint16)


def palette_of(colours: int) -> bytes:
    return np.random.default_rng(colours).integers(0, 256, 3 * colours, np.uint8).tobytes()


def by_pillow(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def decoded(data: bytes) -> np.ndarray:
    _, height, width, *_ = _native.probe(data)
    return _native.png_decode(data, 0, 0, height, width)


def png(size: tuple[int, int] = (13, 29), depth: int = 8, colour: int = 2, **more: object) -> bytes:
    values = values_of(*size, depth, colour)
    if colour == 3:
        more.setdefault("palette", palette_of(1 << depth))
    more.setdefault("filters", range(5))
    return written(values, depth, colour, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize(("colour", "depth"), KINDS)
def test_every_kind_has_pillows_pixels(colour: int, depth: int, interlaced: bool) -> None:
    for size, shift in itertools.product(SIZES, range(5)):
        filters = [(y * 3 + shift) % 5 for y in range(7)]
        data = png(size, depth, colour, filters=filters, interlaced=interlaced)
        assert _native.png_refusal(data) == ""
        assert np.array_equal(decoded(data), by_pillow(data)), (size, shift)


@pytest.mark.parametrize("target", _native.targets())
@pytest.mark.parametrize("kind", range(5))
def test_every_instruction_set_undoes_every_filter(target: str, kind: int) -> None:
    _native.limit_targets(target)
    try:
        for colour, depth in KINDS:
            data = png((11, 67), depth, colour, filters=[kind])
            assert np.array_equal(decoded(data), by_pillow(data)), (colour, depth)
    finally:
        _native.limit_targets("")


def test_filters_of_random_bytes_wrap_as_pillows_do() -> None:
    rng = np.random.default_rng(0)
    for colour, depth in KINDS:
        values = rng.integers(0, 1 << depth, (23, 31, VALUES[colour])).astype(np.uint16)
        palette = palette_of(256) if colour == 3 else b""
        data = written(
            values, depth, colour, filters=[4, 3, 1, 4, 2, 0], palette=palette[: 3 << depth]
        )
        assert np.array_equal(decoded(data), by_pillow(data)), (colour, depth)


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize(("colour", "depth"), [(2, 8), (3, 4), (6, 8), (0, 1), (4, 16)])
def test_a_region_is_cut_from_the_whole(colour: int, depth: int, interlaced: bool) -> None:
    data = png((37, 53), depth, colour, interlaced=interlaced)
    whole = by_pillow(data)
    rng = np.random.default_rng(1)
    for _ in range(40):
        top, left = int(rng.integers(37)), int(rng.integers(53))
        height, width = int(rng.integers(1, 38 - top)), int(rng.integers(1, 54 - left))
        got = _native.png_decode(data, top, left, height, width)
        assert np.array_equal(got, whole[top : top + height, left : left + width])


def test_rows_may_lie_in_many_chunks() -> None:
    for parts in (1, 2, 7, 100):
        data = png(parts=parts)
        assert np.array_equal(decoded(data), by_pillow(data))


# What programs write beside the rows, and what does not change them
BESIDE: list[list[Chunk]] = [
    [(b"gAMA", (45455).to_bytes(4, "big")), (b"sRGB", b"\0"), (b"pHYs", bytes(9))],
    [(b"tEXt", b"Comment\0hello"), (b"tIME", bytes(7)), (b"bKGD", bytes(6))],
    [(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x/>"), (b"eXIf", b"MM\0*\0\0\0\x08\0\0\0\0\0\0")],
    [(b"iCCP", b"profile\0\0" + zlib.compress(bytes(range(256)) * 40))],
    [(b"tRNS", bytes(6))],
    [(b"zTXt", b"Comment\0\0" + zlib.compress(b"hello"))],
]


@pytest.mark.parametrize("beside", BESIDE, ids=lambda beside: beside[0][0].decode())
def test_chunks_that_change_nothing_are_passed_over(beside: list[Chunk]) -> None:
    data = png(before=beside, after=beside if beside[0][0] == b"tEXt" else [])
    assert _native.png_refusal(data) == ""
    assert np.array_equal(decoded(data), by_pillow(data))


REFUSED = {
    "colour type 0 of 16 bits": chunk(b"IHDR", header(2, 2, 16, 0)),
    "colour type 5 of 8 bits": chunk(b"IHDR", header(2, 2, 8, 5)),
    "colour type 3 of 16 bits": chunk(b"IHDR", header(2, 2, 16, 3)),
    "header of another kind": chunk(b"IHDR", header(2, 2, 8, 2)[:-1] + b"\2"),
    "size (got 0x2, want 1 to 178956970 px)": chunk(b"IHDR", header(0, 2, 8, 2)),
    "size (got 20000x20000, want 1 to 178956970 px)": chunk(b"IHDR", header(20000, 20000, 8, 2)),
    "no header": chunk(b"IDAT", b""),
    "its end is missing": chunk(b"IHDR", header(2, 2, 8, 2)),
    "no rows": chunk(b"IHDR", header(2, 2, 8, 2)) + chunk(b"IEND", b""),
    "no palette": chunk(b"IHDR", header(2, 2, 8, 3)) + chunk(b"IDAT", b"x"),
    "palette of another size": chunk(b"IHDR", header(2, 2, 8, 3)) + chunk(b"PLTE", b"12"),
    "chunk acTL": chunk(b"IHDR", header(2, 2, 8, 2)) + chunk(b"acTL", bytes(8)),
    "chunk zTXt": chunk(b"IHDR", header(2, 2, 8, 2)) + chunk(b"zTXt", b"a\0\0" + bytes(2000)),
    "chunk iCCP": chunk(b"IHDR", header(2, 2, 8, 2))
    + chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(2 << 20))),
    "chunk ?x\0?": chunk(b"IHDR", header(2, 2, 8, 2)) + chunk(b"\1x\0\2", b""),
    "rows are missing": chunk(b"IHDR", header(10000, 10000, 8, 2))
    + chunk(b"IDAT", bytes(1000))
    + chunk(b"IEND", b""),
    "rows in two places": chunk(b"IHDR", header(2, 2, 8, 2))
    + chunk(b"IDAT", b"x")
    + chunk(b"tIME", bytes(7))
    + chunk(b"IDAT", b"x"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_left_to_pillow_says_why(why: str) -> None:
    want = why.replace("\0", "?")
    assert _native.png_refusal(SIGNATURE + REFUSED[why]) == want
    with pytest.raises(ValueError, match=r"^png_decode: "):
        _native.png_decode(SIGNATURE + REFUSED[why], 0, 0, 1, 1)


def refused_later(data: bytes) -> str:
    with pytest.raises(ValueError, match=r"^png_decode: ") as caught:
        decoded(data)
    return str(caught.value).removeprefix("png_decode: ")


def test_damaged_rows_are_left_to_pillow() -> None:
    data = png()
    at = data.index(b"IDAT")
    flipped = bytearray(data)
    flipped[at + 10] ^= 1
    assert refused_later(bytes(flipped)) == "a checksum differs"
    rows = zlib.compress(b"\5" + bytes(6))
    start = SIGNATURE + chunk(b"IHDR", header(1, 2, 8, 2))
    assert refused_later(start + chunk(b"IDAT", rows) + chunk(b"IEND", b"")) == "an unknown filter"
    for wrong in (zlib.compress(bytes(6)), zlib.compress(bytes(8)), zlib.compress(bytes(7)) + b"x"):
        name = chunk(b"IDAT", wrong) + chunk(b"IEND", b"")
        assert refused_later(start + name) == "its rows do not unpack"
    few = png((5, 5), 8, 3, palette=palette_of(3))
    assert refused_later(few) == "a colour that is not in the palette"


@pytest.mark.parametrize("region", [(0, 0, 0, 1), (-1, 0, 2, 1), (0, 28, 1, 2), (12, 0, 2, 1)])
def test_regions_outside_the_image_are_refused(region: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"^png_decode: the region leaves the image \(got top "):
        _native.png_decode(png(), *region)


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """With a byte or a few changed, cut out or doubled."""
    out = bytearray(data)
    at, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 5))
    how = int(rng.integers(4))
    if how == 0:
        del out[at : at + length]
    elif how == 1:
        out[at:at] = out[at : at + length]
    elif at < len(data):
        out[at] ^= 1 << int(rng.integers(8)) if how == 2 else int(rng.integers(1, 256))
    return bytes(out)


def mutants(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Every second one is changed anywhere; the others in one chunk, or in the unpacked rows, with
    all checksums right.
    """
    rng = np.random.default_rng(seed)
    for n in range(count):
        if n % 2:
            yield changed(data, rng)
            continue
        parts = chunks(data)
        which = int(rng.integers(len(parts)))
        name, content = parts[which]
        rows = name == b"IDAT"
        content = changed(zlib.decompress(content) if rows else content, rng)
        parts[which] = name, zlib.compress(content) if rows else content
        yield SIGNATURE + b"".join(chunk(*part) for part in parts)


def chunks(data: bytes) -> list[Chunk]:
    out, at = [], len(SIGNATURE)
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        out.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    return out


@pytest.mark.parametrize(("colour", "depth"), KINDS)
def test_mutants_have_pillows_pixels_or_none(colour: int, depth: int) -> None:
    taken = 0
    for interlaced in (False, True):
        data = png((9, 14), depth, colour, interlaced=interlaced, before=BESIDE[colour % 4])
        for mutant in mutants(data, 200, colour * 16 + depth):
            if _native.png_refusal(mutant):
                continue
            try:
                got = decoded(mutant)
            except ValueError:
                continue
            taken += 1
            assert np.array_equal(got, by_pillow(mutant))
    assert taken > 10


def test_cut_off_pngs_are_left_to_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    data = png()
    for end in range(len(data)):
        if _native.png_refusal(data[:end]) == "":
            pytest.fail(f"{end} of {len(data)} bytes are taken")
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert by_pillow(data[:-20]).shape == (13, 29, 3)  # which Pillow may still take


@pytest.mark.parametrize("colour", [0, 3])
def test_numbers_of_one_byte_are_pillows(colour: int) -> None:
    data = png((13, 29), 8, colour)
    out = np.empty((13, 29), np.uint8)
    _native.png_numbers(data, out)
    with Image.open(io.BytesIO(data)) as image:
        np.testing.assert_array_equal(out, np.asarray(image))


def test_numbers_of_another_kind_or_size_or_damaged_are_left_to_pillow() -> None:
    data, out = png((13, 29), 8, 3), np.empty((13, 29), np.uint8)
    broken = bytearray(data)
    broken[-20] ^= 1
    for bad, why in (
        (png((13, 29), 8, 2), "not one channel of 8 bits"),
        (png((13, 29), 4, 3), "not one channel of 8 bits"),
        (png((29, 13), 8, 3), "another size"),
        (bytes(broken), "a checksum differs"),
    ):
        with pytest.raises(ValueError, match=f"^png_numbers: {why}$"):
            _native.png_numbers(bad, out)
