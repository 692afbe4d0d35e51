"""Shared memory of batches that is used again: when, and all that a program can see of it."""

import copy
import multiprocessing
import os
import signal
import threading

import numpy as np
import pytest
import torch
from torch.multiprocessing import reductions
from torch.utils.data import DataLoader, Dataset

import fastload
from fastload.image.lazy import SUPPORTED
from fastload.system import ledger, segments
from fastload.system.receiving import Receiver
from fastload.system.segments import Segments, Sender

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="lazy images need Pillow 11.1"),
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memory files"),
    pytest.mark.filterwarnings("ignore::fastload.FallbackWarning"),
]
SIZE, KEPT = 4 * 3 * 5 * 7, 4  # bytes of a tensor, and batches that are kept
FORK = multiprocessing.get_context("fork")


class Ends:
    """A worker's segments and the program's, in one process."""

    def __init__(self, monkeypatch):
        self.receiver = Receiver(1)
        sender = Sender(self.receiver.token, self.receiver.ledger, KEPT)
        self.worker = Segments(sender, 0)
        self.worker.thread = threading.get_ident()
        monkeypatch.setattr(segments, "_now", [self.worker])
        assert self.worker.storage(SIZE) is None  # a size that came once
        self.worker.over()

    def take(self, size=SIZE):
        self.receiver.look()
        storage = self.worker.storage(size)
        self.worker.over()
        return None if storage is None else tensor(storage)

    def send(self, made):
        function, arguments = self.worker.sent(made.untyped_storage())
        return tensor(function(*arguments))

    def free(self):
        """Files of the memory that the worker can take now."""
        taken = [self.take() for _ in range(KEPT)]
        return {self.file(made) for made in taken if made is not None}

    def file(self, made):
        return os.fstat(self.worker._at[made.data_ptr()].file).st_ino

    def batch(self, value=0):
        """What the program gets."""
        return self.send(self.take().fill_(value))


def tensor(storage):
    return torch.empty(0, dtype=torch.float32).set_(storage)


@pytest.fixture
def ends(monkeypatch):
    return Ends(monkeypatch)


def number(batch):
    """Of the memory that it lies in."""
    return reductions.fd_id(batch.untyped_storage()._share_fd_cpu_()[0])[0]


def test_memory_is_used_again_once_nobody_holds_it(ends):
    made = ends.take()
    file = ends.file(made)
    first = ends.send(made.fill_(1))
    del made
    second = ends.batch(2)
    assert file not in ends.free()
    assert (first == 1).all()
    del first
    assert file in ends.free()
    third = ends.batch(3)
    assert (second == 2).all()
    assert (third == 3).all()


@pytest.mark.parametrize(
    "hold",
    [
        lambda batch: batch[1:],
        lambda batch: batch.numpy(),
        lambda batch: batch.untyped_storage(),
        torch.utils.dlpack.to_dlpack,
        lambda batch: memoryview(batch.numpy()),
        lambda batch: batch.detach().view(torch.int32),
    ],
)
def test_what_is_held_in_any_way_is_not_used_again(ends, hold):
    made = ends.take()
    file = ends.file(made)
    held = hold(ends.send(made))
    del made
    assert file not in ends.free()
    del held
    assert file in ends.free()


def test_a_tensor_that_the_worker_keeps_is_not_used_again(ends):
    kept = ends.take()
    for value in range(3):
        out = ends.send(kept.fill_(value))
        assert (out == value).all()
        assert ends.take().data_ptr() != kept.data_ptr()
    one, other = ends.send(kept), ends.send(kept)
    assert one.data_ptr() == other.data_ptr()  # as PyTorch, which knows what it has
    del one
    ends.batch()
    assert (other == 2).all()


def test_what_goes_to_another_process_does_not_come_back(ends):
    made = ends.take()
    file = ends.file(made)
    batch = ends.send(made.fill_(5))
    del made
    queue, answers = torch.multiprocessing.get_context("fork").SimpleQueue(), FORK.SimpleQueue()

    def other():
        got = queue.get()
        answers.put("ready")
        answers.put(bool((got == 5).all())) if queue.get() else None

    process = FORK.Process(target=other)
    process.start()
    queue.put(batch)
    assert answers.get() == "ready"
    del batch
    ends.worker.off = False  # this process is both ends, and has forked
    for _ in range(4):
        assert file not in ends.free()
        ends.batch(7)
    queue.put(True)
    assert answers.get() is True
    process.join()


def test_what_a_fork_may_see_does_not_come_back(ends):
    made = ends.take()
    file = ends.file(made)
    batch = ends.send(made.fill_(5))
    del made
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read, 1)
        os._exit(not bool((batch == 5).all()))
    del batch
    ends.worker.off = False  # as above
    for _ in range(4):
        assert file not in ends.free()
        ends.batch(7)
    os.write(write, b"x")
    assert os.waitpid(child, 0)[1] == 0
    assert len(ends.receiver._known[0]) <= KEPT  # the program has given it up, too


def test_a_worker_that_forks_uses_nothing_again(ends):
    ends.batch()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert ends.take() is None


def test_tensors_are_as_pytorchs(ends):
    batch = ends.batch(3)
    storage = torch.UntypedStorage._new_shared(SIZE)
    stock = tensor(torch.UntypedStorage._new_shared_fd_cpu(*storage._share_fd_cpu_()))
    for one in (batch, stock):
        assert one.is_shared()
        assert one.untyped_storage().nbytes() == SIZE
        assert not one.untyped_storage().resizable()
        with pytest.raises(RuntimeError, match="not resizable"):
            one.view(-1).resize_(1000)
        assert one.share_memory_().data_ptr() == one.data_ptr()
        assert one.add_(1).is_contiguous()
        assert torch.equal(copy.deepcopy(one), one)
        assert one[:5].resize_(3).shape == (3,)


def test_kept_memory_is_bounded(ends):
    held = [ends.batch(value) for value in range(KEPT)]
    assert ends.take() is None  # PyTorch's own way
    assert [int(batch[0]) for batch in held] == list(range(KEPT))
    held.clear()
    ends.worker._sizes[SIZE * KEPT] = None  # another size, as large as all of it
    ends.send(ends.take(SIZE * KEPT))
    assert [known.size for known in ends.receiver._known[0].values()] == [SIZE * KEPT]


def test_sizes_that_come_once_are_left_to_pytorch(ends):
    assert all(ends.take(size) is None for size in range(4, 400, 4))
    assert ends.take() is None  # it was long ago
    assert ends.take() is not None


def test_more_than_is_remembered_at_once(ends):
    held = []
    for _ in range(ledger.SLOTS + 5):
        ends.worker._most = 1 << 20
        held.append(ends.take())
    assert [one is None for one in held] == [False] * ledger.SLOTS + [True] * 5


def test_no_memory_file(ends, monkeypatch):
    def none(*_):
        raise OSError

    monkeypatch.setattr(os, "memfd_create", none)
    assert ends.take() is None
    assert ends.worker.off


def test_a_late_batch_of_an_iterator_that_is_gone(ends):
    function, arguments = ends.worker.sent(ends.take().untyped_storage())
    known = list(ends.receiver._known)
    ends.receiver = None
    assert not any(known)
    with pytest.raises(RuntimeError, match="the iterator of this batch is gone"):
        function(*arguments)


def test_other_threads_of_a_worker_send_as_pytorch_does(ends):
    ends.worker.thread = 0
    assert ends.worker.sent(ends.take().untyped_storage()) is None


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


def test_a_killed_worker_leaves_no_memory_behind():
    before, named = memories(), set(os.listdir("/dev/shm"))
    batches = iter(ours(Numbers()))
    kept = [next(batches) for _ in range(6)]
    assert memories() > before
    os.kill(batches._workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        list(batches)
    del batches
    assert kept[5]["image"][0, 0, 0].tolist() == [20.0] * 7
    del kept
    assert memories() == before
    assert set(os.listdir("/dev/shm")) <= named


def test_epochs_that_end_early():
    loader, before = ours(Numbers(), persistent_workers=True), memories()
    held = None
    for _ in range(4):
        for step, batch in enumerate(loader):
            if step == 5:
                held = batch["image"]
                break
    assert held[:, 0, 0, 0].tolist() == [20.0, 21.0, 22.0, 23.0]
    assert memories() - before <= 2 * segments.SLOTS
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
    said = ours(Numbers(), prefetch_factor=3).explain().splitlines()
    assert said[-2] == (
        "  batches lie in shared memory that is used again: of each worker, 6 batches at most"
    )


def test_another_sharing_strategy(monkeypatch, ends):
    monkeypatch.setattr(segments, "get_sharing_strategy", lambda: "file_system")
    assert ends.take() is None


@pytest.mark.long
def test_workers_that_are_not_forked():
    stock = list(DataLoader(Numbers(), 4))
    options = {"multiprocessing_context": "spawn", "persistent_workers": True}
    loader = fastload.DataLoader(Numbers(), 4, num_workers=1, **options)
    for _ in range(2):
        for batch, wanted in zip(loader, stock, strict=True):
            assert torch.equal(batch["image"], wanted["image"])
            assert batch["name"] == wanted["name"]
