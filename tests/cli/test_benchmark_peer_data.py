"""What the peers of the benchmark are given: the files' own bytes, the same crops."""

import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli.test_benchmark_peers import data, draws


@pytest.mark.parametrize(("width", "height"), [(500, 375), (1, 3), (900, 20)])
def test_crops_are_within_the_image_and_torchvisions_on_average(width, height):
    transforms = pytest.importorskip("torchvision.transforms")
    torch = pytest.importorskip("torch")
    random.seed(0)
    torch.manual_seed(0)
    ours = np.array([draws.crop(width, height) for _ in range(1500)])
    assert (ours >= [0, 0, 1, 1]).all()
    assert (ours[:, :2] + ours[:, 2:] <= [width, height]).all()
    image = torch.empty((3, height, width), device="meta")
    theirs = np.array(
        [
            transforms.RandomResizedCrop.get_params(image, (0.08, 1.0), (3 / 4, 4 / 3))
            for _ in range(1500)
        ]
    )[:, [1, 0, 3, 2]]
    # Standard errors of 1,500 draws are below 1.5 % of the side.
    assert np.abs(ours.mean(0) - theirs.mean(0)).max() <= max(0.06 * max(width, height), 0.06)


def test_tars_hold_the_files_own_bytes(folder, tmp_path):
    data.tars(folder, tmp_path / "tar")
    found = {}
    for path in sorted((tmp_path / "tar").iterdir()):
        with data.tarfile.open(path) as tar:
            found |= {member.name: tar.extractfile(member).read() for member in tar}
    samples = data.fastload.open(folder).samples
    assert len(found) == 2 * len(samples) == 80
    for place, (path, label) in enumerate(samples):
        assert found[f"{place:08}.jpg"] == Path(path).read_bytes()
        assert found[f"{place:08}.cls"] == str(label).encode()


def test_further_sets(folder, tmp_path):
    small = data.fastload.open(
        data.others(folder, tmp_path / "small", "png", data.SMALL, 1000)
    ).samples
    assert len(small) == 40
    with Image.open(small[0][0]) as image:
        assert (image.format, max(image.size) <= data.SMALL, image.width != image.height) == (
            "PNG",
            True,
            True,
        )
    many = data.fastload.open(data.many(folder, tmp_path / "many", 90, classes=7)).samples
    assert len(many) == 90
    assert {label for _, label in many} == set(range(7))
