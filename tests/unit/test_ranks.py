"""Samplers that ask torch.distributed before there is a process group."""

import pytest

from fastload import BucketSampler, DistributedSampler, ShuffleSampler, TokenSampler
from fastload.errors import UsageError

SIZES = [(40, 60)] * 8
MAKERS = {
    "DistributedSampler": lambda **more: DistributedSampler(8, **more),
    "ShuffleSampler": lambda **more: ShuffleSampler(8, **{"num_replicas": None, **more}),
    "BucketSampler": lambda **more: BucketSampler(SIZES, 2, pixels=1024, step=8, **more),
    "TokenSampler": lambda **more: TokenSampler(SIZES, 64, lengths=16, **more),
}


@pytest.mark.parametrize("name", MAKERS)
def test_ranks_of_a_launcher_need_their_process_group(monkeypatch, name):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert MAKERS[name]().num_replicas == 1  # no launcher: it would tell the rank too
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(UsageError) as caught:
        MAKERS[name]()
    assert str(caught.value) == (
        f"{name}: torch.distributed has no process group yet, and WORLD_SIZE is 2; call "
        "init_process_group before, or give num_replicas and rank"
    )
    given = MAKERS[name](num_replicas=2, rank=1)
    assert (given.num_replicas, given.rank) == (2, 1)
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert MAKERS[name]().num_replicas == 1
