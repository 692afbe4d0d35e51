"""torchvision.io and OpenCV with fastload's decoder in their place: what they give and raise is
what they themselves give and raise.
"""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.io import ImageReadMode, decode_image, decode_jpeg, read_image

from fastload.image import stand_ins
from fastload.loader import lazy_images

cv2 = pytest.importorskip("cv2")
OWN_READ, OWN_DECODE = cv2.imread, cv2.imdecode


def picture(height, width):
    y, x = np.mgrid[:height, :width]
    noise = np.random.default_rng(height * width).integers(0, 60, (height, width, 3))
    return (np.stack([y * 3, x * 2, x + y], axis=2) % 190 + noise).astype(np.uint8)


def jpeg(height=61, width=83, mode="RGB", **options):
    file = io.BytesIO()
    image = Image.fromarray(picture(height, width)).convert(mode)
    image.save(file, "JPEG", **{"quality": 85, **options})
    return file.getvalue()


def turned(orientation, order="<"):
    exif = Image.Exif()
    exif.endian = order
    exif[0x010F], exif[stand_ins.ORIENTATION] = "maker", orientation
    return jpeg(exif=exif)


def png():
    file = io.BytesIO()
    Image.fromarray(picture(20, 31)).save(file, "PNG")
    return file.getvalue()


PLAIN = {f"4:{name}": jpeg(subsampling=number) for number, name in enumerate(("4:4", "2:2", "2:0"))}
PLAIN |= {
    "one pixel": jpeg(1, 1),
    "odd": jpeg(17, 9),
    "wide": jpeg(3, 300),
    **{f"{width} px wide": jpeg(5, width) for width in range(2, 7)},  # blue first, two at a time
    "restarts": jpeg(restart_marker_blocks=3),
    "optimised": jpeg(optimize=True),
    "upright": turned(1),
    "upright, big-endian": turned(1, ">"),
}
OTHERS = {
    "progressive": jpeg(progressive=True),
    "grey": jpeg(mode="L"),
    "four colours": jpeg(mode="CMYK"),
    "png": png(),
    "cut off": jpeg()[:-300],
    "damaged": jpeg()[:700] + b"\xff\xd8" + jpeg()[702:],
    "header alone": jpeg()[:300],
    "text": b"no image at all",
    "nothing": b"",
    "two bytes": b"\xff\xd8",
    "no marker": jpeg()[:20] + b"\0" + jpeg()[20:],
    "fill bytes": jpeg()[:20] + b"\xff\xff" + jpeg()[20:],
    **{f"turned {number}": turned(number) for number in (0, 2, 3, 6, 8, 9)},
}
CALLS = {
    "imdecode": lambda data, _: cv2.imdecode(data, cv2.IMREAD_COLOR),
    "imdecode, red first": lambda data, _: cv2.imdecode(data, cv2.IMREAD_COLOR_RGB),
    "imdecode, as it lies": lambda data, _: cv2.imdecode(data, 1 | cv2.IMREAD_IGNORE_ORIENTATION),
    "imdecode, unchanged": lambda data, _: cv2.imdecode(data, cv2.IMREAD_UNCHANGED),
    "imdecode, grey": lambda data, _: cv2.imdecode(data, cv2.IMREAD_GRAYSCALE),
    "imdecode, half": lambda data, _: cv2.imdecode(data, cv2.IMREAD_REDUCED_COLOR_2),
    "imread": lambda _, path: cv2.imread(path),
    "imread, red first": lambda _, path: cv2.imread(path, cv2.IMREAD_COLOR_RGB),
    "decode_image": lambda data, _: decode_image(torch.from_numpy(data)),
    "decode_image, RGB": lambda data, _: decode_image(torch.from_numpy(data), "RGB"),
    "decode_image, grey": lambda data, _: decode_image(torch.from_numpy(data), "GRAY"),
    "decode_image, turned": lambda data, _: decode_image(
        torch.from_numpy(data), apply_exif_orientation=True
    ),
    "decode_image, file": lambda _, path: decode_image(path, ImageReadMode.RGB),
    "decode_jpeg": lambda data, _: decode_jpeg(torch.from_numpy(data)),
    "decode_jpeg, several": lambda data, _: decode_jpeg([torch.from_numpy(data)] * 2)[1],
    "read_image": lambda _, path: read_image(path),
}
STOOD_IN = [name for name in CALLS if not name.endswith((" grey", "half", "unchanged", "turned"))]


def outcome(call, data, path):
    """What a call gives, with its type and layout, or raises."""
    try:
        image = call(np.frombuffer(data, np.uint8).copy(), path)
    except Exception as error:
        return type(error), str(error).split("\n")[0]
    if image is None:
        return None
    strides = image.stride() if isinstance(image, torch.Tensor) else image.strides
    pixels = np.asarray(image)
    return type(image), pixels.dtype, pixels.shape, strides, pixels.tobytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", [*PLAIN, *OTHERS])
def test_what_the_library_gives_or_raises(name, call, tmp_path):
    data, path = {**PLAIN, **OTHERS}[name], tmp_path / "image.jpg"
    path.write_bytes(data)
    want = outcome(CALLS[call], data, str(path))
    with lazy_images.opened_lazily():
        got = outcome(CALLS[call], data, str(path))
    assert got == want


@pytest.mark.parametrize("call", STOOD_IN)
@pytest.mark.parametrize("name", PLAIN)
def test_plain_jpegs_are_decoded_by_fastload(name, call, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        stand_ins,
        "decoded",
        lambda *given, real=stand_ins.decoded, **how: made.append(real(*given, **how)) or made[-1],
    )
    path = tmp_path / "image.jpg"
    path.write_bytes(PLAIN[name])
    with lazy_images.opened_lazily():
        made.clear()
        outcome(CALLS[call], PLAIN[name], str(path))
    assert set(made) == {True}


def test_a_file_that_is_not_there(tmp_path):
    path = str(tmp_path / "none.jpg")
    want = [outcome(CALLS[call], b"", path) for call in ("imread", "read_image")]
    with lazy_images.opened_lazily():
        assert [outcome(CALLS[call], b"", path) for call in ("imread", "read_image")] == want


@pytest.mark.parametrize(
    "arguments",
    [(), (b"abc", 1), (np.zeros((2, 2), np.uint8), 1), (np.zeros(4, np.int64), 1), (1, 2)],
)
def test_arguments_that_opencv_refuses(arguments):
    want = outcome(lambda *_: cv2.imdecode(*arguments), b"", "")
    with lazy_images.opened_lazily():
        assert outcome(lambda *_: cv2.imdecode(*arguments), b"", "") == want


def test_all_is_as_it_was_afterwards():
    op = torch.ops.image.decode_image
    with lazy_images.opened_lazily():
        assert cv2.imread is not OWN_READ
        assert torch.ops.image.decode_image is not op
        with lazy_images.opened_lazily():
            inner = cv2.imdecode
        assert cv2.imdecode is inner
    assert (cv2.imread, cv2.imdecode) == (OWN_READ, OWN_DECODE)
    assert torch.ops.image.decode_image is op


def test_a_programs_own_function_stays(monkeypatch):
    def mine(*_):
        return None

    monkeypatch.setattr(cv2, "imread", mine)
    with lazy_images.opened_lazily():
        assert cv2.imread is mine
    assert cv2.imread is mine


def test_a_library_that_gives_other_pixels_stays():
    def call(decode):
        return decode(stand_ins.sample(), stand_ins.COLOR)

    def darker(data, flags):
        return OWN_DECODE(data, flags) // 2

    assert stand_ins.agrees(stand_ins.opencv_imdecode, call, OWN_DECODE)
    assert not stand_ins.agrees(stand_ins.opencv_imdecode, call, darker)


def test_a_library_that_is_not_imported_is_not_asked(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with lazy_images.opened_lazily():
        pass
    monkeypatch.setitem(sys.modules, "cv2", SimpleNamespace())
    with lazy_images.opened_lazily():
        pass


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_programs_that_script_torchvisions_functions_meanwhile():
    """TorchScript takes the operator, whichever function stands in for it."""
    data = torch.frombuffer(bytearray(jpeg()), dtype=torch.uint8)
    want = decode_jpeg(data), decode_image(data)
    with lazy_images.opened_lazily():
        made = torch.ops.image.decode_jpeg
        scripts = torch.jit.script(decode_jpeg), torch.jit.script(decode_image)
        for script, image in zip(scripts, want, strict=True):
            assert torch.equal(script(data), image)
    assert torch.ops.image.decode_jpeg is not made
    with lazy_images.opened_lazily():  # what torch was told of stays the same object
        assert torch.ops.image.decode_jpeg is made


def test_operators_that_programs_call_themselves():
    data = torch.frombuffer(bytearray(jpeg()), dtype=torch.uint8)
    want = decode_jpeg(data)
    with lazy_images.opened_lazily():
        ops = torch.ops.image
        for image in (
            ops.decode_jpeg(data=data, mode=0, apply_exif_orientation=False),
            ops.decode_image(data, 0, apply_exif_orientation=True),
            ops.decode_jpeg.default(data, 0),
        ):
            assert torch.equal(image, want)
