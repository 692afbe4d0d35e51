"""Small data sets for verbs whose units other processes do, and workers that may be killed."""

import numpy as np
import pytest

from fastload.conversion import job, verify, where

from .fleet_helpers import die, die_untold, fleet, nothing

ACTS = {"all go on": nothing, "one is killed": die(1, "0", "1"),
        "one is killed before it tells": die_untold("0", "1")}  # fmt: skip


@pytest.fixture(
    params=[
        pytest.param(act, marks=pytest.mark.long) if act != "one is killed" else act for act in ACTS
    ]
)
def on(request):
    """No unit is given to a second worker, whose images count too."""
    return job.On(fleet(2, ACTS[request.param]), slow=1e9)


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


@pytest.fixture
def damaged(tools, small, tmp_path):
    """Shards of one or two samples: an image, a header, a sidecar and a whole shard are bad."""
    out = tmp_path / "out"
    tools.convert(small, out, shard_bytes=3000)
    shards, sidecars = sorted(out.glob("*.tar")), sorted(out.glob("*.seek"))
    flip(shards[0], 700)
    flip(shards[1], 3)
    flip(sidecars[1], 20)
    shards[-1].unlink()
    return out


def by_threads(folder):
    return verify.verify(verify.prepare(str(folder)), 1)


def rows_by_threads(folder, condition):
    """int64 [K]: the rows of the index for which the condition holds, in order."""
    index = verify.prepare(str(folder))
    return np.flatnonzero(where.mask(index.where, index.classes, index.batches, condition))


def rows_of(found):
    """The same of what other processes found; there may be up to 7 bits more."""
    return np.flatnonzero(np.unpackbits(found.bits, bitorder="little"))
