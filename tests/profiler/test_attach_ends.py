"""`fastload profile -- COMMAND` on scripts that fail, do not stop, or give too little to
measure.
"""

import os
import signal
import subprocess
import sys

import pytest

from fastload.attach import patience
from fastload.attach.control import Limits
from fastload.profiler import attached

from .attach_helpers import profiled


def test_a_crash_is_reported_and_its_status_passed_on(script):
    body = """
def crash(count=[0]):
    count[0] += 1
    if count[0] == 40:
        import os
        os._exit(3)  # no atexit, as after a segmentation fault
    time.sleep(0.02)
train(crash, DataLoader(Images(), 4))
"""
    done = profiled(script(body), 1000)
    assert (done.code, done.stopped) == (3, False)
    assert len(done.report.rungs.training.values) >= 3


@pytest.mark.long
def test_a_program_that_does_not_stop_is_ended(script, monkeypatch):
    monkeypatch.setattr(patience, "WORK_S", 0.5)
    monkeypatch.setattr(attached, "KILL_S", 3600.0)  # which takes as long as it takes
    body = """
while True:
    try:
        train(lambda: time.sleep(0.001), DataLoader(Images(), 4))
    except SystemExit:
        time.sleep(0.01)
"""
    done = profiled(script(body), 20)
    assert (done.code, done.stopped) == (128 + 15, True)  # SIGTERM
    assert done.report is not None


NOTHING = (
    "profile: no DataLoader of PyTorch or fastload gave a batch in the command's processes "
    "(want 5 of one epoch's batches or more); check the command"
)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--data", "x", "--", "true"), ("profile: --data and a command exclude each other; give "
                                        "one")),
        (("--steps", "3"), ("profile: --steps, --whole, --ladder and --trace are for a command; "
                           "give one after --")),
        (("--cold", "--", "true"), ("profile: --sweep, --cold, --verify, --cuts and --schedule "
                                   "need a recipe and --data, not a command")),
        (("--html", "/no/such/x.html"), ("profile: /no/such/x.html: its folder does not exist; "
                                        "make it, or give another file to --html")),
        (("--steps", "0", "--", "true"), "profile: --steps is 0, want 1 or more"),
        (("--whole", "--ladder", "--", "true"), ("profile: --whole excludes --steps and --ladder; "
                                                "give one")),
        (("--whole", "--seconds", "9", "--", "true"),
         ("profile: --whole lets the command run to its end, and --seconds stops it before; leave "
         "one out")),
        (("--quick", "--seconds", "9", "--", "true"),
         "profile: --quick and --seconds 9 both say how long to measure; give one"),
        (("--workers", "3", "python", "train.py"),
         ("profile: --workers is for a recipe with --data, and a command runs as it is; leave it "
         "out, or put it behind -- with the command")),
        (("--assume", "h200", "--", "true"),
         ("profile: --assume is for a recipe with --data, and a command runs as it is; leave it "
         "out, or put it behind -- with the command")),
        (("--json", "/no/such/x.json", "--", "true"),
         ("profile: /no/such/x.json: its folder does not exist; make it, or give another file to "
         "--json")),
        (("--html", "", "--", "true"),
         "profile: --html has an empty name; give the name of a file"),
        (("--", "/no/such"), ("profile: /no/such cannot be started (No such file or directory); "
                             "check the command after --")),
        (("--", "true"), NOTHING),
    ],
)  # fmt: skip
def test_errors(run, arguments, text):
    assert str(run("profile", *arguments).exception) == text


def test_a_run_that_is_too_short(script):
    done = profiled(script("train(lambda: None, DataLoader(Images(), 4, sampler=range(12)))"))
    assert (
        done.why
        == "profile: only 3 batches were seen (want 5 of one epoch's batches or more); let it run "
        "longer (--steps, --seconds)"
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("plain", "body", "code", "text"),
    [
        (True, "raise ValueError('mine')", 1, "ValueError: mine\n"),
        (False, "train(lambda: sys.exit(7), DataLoader(Images(), 4))", 7, ""),
        (True, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", 137, ""),
    ],
    ids=["raises", "exits", "killed"],
)
def test_a_script_that_fails_keeps_its_status_and_its_traceback(
    fresh_script, program, plain, body, code, text
):
    done = program("-m", "fastload", "profile", "--", *fresh_script(body, plain=plain))
    assert (done.returncode, done.stdout) == (code, "")
    own, _, ours = done.stderr.partition("fastload: profile: ")
    assert own.endswith(text)
    assert own.startswith("Traceback (most recent call last):" if text else "")
    # On a busy machine a line before them says that no batch has come yet.
    ended, _ = ours.splitlines()[-2:]  # the second: why there is no report
    assert ended.removeprefix("fastload: profile: ") == f"the command ended with status {code}"


@pytest.mark.long
def test_a_script_that_never_gives_a_batch_is_ended(script, monkeypatch):
    monkeypatch.setattr(attached, "QUIET_S", 0.5)
    monkeypatch.setattr(attached, "SILENT_S", 3.0)
    lines = []
    done = attached.run(script("while True: time.sleep(0.1)"), Limits(10), None, lines.append)
    assert done.code == 128 + 15
    assert done.why == NOTHING
    assert lines == [
        (
            "fastload: profile: no DataLoader has given a batch for 0 s; it is ended in 2 s if "
            "none comes (--whole waits for ever)"
        ),
        "fastload: profile: no DataLoader has given a batch for 3 s, so the command was ended",
    ]


def test_a_script_may_be_silent_with_whole(script, monkeypatch):
    monkeypatch.setattr(attached, "QUIET_S", 0.0)
    monkeypatch.setattr(attached, "SILENT_S", 0.0)
    assert attached.run(script("time.sleep(0.5)"), Limits()).code == 0


ENDED = """
import sys, time
from fastload.attach.control import Limits
from fastload.profiler import attached
body = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
print(attached.run([sys.executable, "-S", "-c", body], Limits()).code, flush=True)
"""


def test_what_ends_the_profiler_ends_the_program():
    """SIGTERM to the profiler alone, as `docker stop` sends it, leaves no training behind."""
    profiler = subprocess.Popen([sys.executable, "-c", ENDED], stdout=subprocess.PIPE, text=True)
    assert profiler.stdout is not None
    program = int(profiler.stdout.readline())
    profiler.terminate()
    assert profiler.communicate(timeout=60)[0] == f"{128 + signal.SIGTERM}\n"
    assert profiler.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)
