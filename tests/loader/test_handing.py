"""Batches of worker processes in memory that is used again: loaders, whose batches are those of the
stock loader.
"""

import gc
import os
import signal

import numpy as np
import pytest
import torch
from torch.multiprocessing import reductions
from torch.utils.data import DataLoader, Dataset

import fastload
from fastload.image.lazy import SUPPORTED
from fastload.system import ledger
from tests.loader.explained import MEMORY

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="lazy images need Pillow 11.1"),
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memory files"),
    pytest.mark.filterwarnings("ignore::fastload.FallbackWarning"),
]


class Numbers(Dataset):
    """Of the sample, in several types and shapes."""

    def __init__(self, ragged=False):
        self.ragged = ragged

    def __len__(self):
        return 48

    def __getitem__(self, index):
        rows = index // 4 if self.ragged else 5
        image = torch.full((3, rows, 7), float(index))
        return {"image": image, "more": [np.full(3, index), index], "name": str(index)}


def number(batch):
    """Of the memory that it lies in."""
    return reductions.fd_id(batch.untyped_storage()._share_fd_cpu_()[0])[0]


def ours(data, **options):
    return fastload.DataLoader(data, 4, num_workers=2, **options)


def flat(batch):
    if isinstance(batch, dict):
        batch = [batch[key] for key in sorted(batch)]
    return [leaf for part in batch for leaf in flat(part)] if isinstance(batch, list) else [batch]


def same(one, other):
    return all(
        torch.equal(a, b)
        and (a.stride(), a.dtype, a.is_shared()) == (b.stride(), b.dtype, b.is_shared())
        if isinstance(a, torch.Tensor)
        else a == b
        for a, b in zip(flat(one), flat(other), strict=True)
    )


@pytest.mark.parametrize("ragged", [True, False])
def test_batches_are_the_stock_loaders(ragged):
    data = Numbers(ragged)
    stock = list(DataLoader(data, 4, num_workers=1))
    loader = ours(data, persistent_workers=True)
    assert all(same(a, b) for a, b in zip(loader, stock, strict=True))
    held = list(loader)
    assert all(same(a, b) for a, b in zip(held, stock, strict=True))
    assert all(same(a, b) for a, b in zip(loader, stock, strict=True))
    assert all(same(a, b) for a, b in zip(held, stock, strict=True))


def test_few_files_of_memory_serve_an_epoch():
    loader = ours(Numbers(), persistent_workers=True)
    list(loader)
    files = {number(batch["image"]) for batch in loader}
    assert len(files) <= 2 * 5
    assert files & {number(batch["image"]) for batch in loader}


def memories():
    """Files of such memory that this process has open."""
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    return sum(
        os.readlink(link).startswith("/memfd:fastload") for link in links if os.path.islink(link)
    )


def shared():
    """Names of shared memory. Folders of other tests come and go meanwhile."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("fastload-test-")}


def test_a_killed_worker_leaves_no_memory_behind():
    before, named = memories(), shared()
    batches = iter(ours(Numbers()))
    kept = [next(batches) for _ in range(6)]
    assert memories() > before
    os.kill(batches._workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        list(batches)
    del batches
    assert kept[5]["image"][0, 0, 0].tolist() == [20.0] * 7
    del kept
    gc.collect()  # the error may have come in contextlib's ExitStack, whose frame then holds itself
    assert memories() == before
    assert shared() <= named


def test_epochs_that_end_early():
    loader, before = ours(Numbers(), persistent_workers=True), memories()
    held = None
    for _ in range(4):
        for step, batch in enumerate(loader):
            if step == 5:
                held = batch["image"]
                break
    assert held[:, 0, 0, 0].tolist() == [20.0, 21.0, 22.0, 23.0]
    assert memories() - before <= 2 * ledger.SLOTS
    del loader
    assert held[:, 0, 0, 0].tolist() == [20.0, 21.0, 22.0, 23.0]


def as_they_are(samples):
    return tuple(samples), torch.stack([sample["image"] for sample in samples])


def test_a_collate_fn_of_the_programs_own():
    (samples, images), *_ = ours(Numbers(), collate_fn=as_they_are)
    assert [sample["name"] for sample in samples] == list("0123")
    assert images[:, 0, 0, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert images.is_shared()


@pytest.mark.parametrize(
    "options", [{"batch_size": None}, {"num_workers": 0}, {"lazy_images": False}]
)
def test_where_memory_is_not_used_again(options):
    said = fastload.DataLoader(Numbers(), **{"num_workers": 2, **options}).explain()
    assert "shared memory" not in said


def test_what_explain_says():
    assert ours(Numbers()).explain().splitlines()[-2] == f"  {MEMORY}"
    more = ours(Numbers(), prefetch_factor=3).explain().splitlines()[-2]
    assert more == f"  {MEMORY.replace('5', '6')}"


@pytest.mark.long
def test_workers_that_are_not_forked():
    stock = list(DataLoader(Numbers(), 4))
    options = {"multiprocessing_context": "spawn", "persistent_workers": True}
    loader = fastload.DataLoader(Numbers(), 4, num_workers=1, **options)
    for _ in range(2):
        for batch, wanted in zip(loader, stock, strict=True):
            assert torch.equal(batch["image"], wanted["image"])
            assert batch["name"] == wanted["name"]
