"""What the GPU's decoder does with indexes and bytes that lie: a refusal or a flag, and nothing
written elsewhere.
"""

import numpy as np
import pytest

from fastload import _native as native

from .device_helpers import crops_of, decoded, job_of, on_cpu
from .helpers import jpeg, scene
from .hostile_jpegs import SEAL, SIZE, a_box, scan_of, seal, seeds
from .jpeg_writer import Writer
from .test_hostile import mutated
from .test_jpeg_engine import FACTORS

block = pytest.importorskip(
    "fastload._test_block", reason="needs a build with FASTLOAD_TEST_MODULES"
)

BAD_SEGMENT, BAD_BLOCK = 1, 2


def outcomes(folder, payloads, indexes, boxes):
    """Of each: the device's px of the box, or None where it was refused or flagged."""
    crops = crops_of(boxes, *SIZE)
    crops[:, 4:6] = crops[:, 2:4]
    out, flags, reasons = decoded(block, job_of(folder, payloads, indexes), crops, *SIZE)
    good = [not reasons[n] and not flags[n] for n in range(len(payloads))]
    return [out[n, : box[2], : box[3]] if good[n] else None for n, box in enumerate(boxes)], flags


def check(folder, payloads, indexes, boxes):
    """The device takes what the CPU takes by the same index, and gives its px; how many it took,
    and flagged.
    """
    found, flags = outcomes(folder, payloads, indexes, boxes)
    for data, index, box, got in zip(payloads, indexes, boxes, found, strict=True):
        certain = native.probe(data)[0] == native.OK  # of what is not, neither sees anything
        want = native.jpeg_region(data, box, index, "best")[0] if certain else None
        assert (got is None) == (want is None)
        if want is not None:
            np.testing.assert_array_equal(got, want)
    return sum(got is not None for got in found), sum(map(bool, flags.values()))


def test_indexes_that_lie(tmp_path):
    rng = np.random.default_rng(6)
    payloads, indexes = [], []
    for data in seeds():
        index = native.jpeg_index(data, int(rng.integers(0, 4)))
        for _ in range(100):
            bad = bytearray(index)
            for _ in range(int(rng.integers(1, 4))):
                bad[int(rng.integers(36, len(bad) - SEAL))] ^= 1 << int(rng.integers(0, 8))
            payloads.append(data)
            indexes.append(seal(bytes(bad)))
    taken, flagged = check(tmp_path, payloads, indexes, [a_box(rng) for _ in payloads])
    assert taken > 30
    assert flagged > 200


def reindexed(index, data):
    """The index of a file before it was changed, made out to be of what it is now."""
    changed = bytearray(index)
    changed[20:28] = native.xxh3(data).to_bytes(8, "little")
    return seal(bytes(changed))


def test_damaged_scans(tmp_path):
    """Bits flipped where an index says that all is well."""
    rng = np.random.default_rng(7)
    payloads, indexes = [], []
    for n, data in enumerate(seeds() * 60):
        bad = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            bad[int(rng.integers(scan_of(data) + 12, len(data) - 2))] ^= 1 << int(
                rng.integers(0, 8)
            )
        payloads.append(bytes(bad))
        indexes.append(reindexed(native.jpeg_index(data, 1 + n % 4), bytes(bad)))
    taken, flagged = check(tmp_path, payloads, indexes, [a_box(rng) for _ in payloads])
    assert taken > 100
    assert flagged > 150


def test_mutants_with_the_index_of_the_file_before(tmp_path):
    rng = np.random.default_rng(2)
    payloads, indexes = [], []
    for n, data in enumerate(seeds() * 10):
        other = mutated(data, rng)
        if other != data and native.probe(other)[1:3] == SIZE:
            payloads.append(other)
            indexes.append(native.jpeg_index(data, 1 + n % 5))
    assert len(payloads) > 50
    assert check(tmp_path, payloads, indexes, [a_box(rng) for _ in payloads]) == (0, 0)


def test_blocks_that_no_encoder_makes_are_flagged(tmp_path):
    """Built by quantisers a hundred times as coarse as those that the coefficients were made for;
    the index is right.
    """
    data = bytearray(
        Writer(32, 40, FACTORS["4:4:4"], quant=[8] * 64, wide=True, density=0.9).encode()
    )
    at = data.index(b"\xff\xdb") + 5
    data[at : at + 128] = (900).to_bytes(2, "big") * 64
    index = seal(
        native.jpeg_index(
            bytes(
                Writer(32, 40, FACTORS["4:4:4"], quant=[8] * 64, wide=True, density=0.9).encode()
            ),
            2,
        )
    )
    changed = bytearray(reindexed(index, bytes(data)))
    changed[28:36] = native.xxh3(bytes(data[: data.index(b"\xff\xda") + 14])).to_bytes(8, "little")
    lie = seal(bytes(changed))
    assert native.jpeg_region(bytes(data), (0, 0, 32, 40), lie, "best")[0] is None
    _, flags, reasons = decoded(
        block, job_of(tmp_path, [bytes(data)], [lie]), crops_of([(0, 0, 32, 40)], 8, 8), 8, 8
    )
    assert (reasons, flags) == ([""], {0: BAD_BLOCK})


def test_a_flag_is_of_one_image_only(tmp_path):
    data = [jpeg(scene(*SIZE, n), "4:2:0") for n in range(5)]
    indexes = [native.jpeg_index(one, 2) for one in data]
    bad = bytearray(data[2])
    bad[scan_of(data[2]) + 200] ^= 0x41
    payloads = [*data[:2], bytes(bad), *data[3:]]
    indexes[2] = reindexed(indexes[2], bytes(bad))
    crops = crops_of([(0, 0, *SIZE)] * 5, 20, 24)
    out, flags, _ = decoded(block, job_of(tmp_path, payloads, indexes), crops, 20, 24)
    assert flags == {0: 0, 1: 0, 2: BAD_SEGMENT, 3: 0, 4: 0}
    want = on_cpu(job_of(tmp_path, data, [b""] * 5), crops, "bilinear", 20, 24, "pillow13")
    np.testing.assert_array_equal(out[[0, 1, 3, 4]], want[[0, 1, 3, 4]])
