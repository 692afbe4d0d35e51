"""Verdicts on simulated trainings whose limit is known:

PyTorch's loader, its workers and prefetching, played without a clock.
"""

import os

import pytest

from fastload.attach import log
from fastload.attach.log import Log
from fastload.profiler import inplace, logs

STEP = 0.1  # s
IMAGES = 10  # per batch
CORES = 4


class Training:
    """A training that writes its logs.

    made: per batch, a dict of s in stages, of which `read` and `starved` take no CPU time.
    """

    def __init__(self, folder, monkeypatch, workers: int = 2) -> None:
        self.folder, self.workers, self.monkeypatch = str(folder), workers, monkeypatch
        monkeypatch.setattr(inplace, "usable_cores", lambda: CORES)

    def log(self, pid: int, parent: int = 1) -> Log:
        self.monkeypatch.setattr(os, "getpid", lambda: pid)
        self.monkeypatch.setattr(os, "getppid", lambda: parent)
        return Log(self.folder)

    def run(
        self, made, steps: int = 150, step=lambda _: STEP, pid: int = 100, rank: int | None = None
    ):
        main = self.log(pid)
        loaders = [{"num_workers": self.workers, "batch_size": IMAGES}]
        main.tell({"loaders": loaders, "rank": None if rank is None else str(rank)})
        workers = [self.log(pid + 1 + number, pid) for number in range(self.workers)]
        free, asked, now = [0.0] * self.workers, [0.0] * (2 * self.workers), 0.0
        for number in range(steps):
            parts = made(number)
            if workers:
                place = number % self.workers
                start = max(free[place], asked[number])
                ready = free[place] = start + sum(parts.values())
                self.batch(workers[place], start, parts)
            else:
                ready = now + sum(parts.values())
                self.batch(main, now, parts)
            got = max(now, ready) + 1e-4
            main.write(log.WAIT, 0, now, got - now, 1e-4, images=IMAGES, steps=int(number > 0))
            asked.append(got)
            now = got + step(number)
        return self

    def batch(self, where: Log, start: float, parts: dict) -> None:
        starved = parts.get("starved", 0.0)
        wall = sum(parts.values())
        where.write(
            log.FETCH,
            0,
            start,
            wall,
            wall - starved - parts.get("read", 0.0),
            starved=starved,
            images=IMAGES,
        )
        for name in ("dataset", "decode", "collate"):
            cpu = parts.get(name, 1e-4)
            blocked = parts.get("read", 0.0) + starved if name == "dataset" else 0.0
            where.write(log.STAGE, 0, start, cpu + blocked, cpu, images=IMAGES, name=name)

    def report(self):
        return inplace.report(logs.read(self.folder), 1.0)


@pytest.fixture
def training(tmp_path, monkeypatch):
    return lambda **how: Training(tmp_path, monkeypatch, **how)


@pytest.mark.parametrize("stage", ["dataset", "decode", "collate", "read"])
@pytest.mark.parametrize("slack", [0.5, 0.9, 1.5, 3.0])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_stage_that_limits(training, stage, slack, workers):
    """slack: the time that a batch takes the loader, in steps."""
    report = training(workers=workers).run(lambda _: {stage: slack * STEP * workers}).report()
    expected = (
        "GPU-BOUND" if slack < 1 else "READ-BOUND" if stage == "read" else f"CPU-BOUND: {stage}"
    )
    assert report.verdict.headline == expected
    assert report.verdict.stall.value == pytest.approx(max(0.0, 1 - 1 / slack), abs=0.02)
    assert report.verdict.headroom.value == pytest.approx(1 / slack, rel=0.05)


@pytest.mark.parametrize("slack", [0.02, 0.5, 3.0])
def test_without_workers_nothing_overlaps(training, slack):
    report = training(workers=0).run(lambda _: {"decode": slack * STEP}).report()
    expected = {0.02: "GPU-BOUND", 0.5: "OVERLAP-BOUND", 3.0: "CPU-BOUND: decode"}
    assert report.verdict.headline == expected[slack]
    assert report.verdict.stall.value == pytest.approx(slack / (1 + slack), abs=0.02)


def test_a_few_late_batches_are_jitter(training):
    report = (
        training().run(lambda number: {"decode": 2.0 if number % 20 == 19 else 0.05}, 400).report()
    )
    assert report.verdict.headline == "JITTER"
    # All late ones are one worker's: it takes 2.45 s for 10 batches, in which the step could take
    # 20.
    assert report.verdict.headroom.value == pytest.approx(20 * STEP / 2.45, rel=0.03)


def test_one_slow_worker_is_waited_for_by_all(training):
    """Batches come in order: two workers give twice what the slow one gives."""
    report = training().run(lambda number: {"read": 0.3 if number % 2 else 0.02}).report()
    assert report.verdict.headline == "READ-BOUND"
    assert report.verdict.stall.value == pytest.approx(1 - STEP / 0.15, abs=0.02)
    assert report.rungs.loader.median == pytest.approx(2 * IMAGES / 0.3, rel=0.1)


def test_steps_that_differ_are_no_jitter(training):
    report = (
        training()
        .run(lambda _: {"decode": 0.05}, step=lambda number: STEP * (1 + number % 3))
        .report()
    )
    assert report.verdict.headline == "GPU-BOUND"


@pytest.mark.parametrize(
    ("workers", "cores", "machine", "label"),
    [(2, 4, 64, "CPU-CONTENTION"), (8, 4, 64, "WORKER-STARVED"), (8, 4, 4, "CPU-BOUND: decode")],
)
def test_waiting_for_cores(training, monkeypatch, workers, cores, machine, label):
    """Others take them; or this process may not use enough of them; or there are no more, and
    decoding is what takes them.
    """
    played = training(workers=workers)
    monkeypatch.setattr(os, "cpu_count", lambda: machine)
    monkeypatch.setattr(inplace, "usable_cores", lambda: cores)
    assert (
        played.run(lambda _: {"decode": 0.06 * workers, "starved": 0.1 * workers})
        .report()
        .verdict.headline
        == label
    )


def test_other_work_does_not_hide_a_loader_that_is_too_slow_anyway(training):
    report = training().run(lambda _: {"decode": 0.6, "starved": 0.7}).report()
    assert report.evidence.starved > 0.5
    assert report.verdict.headline == "CPU-BOUND: decode"


def test_one_slow_rank(training):
    played = training()
    played.run(
        lambda _: {"decode": 0.05}, pid=100, rank=0, step=lambda _: 2 * STEP
    )  # it waits for rank 1 in its step
    played.run(lambda _: {"decode": 0.4}, pid=200, rank=1)
    report = played.report()
    assert report.verdict.headline == "STRAGGLER: rank 1"
    assert report.rungs.loader.median == pytest.approx(
        2 * IMAGES / 0.4, rel=0.02
    )  # of its own workers, not of all
    assert report.verdict.severity == ("HIGH",)


def test_ranks_that_are_alike_have_no_straggler(training):
    played = training()
    for rank in range(2):
        played.run(lambda _: {"decode": 0.4}, pid=100 * (rank + 1), rank=rank)
    assert played.report().verdict.headline == "CPU-BOUND: decode"


def test_an_idle_gpu_counts_not_a_waiting_host(training):
    main = training(workers=0).log(7)
    for number in range(
        60
    ):  # the host waits for 80 ms of each 100, and the GPU has enough to do meanwhile
        main.write(log.WAIT, 0, number * 0.1, 0.08, 0.0, idle=0.001, images=IMAGES, steps=1)
    assert training().report().verdict.headline == "GPU-BOUND"


def test_a_full_log_keeps_the_newest(training):
    main = training().log(9)
    main.capacity = 10
    for number in range(25):
        main.write(log.WAIT, 0, float(number), 0.5, 0.0)
    assert logs.read(main.folder)[0].records["t"].tolist()[:10] == [
        float(number) for number in range(15, 25)
    ]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"flattch1",
        b"x" * 5000,
        log.HEADER.pack(log.MAGIC, 1 << 60, 0) + bytes(40) + b"\xff" * 720,
    ],
)
def test_damaged_logs_are_left_out(tmp_path, damage):
    (tmp_path / "12.log").write_bytes(damage)
    (tmp_path / "12.json").write_bytes(b"{")
    (tmp_path / "x.log").write_bytes(damage)
    assert logs.read(str(tmp_path)) == []
