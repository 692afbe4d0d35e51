"""A trial of other loaders is no part of the program: whatever becomes of it, the program ends as
it would have ended.
"""

import multiprocessing
import os
import signal
import threading

import pytest
import torch

from fastload.attach import aside, control
from fastload.attach.control import Control, Limits, Subject

from .attach_helpers import profiled

EXECUTOR = """
import atexit
from concurrent.futures import ThreadPoolExecutor
from fastload.attach import ending
def work(when):
    try:
        print(when, ThreadPoolExecutor(1).submit(int, "7").result())
    except RuntimeError as error:
        print(when, "refused")
atexit.register(work, "atexit")
ending.after_main(lambda: work("after main"))
print("main has ended")
"""
# The data set of a trial is another process's copy of the program's.
HOSTILE = """
import os
main = os.getpid()
class Hostile(Images):
    def __getitem__(self, index):
        if os.getpid() != main:
            {act}
        return torch.zeros(3, 4, 5), 0
train(lambda: None, DataLoader(Hostile(), 4, sampler=range(80)))
{end}
"""


def trial(work, monkeypatch, seconds=1.0):
    class Module:
        measure = staticmethod(lambda *_: work())

    monkeypatch.setattr(control.importlib, "import_module", lambda _: Module)
    return Control(Limits(), "").trial(Subject([], 4, 0, None), seconds)


def test_executors_take_work_when_the_main_module_has_ended(forker):
    done = forker.run("-c", EXECUTOR)
    assert done.stdout.splitlines() == ["main has ended", "after main 7", "atexit refused"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ("os.kill(os.getpid(), 9)", "it ended with status -9"),
        ("raise ValueError('mine')", "ValueError: mine"),
        ("os._exit(3)", "it ended with status 3"),
        ("sys.exit(3)", "it ended with status 3"),
    ],
)
@pytest.mark.parametrize(("end", "code"), [("", 0), ("sys.exit(7)", 7)])
def test_a_trial_that_fails_leaves_the_programs_end_alone(script, act, problem, end, code):
    done = profiled(script(HOSTILE.format(act=act, end=end)), 500)
    assert (done.code, done.report.tried.problem) == (code, problem)


def test_after_an_exception_nothing_is_tried(script, forker):
    done = profiled(script(HOSTILE.format(act="os.abort()", end="1 / 0")), 500)
    assert (done.code, done.report.tried) == (1, None)
    assert forker.err.read_text().endswith("ZeroDivisionError: division by zero\n")


def test_where_another_thread_trains_on_nothing_is_tried(script):
    """The main thread has ended, the program has not."""
    body = """
import threading
begun, over = threading.Event(), threading.Event()
steps = iter(range(100))
def step():
    if next(steps) == 15:
        begun.set()
        over.wait()
threading._register_atexit(over.set)  # what is registered later is called before it
threading.Thread(target=train, args=(step, DataLoader(Images(), 4, sampler=range(80)))).start()
begun.wait()
"""
    done = profiled(script(body), 500)
    assert (done.code, done.report.tried) == (0, None)


def test_what_a_trial_changes_or_prints_is_not_the_programs(monkeypatch, capfd):
    seen = torch.zeros(2)

    def work():
        seen.add_(1)
        os.write(1, b"from the trial\n")
        yield {"tier": "native", "pid": os.getpid()}
        yield {"tier": "torch"}

    found = trial(work, monkeypatch)
    assert (found["tier"], found["pid"] != os.getpid()) == ("torch", True)
    assert seen.tolist() == [0, 0]
    assert capfd.readouterr().out == ""


def test_what_was_measured_before_a_trial_failed_is_kept(monkeypatch):
    def work():
        yield {"tier": "native", "loaders": []}
        raise RuntimeError("mine")

    assert trial(work, monkeypatch) == {
        "tier": "native", "loaders": [], "problem": "RuntimeError: mine"
    }  # fmt: skip


def test_a_trial_that_hangs_is_ended(monkeypatch):
    """Its time is counted by a clock of the test's own."""
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr("fastload.attach.patience.time.perf_counter", lambda: next(clock))

    def work():
        yield {"tier": "native"}
        threading.Event().wait()

    assert trial(work, monkeypatch) == {
        "tier": "native", "problem": "it did not come to its end"
    }  # fmt: skip


def test_an_interrupted_trial_leaves_no_child(monkeypatch):
    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("fastload.attach.patience.Patience.over", interrupted)

    def work():
        threading.Event().wait()
        yield {}

    before = multiprocessing.active_children()  # what another test's loader has not ended yet
    found = trial(work, monkeypatch)
    assert found == {"tier": None, "why": ["it was interrupted"], "problem": "it was interrupted"}
    assert {*multiprocessing.active_children()} <= {*before}


def test_a_programs_handlers_of_signals_do_not_run_in_a_trial(monkeypatch):
    def work():
        yield {"tier": str(signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL)}

    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        assert trial(work, monkeypatch) == {"tier": "True"}
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_where_nothing_forks_it_is_said(monkeypatch):
    monkeypatch.setattr(aside, "can", lambda: False)
    found = Control(Limits(), "").trial(Subject([], 4, 0, None), 1.0)
    assert found == {"tier": None, "why": ["this system does not fork processes"]}
