"""Shared memory of batches that is used again: when, and all that a program can see of it."""

import copy
import multiprocessing
import os
import threading

import pytest
import torch

from fastload.system import ledger, segments
from fastload.system.receiving import Receiver
from fastload.system.segments import Segments, Sender

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memory files"),
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
        os._exit(not bool((batch == 5).all()) or bool(ends.receiver._known[0]))
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


def test_another_sharing_strategy(monkeypatch, ends):
    monkeypatch.setattr(segments, "get_sharing_strategy", lambda: "file_system")
    assert ends.take() is None
