"""What a signal raises while `next()` waits reaches the program, and costs no batch: Ctrl-C in a
notebook, or an alarm.
"""

import signal

import numpy as np
import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.engine.bundles import Bundled
from fastload.engine.epoch import Threaded
from fastload.engine.native import NativeEngine
from fastload.engine.pace import Pace
from fastload.transforms import custom
from tests.conftest import needs_numba
from tests.lowering.dataset_helpers import cifar

COUNT, SIZE = 50, 4


@custom
def slow(image):
    """Half a second or more for a white image."""
    if image[0, 0, 0] == 255:
        state = np.uint64(image[0, 0, 1])
        for _ in range(400_000_000):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
        image[0, 0, 1] = state & np.uint64(1)


def loader(workers=1, **given):
    data = cifar(count=COUNT, transform=[T.RandomCrop(24), slow, T.ToImage()])
    data.data[data.data == 255] = 254
    data.data[0] = 255
    return fastload.DataLoader(
        data, SIZE, num_workers=workers, seed=3, backend="native", seek_index="off", **given
    )


@pytest.fixture
def interrupt():
    """Raises an error in this thread, soon."""
    before = signal.getsignal(signal.SIGALRM)

    def soon(error):
        def handler(*_):
            raise error

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)

    yield soon
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def check_rest(batches):
    for one, other in zip(batches, loader(0), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@needs_numba
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize(("timeout", "kind"), [(0, Bundled), (60, Threaded)])
def test_a_batch_that_was_waited_for_comes_next(interrupt, error, timeout, kind):
    batches = iter(loader(timeout=timeout))
    assert type(batches._batches) is kind
    interrupt(error)
    with pytest.raises(error):
        next(batches)
    check_rest(batches)


@pytest.mark.parametrize(("timeout", "kind", "lost"), [(0, Bundled, 8), (60, Threaded, 1)])
def test_an_error_while_one_is_handed_over_costs_not_the_end(monkeypatch, timeout, kind, lost):
    """Python looks for signals between any two calls."""
    gave, first = Pace.gave, [KeyboardInterrupt]

    def interrupted(self, away, ready):
        if first:
            raise first.pop()
        gave(self, away, ready)

    monkeypatch.setattr(Pace, "gave", interrupted)
    data = cifar(count=80, transform=[T.RandomCrop(24), T.ToImage()])

    def made(workers, **given):
        return fastload.DataLoader(data, SIZE, num_workers=workers, seed=3, **given)

    batches = iter(made(1, timeout=timeout))
    assert type(batches._batches) is kind
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    rest = list(made(0))[lost:]
    for one, other in zip(batches, rest, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@needs_numba
def test_one_that_is_made_again_alone_comes_next(interrupt, monkeypatch):
    finish, asked = NativeEngine.finish, []

    def failing(self, started, on_bad):
        """The bundle is none, so that its batches are made each alone."""
        asked.append(len(started.requested))
        if len(asked) == 1:
            interrupt(KeyboardInterrupt)
            raise RuntimeError
        return finish(self, started, on_bad)

    monkeypatch.setattr(NativeEngine, "finish", failing)
    batches = iter(loader())
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert asked == [8 * SIZE, SIZE]
    monkeypatch.undo()
    check_rest(batches)
