"""Every kind of bad JPEG through a whole loader:

Pillow's pixels, or one typed line; and the same from both targets of the own decoder.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import fastload
from fastload import _native as native
from fastload import transforms as T
from fastload.errors import SampleError

from .kinds import KINDS, WIDTH

NAMES = list(KINDS)
CROP = 9, 7  # height, width; px; the margins are even


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "a"
    folder.mkdir()
    for number, name in enumerate(NAMES):
        (folder / f"{number:02}.jpg").write_bytes(KINDS[name][0]())
    return folder


def outcomes(folder: Path, **how: object) -> Iterator[np.ndarray | str]:
    """Of each file: uint8 [3, H, W], or the error's text."""
    loader = fastload.DataLoader(
        fastload.open(str(folder.parent), [T.CenterCrop(CROP), T.ToImage()]), 1, **how
    )
    batches = iter(loader)
    for _ in NAMES:
        try:
            yield next(batches)[0][0].numpy()
        except SampleError as error:
            yield str(error)
    with pytest.raises(StopIteration):
        next(batches)


@pytest.mark.parametrize("how", [{}, {"num_workers": 2}, {"seek_index": "off"}], ids=str)
def test_each_kind_is_pillows_pixels_or_one_line(folder: Path, how: dict[str, object]) -> None:
    for number, (name, got) in enumerate(zip(NAMES, outcomes(folder, **how), strict=True)):
        path, reason = folder / f"{number:02}.jpg", KINDS[name][1]
        if reason is None:
            assert not isinstance(got, str), (name, got)
            with Image.open(path) as image:
                top, left = (image.height - CROP[0]) // 2, (image.width - CROP[1]) // 2
                want = np.asarray(image.convert("RGB"))[top : top + CROP[0], left : left + CROP[1]]
            np.testing.assert_array_equal(got, want.transpose(2, 0, 1), err_msg=name)
        else:
            assert (
                got
                == f"{path}, sample {number}: cannot be decoded ({reason}); mend or remove the file"
            ), name


@pytest.mark.parametrize("name", NAMES)
def test_both_targets_agree_and_are_the_librarys(name: str) -> None:
    data = KINDS[name][0]()
    _, height, _, _, _ = native.probe(data)
    box = (0, 0, max(1, min(height, 100)), WIDTH)
    pixels, reason = native.jpeg_region(data, box, None, "scalar")
    tuned, _ = native.jpeg_region(data, box, None, "best")
    assert (pixels is None) == (tuned is None) == bool(reason)
    if pixels is not None:
        np.testing.assert_array_equal(pixels, tuned)
        np.testing.assert_array_equal(pixels, native.decode(data)[: box[2]])
