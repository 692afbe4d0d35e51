"""What the fuzz target of values beside images begins with is read, whole and damaged."""

import numpy as np
import pytest

from fastload.sources import field_types
from fuzz import values


def test_seeds_are_values():
    seeds = values.values_seeds(None)
    read = 0
    for seed in seeds:
        values.run_values(None, seed)
        kind, declared = values.KINDS[seed[0]], values.TYPES[seed[1]]
        wanted = None if declared is None else field_types.parsed("x", declared)
        if wanted is None or (declared == "float32[2]" and kind in ("json", "bytes", "torch")):
            value = field_types.decoder(kind, wanted)[1](seed[2:])
            assert wanted is None or value.tolist() == [0.5, 2.0]
            read += 1
    assert read == len(seeds) // 3 + 3


def test_damaged_seeds():
    random, seeds = np.random.default_rng(3), values.values_seeds(None)
    for _ in range(600):
        damaged = bytearray(seeds[int(random.integers(len(seeds)))])
        for at in random.integers(0, len(damaged), 3).tolist():
            damaged[at] = int(random.choice([0, 1, 34, 127, 128, 255]))
        values.run_values(None, bytes(damaged[: int(random.integers(len(damaged) + 1))]))


def test_a_value_of_another_type_is_told(monkeypatch):
    monkeypatch.setattr(field_types, "_fitting", lambda found, _: found)
    seed = bytes([values.KINDS.index("int"), values.TYPES.index("float")]) + b"7"
    with pytest.raises(AssertionError, match="int as float"):
        values.run_values(None, seed)
