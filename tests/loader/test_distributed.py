"""Ranks that are processes of their own, with torch.distributed between them (gloo)."""

import hashlib
import json
from pathlib import Path

import pytest
import torch

import fastload
from fastload import DistributedSampler, ShuffleSampler
from fastload import transforms as T

OPS = [T.RandomResizedCrop((8, 12)), T.RandomHorizontalFlip()]
RANK = """
import hashlib, json, os, sys
import torch
import torch.distributed as dist
import fastload
from fastload import transforms as T

root, bad_root, meeting, said, bad = sys.argv[1:6]
other = os.fork()
rank = "0" if other else "1"
dist.init_process_group("gloo", init_method="file://" + meeting, rank=int(rank), world_size=2)
torch.manual_seed(100 + int(rank))  # the ranks' own draws differ
ops = [T.RandomResizedCrop((8, 12)), T.RandomHorizontalFlip()]


def digests(loader):
    return [
        [hashlib.sha256(image.numpy().tobytes()).hexdigest(), int(label)]
        for batch in loader
        for image, label in zip(*batch)
    ]


out = {}
data = fastload.open(root, ops)
theirs = torch.utils.data.DistributedSampler(data, shuffle=True, seed=3)
loader = fastload.DataLoader(data, 4, sampler=theirs, num_workers=1)
engines = set()
for epoch in range(2):
    loader.set_epoch(epoch)
    out[f"epoch {epoch}"] = digests(loader)
    out[f"seed {epoch}"] = loader._progress.seed
    order = list(theirs)
    labels = [label for _, label in out[f"epoch {epoch}"]]
    out[f"torch's order {epoch}"] = [data.samples[i][1] for i in order] == labels
    engines.add(loader._engine)
out["engines"] = len(engines)
iterator = iter(loader)
next(iterator), next(iterator)
out["state"] = loader.state_dict()
own = fastload.DistributedSampler(data, seed=5)
out["own"] = [own.num_replicas, own.rank, list(own)]
# an epoch of this rank's own: nothing is exchanged
alone = fastload.DataLoader(data, 4, shuffle=True)
if rank == "1":
    next(iter(alone))
whole = fastload.DistributedSampler(data, seed=5, drop_last=True)
mixed = fastload.DataLoader(data, 4, sampler=whole, seed=6, mix=T.MixUp(alpha=1.0))
out["ratios"] = [sorted(set(labels.flatten().tolist()))[1:2] for _, labels in mixed]
policy = {"on_error": "substitute", "max_bad": 9, "bad_samples": bad}
sampler = fastload.DistributedSampler(data, seed=5)
poor = fastload.DataLoader(fastload.open(bad_root, ops), 4, sampler=sampler, seed=6, **policy)
out["substituted"] = digests(poor)
with open(said + rank, "w") as file:
    json.dump(out, file)
dist.destroy_process_group()
if other:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]))
"""


@pytest.fixture(scope="module")
def ranks(program, folder, tmp_path_factory):
    """What each of two ranks found."""
    place = tmp_path_factory.mktemp("ranks")
    for number in range(40):
        path = place / "data" / f"class{number % 3}" / f"{number:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{folder}/class{number % 3}/{number:03d}.jpg", "rb") as file:
            path.write_bytes(b"no image" if number % 9 == 4 else file.read())
    said, bad = place / "said", place / "bad.jsonl"
    done = program(
        "-c", RANK, folder, str(place / "data"), str(place / "meeting"), str(said), str(bad)
    )
    assert done.returncode == 0, done.stderr
    return (
        [json.loads(Path(f"{said}{rank}").read_text()) for rank in range(2)],
        str(place / "data"),
        bad,
    )


def digests(loader):
    """As in RANK."""
    return [
        [hashlib.sha256(image.numpy().tobytes()).hexdigest(), int(label)]
        for batch in loader
        for image, label in zip(*batch, strict=True)
    ]


def test_all_ranks_have_rank_0s_seed(ranks):
    (zero, one), _, _ = ranks
    assert zero["seed 0"] == one["seed 0"] != zero["seed 1"] == one["seed 1"]
    assert zero["state"] == one["state"]
    assert (
        zero["state"]["world"],
        zero["state"]["batch"],
        zero["state"]["position"],
        zero["state"]["epoch"],
    ) == (2, 8, 16, 2)


def test_pytorchs_distributed_sampler_keeps_its_order(ranks):
    for rank in ranks[0]:
        assert rank["torch's order 0"]
        assert rank["torch's order 1"]
        assert len(rank["epoch 0"]) == len(rank["epoch 1"]) == 20
        assert rank["epoch 0"] != rank["epoch 1"]


def test_one_process_gives_the_same_pictures(ranks, folder):
    """World size 2, then 1, by the state."""
    zero, one = ranks[0]
    state = {
        **zero["state"],
        "epoch": 1,
        "order_epoch": 1,
        "step": 0,
        "position": 0,
        "seed": zero["seed 1"],
    }
    data = fastload.open(folder, OPS)
    sampler = torch.utils.data.DistributedSampler(data, 1, 0, shuffle=True, seed=3)
    loader = fastload.DataLoader(data, 8, sampler=sampler)
    loader.load_state_dict(state)
    found = digests(loader)
    both = [row for pair in zip(zero["epoch 1"], one["epoch 1"], strict=True) for row in pair]
    assert found == both


def test_threads_stay_over_set_epoch(ranks):
    assert [rank["engines"] for rank in ranks[0]] == [1, 1]


def test_own_sampler_asks_the_process_group(ranks):
    zero, one = (rank["own"] for rank in ranks[0])
    assert (zero[:2], one[:2]) == ([2, 0], [2, 1])
    assert sorted(zero[2] + one[2]) == list(range(40))
    assert zero[2] == list(ShuffleSampler(40, 5, num_replicas=2, rank=0))


def test_draws_of_a_batch_are_the_ranks_own(ranks):
    zero, one = ranks[0]
    assert len(zero["ratios"]) == len(one["ratios"]) == 5
    assert zero["ratios"] != one["ratios"]


def test_bad_images_on_two_ranks(ranks):
    """The ranks together have what one process has; each bad image is listed once."""
    (zero, one), root, bad = ranks
    data = fastload.open(root, OPS)
    alone = fastload.DataLoader(
        data, 8, sampler=DistributedSampler(40, seed=5), seed=6, on_error="substitute", max_bad=9
    )
    found = digests(alone)
    assert found == [
        row for pair in zip(zero["substituted"], one["substituted"], strict=True) for row in pair
    ]
    # The data set is in the order of classes: its sample numbers are not the files' numbers.
    wanted = {sample for sample, (path, _) in enumerate(data.samples) if int(path[-7:-4]) % 9 == 4}
    assert sorted(json.loads(line)["index"] for line in bad.read_text().splitlines()) == sorted(
        wanted
    )
