"""A small part of flips_release."""

from collections import Counter
from random import Random

from fastload.conversion import verify
from tests.conversion import flips_release


def test_flipped_bits_are_met_by_real_opens_and_reads(tmp_path):
    out, found = flips_release.make(tmp_path), Counter()
    flips_release.check_images(out, 25, Random(1), found)
    flips_release.check_seeks(out, 25, Random(2), found)
    assert found == {"flips of images": 25, "flips of seek indexes": 25}
    assert verify.verify(verify.prepare(str(out)), 1).damages == ()
