"""An epoch that another thread ends while this one takes its batches, as frameworks do by
`_shutdown_workers`: nothing is passed over, begun without its samples, or said to be done.
"""

import threading
from collections import deque

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.engine import feeding
from fastload.engine.epoch import Threaded
from fastload.engine.flight import Feed
from fastload.errors import BackendError
from tests.loader import detection_helpers as helpers
from tests.lowering.dataset_helpers import cifar
from tests.waiting import HANGS

COUNT, SIZE = 72, 4


def elsewhere(call):
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def loader(workers=1):
    data = cifar(count=COUNT, transform=[T.RandomCrop(24), T.ToImage()])
    return fastload.DataLoader(data, SIZE, num_workers=workers, seed=3, seek_index="off")


def test_batches_of_the_next_bundle_do_not_come_first(monkeypatch):
    close, begun, go_on = Threaded.close, threading.Event(), threading.Event()

    def late(self):
        begun.set()
        go_on.wait(HANGS)
        close(self)

    monkeypatch.setattr(Threaded, "close", late)
    batches, got = iter(loader()), []
    got += [next(batches) for _ in range(3)]
    ending = elsewhere(batches._shutdown_workers)
    assert begun.wait(HANGS)
    got += [next(batches)]  # of the same bundle
    go_on.set()
    ending.join()
    assert next(batches, None) is None
    for one, other in zip(got, loader(0), strict=False):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


class Ending(deque):
    """The epoch is ended just before a batch is taken."""

    def popleft(self):
        elsewhere(self.end).join()
        return super().popleft()


def test_a_bundle_that_is_dropped_while_it_is_taken():
    batches = iter(loader())
    next(batches)
    left = batches._batches.left = Ending(batches._batches.left)
    left.end = batches._shutdown_workers
    assert next(batches, None) is None


def test_joint_batches_that_are_dropped_while_one_is_taken(tmp_path):
    helpers.write_voc(tmp_path, 8)
    data = helpers.voc(tmp_path, helpers.preset("hflip"))
    made = fastload.DataLoader(data, 2, num_workers=1, collate_fn=helpers.collate)
    batches = iter(made)
    flights = batches._batches.flights = Ending(batches._batches.flights)
    flights.end = batches._shutdown_workers
    assert next(batches, None) is None


def test_what_has_not_come_from_a_store_is_not_begun(monkeypatch):
    feed = Feed(None)
    monkeypatch.setattr(feeding, "come", lambda *_: False)
    feed.stopped.set()
    assert feeding._begun(None, feed, (None, None), deque()) is None


def test_its_state_is_not_that_of_an_epoch_that_is_done():
    made = loader()
    batches = iter(made)
    for _ in range(3):
        next(batches)
    state = made.state_dict()
    batches._shutdown_workers()
    assert next(batches, None) is None
    assert made.state_dict() == state
    for _ in made:
        pass
    assert made.state_dict()["step"] != 3


def test_whose_epoch_another_thread_ends_is_told():
    data = cifar(count=COUNT, transform=[T.RandomCrop(24), T.ToImage()])
    epoch = iter(fastload.DataLoader(data, SIZE, num_workers=1, backend="native"))._batches
    epoch.close()
    with pytest.raises(BackendError) as caught:
        epoch._check_threads(lambda: False)
    assert str(caught.value) == (
        "loader: another thread has ended this epoch; give each thread a loader of its own"
    )
