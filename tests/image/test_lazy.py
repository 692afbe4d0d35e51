"""fastload.image.open: when an image is decoded, and that it is Pillow's in everything else."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile

from fastload import _native
from fastload import image as lazy
from fastload.image.lazy import LazyImage, OpenedJpeg, TakenJpeg
from tests.image.chains import difference, outcome
from tests.image.helpers import jpeg

FLIP = Image.Transpose.FLIP_LEFT_RIGHT


def both(data):
    return lazy.open(data), Image.open(io.BytesIO(data))


@pytest.fixture
def decodes(monkeypatch):
    """The px that native calls have made."""
    made = []
    decode = _native.image_pixels

    def counted(data, **options):
        made.append(options["crop"])
        return decode(data, **options)

    monkeypatch.setattr(_native, "image_pixels", counted)
    return made


@pytest.mark.filterwarnings("ignore")  # Pillow's own, of damaged files
@pytest.mark.parametrize("block", range(6))
def test_random_chains_give_pillows_bits(block):
    assert [text for seed in range(25) if (text := difference(25 * block + seed))] == []


@pytest.mark.parametrize("flip", [FLIP, Image.FLIP_LEFT_RIGHT])  # torchvision's, a plain number
def test_crop_resize_and_mirror_are_one_decode_of_the_region(decodes, flip):
    ours, pillows = (
        image.convert("RGB").crop((20, 10, 120, 90)).resize((64, 48)).transpose(flip)
        for image in both(jpeg())
    )
    assert decodes == []
    assert ours == pillows
    assert decodes == [(20, 10, 120, 90)]
    assert type(ours) is Image.Image


def test_a_window_of_a_resized_image_is_still_one_decode(decodes):
    ours, pillows = (
        image.resize((90, 60)).transpose(FLIP).crop((10, 5, 70, 50)) for image in both(jpeg())
    )
    assert (ours.tobytes(), len(decodes)) == (pillows.tobytes(), 1)


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_an_array_is_made_without_an_image_of_pillows(decodes, mode):
    ours, pillows = (
        image.crop((20, 10, 120, 90)).resize((64, 48)).transpose(FLIP)
        for image in both(jpeg(mode=mode))
    )
    one, other = np.asarray(ours), np.asarray(pillows)
    assert type(ours) is LazyImage
    assert (one.shape, one.dtype, one.strides) == (other.shape, other.dtype, other.strides)
    assert one.flags.writeable == other.flags.writeable
    assert np.array_equal(one, other)
    assert np.array(ours).flags.writeable
    assert ours == pillows  # that was a second look: now it is an image of Pillow's
    assert decodes == [(20, 10, 120, 90), (0, 0, 203, 131)]
    assert list(ours.__array_interface__) == list(pillows.__array_interface__)


def test_an_array_of_an_opened_image_and_of_a_damaged_one():
    data = jpeg()
    for source in (data, data[: len(data) // 2] + bytes(40) + data[len(data) // 2 :]):
        ours, pillows = both(source)
        assert np.array_equal(np.asarray(ours), np.asarray(pillows))


def test_thumbnails_decode_at_a_scale(decodes):
    ours, pillows = both(jpeg(800, 600))
    for image in (ours, pillows):
        image.thumbnail((64, 64))
    assert (ours.size, ours.tobytes()) == (pillows.size, pillows.tobytes())
    assert decodes == [(0, 0, 200, 150)]  # at 1/4


def test_many_crops_of_one_image_decode_a_part_and_then_the_whole_once(decodes):
    ours, pillows = both(jpeg())
    boxes = [(left, 7, left + 50, 60) for left in range(0, 150, 30)]
    for box in boxes:
        assert ours.crop(box).resize((32, 24)) == pillows.crop(box).resize((32, 24))
    assert decodes == [boxes[0], (0, 0, 203, 131)]


def test_small_images_do_not_keep_their_file():
    small = lazy.open(jpeg(900, 700, quality=95)).resize((8, 6))
    assert type(small) is Image.Image


def test_other_calls_make_pillows_own_image_at_once(decodes):
    image = lazy.open(jpeg())
    assert type(image) is OpenedJpeg
    child = image.crop((0, 0, 60, 50))
    assert (type(image), type(child)) == (TakenJpeg, LazyImage)
    assert type(child.rotate(90)) is Image.Image
    assert (type(child), type(image)) == (Image.Image, TakenJpeg)
    image.load()
    assert type(image) is JpegImageFile
    assert vars(image).keys() == vars(both(jpeg())[1]).keys() | {"map"}


@pytest.mark.parametrize(
    "data",
    [
        jpeg(progressive=True),
        jpeg(mode="CMYK"),
        jpeg(format="PNG"),
        jpeg(mode="L", format="GIF"),
        jpeg()[:-200],
    ],
    ids=["progressive", "CMYK", "PNG", "GIF", "truncated"],
)
def test_what_the_own_decoder_does_not_take_is_pillows(data, decodes):
    ours, pillows = both(data)
    assert outcome(lambda: ours.crop((1, 2, 30, 20)).tobytes()) == outcome(
        lambda: pillows.crop((1, 2, 30, 20)).tobytes()
    )
    assert not isinstance(ours, (OpenedJpeg, TakenJpeg))
    assert decodes == []


def test_truncated_files_raise_where_pillow_raises(monkeypatch):
    data = jpeg()[:-300]
    for image in both(data):
        with pytest.raises(OSError, match="image file is truncated"):
            image.convert("RGB")
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    ours, pillows = both(data)
    assert ours.convert("RGB") == pillows.convert("RGB")


def test_files_that_are_no_image_raise_at_open(tmp_path):
    with pytest.raises(UnidentifiedImageError, match="cannot identify image file"):
        lazy.open(b"no image")
    with pytest.raises(FileNotFoundError):
        lazy.open(tmp_path / "none.jpg")
    path = tmp_path / "text.jpg"
    path.write_text("no image")
    with pytest.raises(UnidentifiedImageError, match=f"cannot identify image file '{path}'"):
        lazy.open(path)


def test_large_images_warn_and_raise_at_open(monkeypatch):
    data = jpeg(100, 60)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 5000)
    with pytest.warns(Image.DecompressionBombWarning):
        image = lazy.open(data)
    with pytest.warns(Image.DecompressionBombWarning):
        image.crop((0, 0, 100, 59))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image.crop((0, 0, 50, 60))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(Image.DecompressionBombError):
        lazy.open(data)


def test_files_are_closed_when_pillow_closes_them(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(jpeg())
    image = lazy.open(path)
    assert (image.filename, image.fp.closed) == (str(path), False)
    file = image.fp
    child = image.convert("RGB")
    assert (file.closed, image.fp) == (True, None)
    path.unlink()
    assert child.size == (203, 131)
    assert len(child.tobytes()) == 203 * 131 * 3
    with path.open("wb") as out:
        out.write(jpeg())
    with path.open("rb") as given:
        child = lazy.open(given).convert("RGB")
        assert not given.closed
    assert len(child.tobytes()) == 203 * 131 * 3


def test_closed_images_raise_what_pillow_raises(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(jpeg())
    for use in (lambda image: image.load(), lambda image: image.convert("RGB")):
        results = []
        for opened in (lazy.open, Image.open):
            with opened(path) as image:
                pass
            before = outcome(lambda: use(image))  # noqa: B023
            image = opened(path)
            image.close()
            results.append((before, outcome(lambda: use(image))))  # noqa: B023
        assert results[0] == results[1]
    child = lazy.open(path).convert("RGB")
    child.close()
    with pytest.raises(ValueError, match="Operation on closed image"):
        child.tobytes()


def test_metadata_stays():
    exif = Image.Exif()
    exif[0x0112] = 6
    ours, pillows = both(jpeg(exif=exif, dpi=(70, 71), icc_profile=b"profile", comment=b"text"))
    assert (ours.info, ours.getexif(), ours.format) == (pillows.info, pillows.getexif(), "JPEG")
    assert ours.info["icc_profile"] == b"profile"
    assert (ours.quantization, ours.layer) == (pillows.quantization, pillows.layer)
    assert ImageOps.exif_transpose(ours) == ImageOps.exif_transpose(pillows)
    assert ours.convert("RGB").info == pillows.convert("RGB").info


def test_what_an_image_knows_is_copied_as_pillows_before_13_copy_it(monkeypatch):
    ours = lazy.open(jpeg())
    monkeypatch.delattr(Image.Image, "_copy_info", raising=False)
    copied = ours.copy()
    assert type(copied) is LazyImage
    assert copied.info == ours.info
    assert copied.info is not ours.info


@pytest.mark.parametrize("made", [lambda image: image, lambda image: image.crop((3, 4, 60, 50))])
def test_copies_and_pickles_are_pillows(made):
    data = jpeg()
    for way in (
        lambda i: pickle.loads(pickle.dumps(i)),
        copy.copy,
        copy.deepcopy,
        Image.Image.copy,
    ):
        ours, pillows = (way(made(image)) for image in both(data))
        assert ours == pillows
        assert type(ours.load() and ours) is type(pillows)
    ours, pillows = (pickle.dumps(made(image)) for image in both(data))
    assert ours == pillows


def test_what_an_image_is_called_does_not_show_the_class(decodes):
    ours, pillows = both(jpeg())
    taken = ours.convert("RGB")
    shown = [repr(image).split(" at ")[0] for image in (ours, taken, pillows.convert("RGB"))]
    assert shown[0] == repr(pillows).split(" at ")[0]
    assert shown[1] == shown[2]
    assert (type(taken), decodes) == (LazyImage, [])


def test_equality_does_not_see_the_class():
    ours, pillows = both(jpeg())
    assert ours != 1
    assert ours != pillows.convert("RGB")
    assert ours.convert("RGB") != pillows
    assert ours.copy() == pillows.copy()
    assert pillows.copy() == lazy.open(jpeg()).copy()
    assert pillows == lazy.open(jpeg())


def test_writing_into_an_image_leaves_the_others_alone():
    (ours, pillows) = both(jpeg())
    child = ours.crop((0, 0, 60, 50))
    ours.paste((1, 2, 3), (0, 0, 60, 50))
    assert child == pillows.crop((0, 0, 60, 50))
    child.putpixel((3, 4), (9, 8, 7))
    assert (child.getpixel((3, 4)), ours.getpixel((3, 4))) == ((9, 8, 7), (1, 2, 3))
    canvas = Image.new("RGB", (80, 70))
    canvas.paste(lazy.open(jpeg()).crop((0, 0, 80, 70)))
    assert canvas.tobytes() == pillows.crop((0, 0, 80, 70)).tobytes()


def test_arrays_are_pillows():
    ours, pillows = both(jpeg(mode="L"))
    assert np.array_equal(np.asarray(ours), np.asarray(pillows))
    assert ours.split()[0] == pillows.split()[0]
    assert ours.histogram() == pillows.histogram()


def test_damaged_coded_bits_give_pillows_guess():
    data = bytearray(jpeg(300, 200))
    data[len(data) * 2 // 3] ^= 0x55
    ours, pillows = both(bytes(data))
    box = (20, 100, 290, 199)
    first, second = ours.crop(box).resize((50, 40)), pillows.crop(box).resize((50, 40))
    assert first == second
