"""The recorder by itself: GPU events, images in batches, ranks that stop together."""

import copy
import pickle

import numpy as np
import pytest
import torch

from fastload.attach import control, log, recorder, stages
from fastload.attach.control import Control, Limits, Stopped
from fastload.attach.looking import images_in
from fastload.attach.recorder import Recorder
from fastload.attach.stages import Timed
from fastload.profiler import inplace, logs


class Event:
    """A mark on a GPU's time axis; s."""

    def __init__(self, at: float) -> None:
        self.at, self.done = at, False

    def query(self) -> bool:
        return self.done

    def elapsed_time(self, other: "Event") -> float:
        return 1e3 * (other.at - self.at)


def test_a_busy_gpu_is_not_idle_while_the_host_waits(tmp_path, monkeypatch):
    """Two marks that a busy GPU reaches together, two with 30 ms between them, and two that are
    never reached.
    """
    marks = [Event(at) for at in (1.0, 1.0, 2.0, 2.03, 3.0, 3.5)]
    given = iter(marks)
    monkeypatch.setattr(recorder, "_event", lambda: next(given))
    made = Recorder(str(tmp_path), Control(Limits(), str(tmp_path)))
    clock = iter([0.0, 0.05, 0.1, 0.2, 0.3, 0.4])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    for _ in range(3):
        made.next(marks, lambda: [1, 2])
    for mark in marks[:4]:
        mark.done = True
    made.resolve(recorder.IN_FLIGHT)
    records = logs.read(str(tmp_path))[0].of(log.WAIT)
    assert records["idle"] == pytest.approx([0.0, 0.03])
    assert records["wall"] == pytest.approx([0.05, 0.1])
    made.resolve()
    last = logs.read(str(tmp_path))[0].of(log.WAIT)[-1]
    assert np.isnan(last["idle"])  # not known, and not 0


PICTURE, OTHER = torch.zeros(3, 8, 9), torch.zeros(3, 20, 9)


@pytest.mark.parametrize(
    ("batch", "images"),
    [(torch.zeros(3, 2), 3), ([torch.zeros(4, 1), 5], 4), ({"a": "x", "b": torch.zeros(2, 2)}, 2),
    ([1, 2, 3], 3), ("abc", 3), (7, 1),
     (torch.tensor(1), 1), ([[[[[torch.zeros(9)]]]]], 9),
     # Pictures of their own sizes with their targets, or samples as they are
     (((PICTURE, OTHER), ({"boxes": torch.zeros(5, 4)}, {})), 2), ([(PICTURE, 1)] * 20, 20),
     ({"label": torch.tensor(1), "images": [PICTURE] * 4}, 4), ([PICTURE, torch.zeros(3)], 3),
     ([torch.zeros(5, 3, 8, 9), torch.zeros(5)], 5), ([(np.zeros((3, 8, 9)), 1)], 1)],
)  # fmt: skip
def test_images_in_a_batch(batch, images):
    assert images_in(batch) == images


def test_ranks_stop_at_the_same_step(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    ranks = [Control(Limits(seconds=10), str(tmp_path)) for _ in range(2)]
    for rank in ranks:
        rank.started = 0.0
    assert [rank.done(50) for rank in ranks] == [False, False]
    now[0] = 11.0
    assert [rank.done(step) for rank, step in zip(ranks, (100, 97), strict=True)] == [False, False]
    agreed = 100 + control.GRACE
    assert [rank.done(agreed - 1) for rank in ranks] == [False, False]
    assert [rank.done(agreed) for rank in ranks] == [True, True]


def test_rare_batches_get_more_time_and_not_for_ever(tmp_path, clock):
    turn = Control(Limits(seconds=10), str(tmp_path))
    turn.started, few = clock[0], control.WARM_UP + control.FEWEST - 1
    clock[0] += 11
    assert (turn.done(few), turn.done(few + 1)) == (False, True)
    clock[0] += 10 * control.LONGEST
    assert turn.done(few)


def test_the_ladder_gets_time_for_three_turns(tmp_path, clock):
    """Of a loop whose batches take longer than a rung may."""
    made = Recorder(str(tmp_path), turn := Control(Limits(seconds=8, ladder=True), str(tmp_path)))

    def slow():
        clock[0] += 1.0
        return [0] * 4

    with pytest.raises(Stopped):
        while True:
            made.next(tmp_path, slow)
            made.step()
            clock[0] += 1.0
    assert (turn.rungs.turns, clock[0] - turn.started < 8 * control.LONGEST) == (3, True)
    found = inplace.report(logs.read(str(tmp_path)), 1.0)
    assert (found.step.kind, found.rungs.loader.median) == ("replayed", 4)
    assert found.rungs.step.median == 4


def test_few_batches_give_a_partial_verdict(tmp_path, clock):
    made = Recorder(str(tmp_path), Control(Limits(), str(tmp_path)))
    for _ in range(6):
        made.next(tmp_path, lambda: [clock.__setitem__(0, clock[0] + 3.0)] * 4)
        made.step()
        clock[0] += 1.0
    made.finish()
    found = inplace.report(logs.read(str(tmp_path)), 1.0)
    assert found.verdict.stall.value == pytest.approx(0.75)
    assert found.step.note.startswith("PARTIAL: only 4 batches were seen, the first ones too. ")


def test_a_stop_is_no_error_of_the_program(tmp_path):
    made = Recorder(str(tmp_path), Control(Limits(steps=1), str(tmp_path)))
    for _ in range(control.WARM_UP + 1):
        made.next(tmp_path, lambda: [0])
    with pytest.raises(Stopped) as caught:
        made.next(tmp_path, lambda: [0])
    assert caught.value.code == 0
    assert not isinstance(caught.value, Exception)


def test_a_stop_that_is_caught_comes_again_and_nothing_is_tried_again(tmp_path, monkeypatch):
    tried = []
    turn = Control(Limits(steps=1), str(tmp_path))
    monkeypatch.setattr(turn, "end", tried.append)
    made = Recorder(str(tmp_path), turn)
    for _ in range(control.WARM_UP + 1):
        made.next(tmp_path, lambda: [0])
    for _ in range(3):
        with pytest.raises(Stopped):
            made.next(tmp_path, lambda: [0])
    assert tried == [made]


@pytest.mark.parametrize(("measured", "seconds"), [(1.0, 3.0), (20.0, 5.0), (100.0, 10.0)])
def test_a_trial_takes_a_share_of_the_time(tmp_path, clock, monkeypatch, measured, seconds):
    asked = []
    turn = Control(Limits(), str(tmp_path))
    monkeypatch.setattr(turn, "trial", lambda _, seconds: asked.append(seconds) or {})
    made = Recorder(str(tmp_path), turn)
    for _ in range(control.WARM_UP + 1):
        made.next(torch.utils.data.DataLoader([0]), lambda: [0])
    clock[0] += measured
    turn.end(made)
    assert asked == [pytest.approx(seconds)]


def test_a_timed_transform_is_what_it_was():
    inner = torch.nn.Linear(2, 3)
    timed = Timed(inner, "Linear")
    timed.extra = 5
    assert (timed.in_features, inner.extra, repr(timed)) == (2, 5, repr(inner))
    assert timed(torch.zeros(1, 2)).shape == (1, 3)
    assert isinstance(timed, torch.nn.Linear)
    for other in (copy.deepcopy(timed), pickle.loads(pickle.dumps(timed))):
        assert type(other) is Timed
        assert torch.equal(other.weight, inner.weight)
        assert other.weight is not inner.weight
    with pytest.raises(AttributeError):
        _ = timed.nothing


def test_inner_stages_are_taken_out_of_outer_ones(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr("time.thread_time", lambda: now[0] / 2)
    found = stages.Stages()

    def wait(seconds: float) -> None:
        now[0] += seconds

    def outer() -> None:
        wait(1)
        found.run("inner", wait, 4)
        wait(2)

    found.start()
    found.run("outer", outer)
    wait(8)
    assert found.stop() == {"dataset": [8, 4], "outer": [3, 1.5], "inner": [4, 2]}
