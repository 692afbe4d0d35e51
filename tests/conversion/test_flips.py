"""A small part of flips_release."""

from collections import Counter
from random import Random

import numpy as np
import pytest

import fastload
from fastload.conversion import verify
from fastload.errors import SampleError
from fastload.sources import open_source
from tests.conversion import flips_release


def test_flipped_bits_are_met_by_real_opens_and_reads(tmp_path):
    out, found = flips_release.make(tmp_path), Counter()
    flips_release.check_images(out, 25, Random(1), found)
    flips_release.check_seeks(out, 25, Random(2), found)
    assert found == {"flips of images": 25, "flips of seek indexes": 25}
    assert verify.verify(verify.prepare(str(out)), 1).damages == ()


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_flipped_bit_of_an_image_is_no_image_for_any_backend(tmp_path, backend):
    """Low bits of the last coded bytes, which still decode."""
    out = flips_release.make(tmp_path)
    source = open_source(str(out))
    place = source.locate(np.array([5]))
    at = int(place.offset[0]) + int(place.size[0]) - 30
    with flips_release.flipped(out / "shard-000000.tar", at, 1):
        data = fastload.open(
            str(out), [fastload.transforms.Resize(16), fastload.transforms.CenterCrop(16)]
        )
        with pytest.raises(
            SampleError, match=r"checksum mismatch \(got [0-9a-f]{16}, want [0-9a-f]{16}\)"
        ):
            data[5]
        loader = fastload.DataLoader(data, 8, backend=backend, num_workers=0)
        with pytest.raises(
            SampleError, match=r"checksum mismatch \(got [0-9a-f]{16}, want [0-9a-f]{16}\)"
        ):
            next(iter(loader))
