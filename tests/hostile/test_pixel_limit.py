"""`PIL.Image.MAX_IMAGE_PIXELS`: every backend warns and refuses where Pillow would, by the value of
now.
"""

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch.utils.data
from PIL import Image
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload import transforms as T
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.errors import SampleError
from tests.beton.layout import Writer
from tests.conftest import encoded, textured
from tests.hostile import giants

SIZES = ((30, 40), (40, 60), (35, 50), (9, 13))  # height, width; px: 1200, 2400, 1750, 117
NAMES = ("0.jpg", "1.jpg", "2.png", "3.jpg")
LIMITS = (
    None,
    3000,
    2400,
    1200,
    1199,
    600,
    58,
)  # the most px: at, above and below an image's, and its half's
HOW: dict[str, dict[str, Any]] = {
    "caller's thread": {},
    "threads": {"num_workers": 2},
    "scaled": {"decode_scale": "fast"},
    "by index": {"seek_index": "auto"},
    "torch": {"backend": "torch"},
    "torch, scaled": {"backend": "torch", "decode_scale": "fast"},
}
if importlib.util.find_spec("nvidia") and importlib.util.find_spec("nvidia.dali"):
    HOW |= {"dali": {"backend": "dali"}, "dali-own": {"backend": "dali-own"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("limit") / "a"
    where.mkdir()
    for name, (height, width) in zip(NAMES, SIZES, strict=True):
        kind = "PNG" if name.endswith("png") else "JPEG"
        (where / name).write_bytes(encoded(textured(height, width, 1), kind))
    return where.parent


def outcomes(batches: Any) -> tuple[list[str], list[str]]:
    """Of each image:

    "ok" or the error's text (as Pillow says it); and what was warned of, in any order.
    """
    found = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        iterator = iter(batches)
        while True:
            try:
                next(iterator)
                found.append("ok")
            except StopIteration:
                break
            except Image.DecompressionBombError as error:
                found.append(str(error))
    return found, sorted(
        str(one.message) for one in said if one.category is Image.DecompressionBombWarning
    )


def theirs(folder: Path) -> Any:
    data = ImageFolder(str(folder), v1.Compose([v1.Resize((6, 8)), v1.ToTensor()]))
    return torch.utils.data.DataLoader(data, 1)


def ours(folder: Path, **how: Any) -> Any:
    ops = (
        [T.RandomResizedCrop((6, 8)), T.RandomHorizontalFlip()]
        if how.get("backend") == "dali-own"
        else [T.Resize((6, 8))]
    )
    return fastload.DataLoader(fastload.open(str(folder), ops), 1, **how)


def sentence(texts: list[str]) -> list[str]:
    """Ours say besides which sample it is, and what to do."""
    return [
        text
        if text == "ok"
        else text[text.index("Image size") :].removesuffix("); mend or remove the file")
        for text in texts
    ]


@pytest.fixture(autouse=True)
def before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS)  # put back at the end


@pytest.mark.parametrize("most", LIMITS)
@pytest.mark.parametrize("how", HOW)
def test_errors_and_warnings_are_pillows(folder: Path, how: str, most: int | None) -> None:
    loader = ours(folder, **HOW[how])
    if how == "by index":
        assert outcomes(loader)[0] == ["ok"] * 4  # which collects it
    Image.MAX_IMAGE_PIXELS = most
    want, warned = outcomes(theirs(folder))
    got, said = outcomes(loader)
    assert sentence(got) == want
    assert sorted(set(said)) == sorted(set(warned))  # who opens a file twice warns twice
    if how in ("threads", "caller's thread"):
        assert said == warned


def test_the_value_counts_that_stands_when_images_are_decoded(folder: Path) -> None:
    loader = ours(folder, num_workers=2)
    assert outcomes(loader)[0] == ["ok"] * 4
    Image.MAX_IMAGE_PIXELS = 600
    assert [text == "ok" for text in outcomes(loader)[0]] == [True, False, False, True]
    Image.MAX_IMAGE_PIXELS = None
    assert outcomes(loader) == (["ok"] * 4, [])


def test_the_error_is_pillows_and_a_sample_error_with_its_text(folder: Path) -> None:
    Image.MAX_IMAGE_PIXELS = 599
    with pytest.raises(Image.DecompressionBombError) as caught:
        next(iter(ours(folder)))
    assert isinstance(caught.value, SampleError)
    assert str(caught.value) == (
        f"{folder}/a/0.jpg, sample 0: cannot be decoded (Image size (1200 pixels) exceeds limit of "
        "1198 pixels, "
        "could be decompression bomb DOS attack.); mend or remove the file"
    )


@pytest.mark.parametrize("how", ["caller's thread", "threads", "torch"])
def test_a_warning_that_the_program_makes_an_error_is_one_of_its_sample(
    folder: Path, how: str
) -> None:
    Image.MAX_IMAGE_PIXELS = 2399
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        batches = iter(ours(folder, **HOW[how]))
        next(batches)
        with pytest.raises(Image.DecompressionBombWarning, match="2400 pixels") as caught:
            next(batches)
        assert isinstance(caught.value, SampleError)
        assert len([next(batches), next(batches)]) == 2


def test_others_stand_in_for_what_is_too_large(folder: Path) -> None:
    Image.MAX_IMAGE_PIXELS = 600
    data = fastload.open(str(folder), [T.Resize((6, 8))])
    loader = fastload.DataLoader(data, 2, on_error="substitute", max_bad=1.0, num_workers=2)
    assert sum(len(labels) for _, labels in loader) == 4
    assert loader.stats()["bad_samples"] >= 2


@pytest.mark.skipif(bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}")
@pytest.mark.parametrize("most", [None, 1200, 600])
def test_jpegs_in_ffcvs_files_count_and_raw_pixels_do_not(tmp_path: Path, most: int | None) -> None:
    jpegs = [("jpg", encoded(textured(*size, 1), "JPEG"), *size) for size in SIZES]
    cells = [*jpegs, ("raw", textured(60, 50, 3))]  # Pillow never opens these
    rows = [[cell, number] for number, cell in enumerate(cells)]
    (tmp_path / "x.beton").write_bytes(Writer([("image", "image"), ("label", "int")], rows).bytes())
    Image.MAX_IMAGE_PIXELS = most
    data = fastload.open(str(tmp_path / "x.beton"), [T.Resize((6, 8))])
    want = [
        "ok" if most is None or height * width <= 2 * most else "Image size"
        for height, width in SIZES
    ]
    for backend in ("ffcv", "native", "torch"):
        got, said = outcomes(fastload.DataLoader(data, 1, backend=backend))
        assert [text if text == "ok" else "Image size" for text in got[:4]] == want[:4]
        assert got[4] == "ok"
        over = {
            f"({height * width} pixels)"
            for height, width in SIZES
            if most and most < height * width <= 2 * most
        }
        assert {text[text.index("(") : text.index(")") + 1] for text in said} == over


@pytest.mark.long
def test_images_beyond_pillows_own_limit_are_decoded_where_there_is_none(tmp_path: Path) -> None:
    """Larger than the native engine takes: Pillow's pixels."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "0.png").write_bytes(giants.flat("PNG", 20, 9_000_000, mode="1"))
    Image.MAX_IMAGE_PIXELS = None
    ((images, _),) = fastload.DataLoader(
        fastload.open(str(tmp_path), [T.CenterCrop((6, 8)), T.ToImage()]), 1
    )
    assert images.shape == (1, 3, 6, 8)
    assert not images.any()
