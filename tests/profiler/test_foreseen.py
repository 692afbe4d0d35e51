"""Remedies that are predicted from what the hooks saw, for trainings whose gain is known."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fastload.attach import log
from fastload.measure import Sample
from fastload.profiler import inplace, logs
from fastload.profiler.evidence import Rungs
from fastload.profiler.foreseen import foreseen
from fastload.profiler.iterations import training as trained

from .test_inplace import Training

MAKING, STEP, BATCHES, IMAGES = 0.25, 0.125, 20, 10  # s, s
EVEN = Rungs(*(Sample((IMAGES / STEP,) * 3),) * 3)  # the loader keeps up


class Epochs(Training):
    """Epochs of BATCHES batches, whose workers take `starting` s to start; then the loop waits for
    nothing.
    """

    def train(self, starting: float, epochs: int, **facts: object) -> "Epochs":
        main = self.log(100)
        main.tell({"loaders": [{"num_workers": 2, "batch_size": IMAGES, **facts}]})
        worker, now, steps = self.log(101, 100), 5.0, 0
        for _ in range(epochs):
            for number in range(BATCHES):
                wait = 0.0 if number else starting + MAKING
                worker.write(log.FETCH, 0, now, MAKING, MAKING, images=IMAGES)
                main.write(log.WAIT, 0, now, wait, 0.0, images=IMAGES, steps=steps)
                now, steps = now + wait + STEP, 1
            main.write(log.END, 0, now, 0.0, 0.0, steps=1)
            steps = 0
        return self

    def gains(self):
        processes = logs.read(self.folder)
        main = next(one for one in processes if one.pid == 100)
        return foreseen(trained(main), inplace.of(main, processes), EVEN)


@pytest.fixture
def epochs(tmp_path, monkeypatch):
    return Epochs(tmp_path, monkeypatch)


@pytest.mark.parametrize("starting", [1.0, 3.0])
def test_workers_that_start_for_each_epoch(epochs, starting):
    """Kept, they begin each epoch as fast as they make a batch."""
    kept = BATCHES * STEP + MAKING
    (found,) = epochs.train(starting, 4, persistent_workers=False).gains()
    assert (found.name, found.how) == (
        "keep the workers (persistent_workers=True)",
        "DataLoader(..., persistent_workers=True)",
    )
    for value in (found.gain.value, found.gain.low, found.gain.high):
        assert value == pytest.approx(1 + starting / kept)
    assert found.now == pytest.approx(BATCHES * IMAGES / (kept + starting))


@pytest.mark.parametrize(
    "facts", [{"persistent_workers": True}, {"num_workers": 0}, {"backend": "native"}]
)
def test_where_no_process_starts_nothing_is_said(epochs, facts):
    assert epochs.train(1.0, 4, **facts).gains() == ()


def test_one_start_says_nothing_of_the_others(epochs):
    assert epochs.train(1.0, 2).gains() == ()


def test_it_is_in_the_report_though_the_data_keeps_up(epochs):
    report = inplace.report(logs.read(epochs.train(3.0, 4).folder), 1.0)
    assert report.verdict.label == "GPU-BOUND"
    assert str(report).splitlines()[1] == (
        "DO       Keep the workers (persistent_workers=True): predicted 73 images/s (73 to 73), "
        "2.1 times today's 35."
    )
    assert report.to_json()["offers"][0]["basis"] == "predicted"
    assert any(
        line.startswith("keep the workers (persistent_workers=True)   ")
        for line in str(report).splitlines()
    )


def test_batches_in_page_locked_memory_by_what_the_copies_took(epochs):
    """The step of 125 ms has a copy of 45 ms in it, which would take 20."""
    file = Path(epochs.train(0.0, 1, persistent_workers=True).folder) / "100.json"
    facts = json.loads(file.read_text())

    def gains(copies, rungs):
        file.write_text(json.dumps({**facts, "copies": copies}))
        (process,) = (one for one in logs.read(epochs.folder) if one.pid == 100)
        return foreseen(trained(process), [process], rungs)

    took = {"plain_s": [0.045] * 7, "pinned_s": [0.02] * 7}
    (found,) = gains(took, EVEN)
    assert found.how == "DataLoader(..., pin_memory=True)"
    assert found.gain.value == pytest.approx(1.0)  # the loader is as slow as the step
    fast = replace(EVEN, loader=Sample((1e6,) * 3))
    (found,) = gains(took, fast)
    assert found.gain.value == pytest.approx(STEP / (STEP - 0.025))
    assert gains({"bytes": 9, "problem": "CUDA out of memory"}, fast) == ()


def test_what_gains_nothing_is_said_too(epochs):
    report = inplace.report(logs.read(epochs.train(0.001, 4).folder), 1.0)
    assert (
        "Foreseen, no clear gain: keep the workers (persistent_workers=True), training 1x [1, 1] "
        "as fast." in str(report).splitlines()
    )
