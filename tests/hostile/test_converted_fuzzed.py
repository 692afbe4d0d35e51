"""The fuzz targets of converted shards' index hold for what they begin with, and for what a fuzzer
makes of it first.
"""

import random

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from fastload.sources import open_source, shard_rows
from fuzz import converted


@pytest.mark.parametrize("target", converted.TARGETS)
def test_seeds_and_what_is_made_of_them(tmp_path, monkeypatch, target):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))  # groups sets its own
    seeds, run = converted.TARGETS[target]
    (seed,), draw = seeds(tmp_path), random.Random(3)
    run(tmp_path, seed)
    assert len(open_source(tmp_path / "out")) == len(converted.LEAF)
    for _ in range(60):
        changed = bytearray(seed[: draw.choice((len(seed), draw.randrange(1, len(seed))))])
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        run(tmp_path, bytes(changed))
    assert shard_rows.SMALL == 1 << 22
