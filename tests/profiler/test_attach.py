"""`fastload profile -- COMMAND` on scripts whose limit is known: the verdict must name it."""

import json
import os
from pathlib import Path

import pytest

from fastload.attach import stages
from fastload.attach.control import Limits
from fastload.profiler import attached, inplace, job
from fastload.profiler.verdict import cause


def profiled(command: list[str], steps: int = 40, **limits: object) -> attached.Outcome:
    return attached.run(command, Limits(steps, **limits))


# Other work on a machine changes rates and verdicts, so these tests look at what it cannot change;
# test_inplace.py has the verdicts.


def test_a_slow_step(script):
    done = profiled(
        script("train(lambda: time.sleep(0.1), DataLoader(Images(), 4, num_workers=1))"), 15
    )
    assert (done.code, done.stopped, done.why) == (0, True, "")
    assert (done.report.setting.batch_size, done.report.setting.workers) == (4, 1)
    assert 0 < done.report.rungs.step.median <= 40  # 4 images in 0.1 s, and never more


def test_a_slow_read_is_found_in_the_workers(script):
    body = (
        "item = lambda index: time.sleep(0.02)\ntrain(lambda: None, DataLoader(Images(), 4, "
        "num_workers=2))"
    )
    done = profiled(script(body))
    assert cause(done.report.stages) == ("READ-BOUND", None)
    assert done.report.rungs.training.median <= 101  # 2 workers, 20 ms an image


def test_a_burning_collate_is_named_without_workers_too(script):
    body = "collate = lambda s: (burn(0.02), torch.utils.data.default_collate(s))[1]\n"
    done = profiled(
        script(
            body + "train(lambda: time.sleep(0.002), DataLoader(Images(), 4, collate_fn=collate))"
        )
    )
    assert cause(done.report.stages) == ("CPU-BOUND", "collate")
    costs = {cost.name: cost.cpu_s for cost in done.report.stages}
    assert costs["collate"] == pytest.approx(0.005, rel=0.3)  # 20 ms for 4 images
    assert costs["dataset"] < 0.002


def test_transforms_are_split_in_workers_only(script):
    body = """
class Slow:
    def __call__(self, value):
        burn(0.005)
        return value

class Fast(Slow):
    def __call__(self, value):
        return value

from torchvision.transforms import Compose

class Transformed(Images):
    transform = Compose([Fast(), Slow()])
    def __getitem__(self, index):
        return self.transform(torch.zeros(3, 4, 5)), 0

train(lambda: None, DataLoader(Transformed(), 2, num_workers=1))
assert type(Transformed.transform.transforms[0]) is Fast
"""
    done = profiled(script(body), 25)
    costs = {cost.name: cost.cpu_s for cost in done.report.stages}
    assert list(costs) == ["read", "dataset", "Fast", "Slow", "collate"]
    assert max(costs, key=costs.get) == "Slow"


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


def test_a_program_that_does_not_stop_is_ended(script, monkeypatch):
    monkeypatch.setattr(attached, "PATIENCE_S", 1.0)
    end = attached._end

    def ended(child):  # which takes as long as it takes
        monkeypatch.setattr(attached, "PATIENCE_S", 600.0)
        return end(child)

    monkeypatch.setattr(attached, "_end", ended)
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


def test_validation_is_not_training(script):
    body = """
slow = Images()
for epoch in range(3):
    train(lambda: time.sleep(0.03), DataLoader(slow, 4, sampler=range(80)))
    item = lambda index: burn(0.003)
    for batch in DataLoader(slow, 5, sampler=range(75)):
        pass
    item = lambda index: None
"""
    done = profiled(script(body), 50)
    assert done.report.setting.batch_size == 4  # the loop with the optimiser
    assert done.report.rungs.step.median <= 4 / 0.03
    costs = {cost.name: cost.cpu_s for cost in done.report.stages}
    assert costs["dataset"] < 0.0015  # not the one that burns 3 ms an image


def test_an_iterable_data_set_and_a_loop_without_an_optimiser(script):
    body = """
class Stream(IterableDataset):
    def __iter__(self):
        while True:
            burn(0.005)
            yield torch.zeros(3)
for batch in DataLoader(Stream(), 2):
    pass
"""
    done = profiled(script(body), 30)
    assert done.stopped
    assert cause(done.report.stages) == ("CPU-BOUND", "dataset")


def test_the_ladder_replays_batches_within_the_loop(script):
    body = (
        "item = lambda index: time.sleep(0.005)\ntrain(lambda: time.sleep(0.01), "
        "DataLoader(Images(), 4))"
    )
    done = attached.run(script(body), Limits(None, 6, ladder=True))
    assert done.report.step.kind == "replayed"
    assert len(done.report.rungs.step.values) >= 3
    most = {"step": 4 / 0.01, "loader": 4 / 0.02, "training": 4 / 0.03}  # nothing overlaps
    for name, rate in most.items():
        assert 0 < getattr(done.report.rungs, name).median < 1.03 * rate


def test_environment_variables_that_a_script_sets_before_torch_still_count(fresh_script):
    body = "print('torch threads', torch.get_num_threads())"
    command = fresh_script(body)
    path = Path(command[1])
    path.write_text(
        "import sys\nassert 'torch' not in sys.modules\nassert 'numpy' not in sys.modules\n"
        + path.read_text()
    )
    assert profiled(command).code == 0


def test_another_sitecustomize_still_runs(fresh_script, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "sitecustomize.py").write_text("import os; os.environ['OTHER'] = 'ran'")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(tmp_path / "other"), os.environ.get("PYTHONPATH", "")])
    )
    done = profiled(
        fresh_script(
            "import os, sys\nsys.exit(0 if os.environ.get('OTHER') == 'ran' else 9)", plain=True
        )
    )
    assert done.code == 0


def test_the_command_line(fresh_script, program):
    command = [
        "-m",
        "fastload",
        "profile",
        "--steps",
        "15",
        "--json",
        "-",
        "--fail-if",
        "data-bound",
        "--",
    ]
    body = (
        "print('on stdout')\ntrain(lambda: None, DataLoader(Images(), 4, collate_fn=lambda s: "
        "(burn(0.05), torch.zeros(4, 1))))"
    )
    body = body.replace("train(lambda: None", "train(lambda: time.sleep(0.001)")
    done = program(*command, *fresh_script(body))
    assert done.returncode == 1
    assert "on stdout\n" in done.stderr
    found = json.loads(done.stdout)
    label = found["verdict"]["label"]
    assert done.stderr.endswith(
        f"fastload: profile: the verdict is {label}, and --fail-if data-bound was given\n"
    )
    assert (found["schema"], found["step"]["kind"], found["stages"][2]["name"]) == (
        "fastload.profile/1",
        "attached",
        "collate",
    )


NOTHING = (
    "profile: no DataLoader of PyTorch or fastload gave a batch in the command's processes "
    "(want 14 of one epoch's batches or more); check the command"
)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--data", "x", "--", "true"), ("profile: --data and a command exclude each other; give "
                                        "one")),
        (("--steps", "3"), ("profile: --steps, --whole, --ladder and --trace are for a command; "
                           "give one after --")),
        (("--cold", "--", "true"), ("profile: --sweep, --cold, --verify and --cuts need a recipe "
                                   "and --data, not a command")),
        (("--html", "/no/such/x.html"), ("profile: /no/such/x.html: its folder does not exist; make "
                                        "it, or give another file to --html")),
        (("--steps", "0", "--", "true"), "profile: --steps is 0, want 1 or more"),
        (("--whole", "--ladder", "--", "true"), ("profile: --whole excludes --steps and --ladder; "
                                                "give one")),
        (("--", "/no/such"), ("profile: /no/such cannot be started (No such file or directory); "
                             "check the command after --")),
        (("--", "true"), NOTHING),
    ],
)  # fmt: skip
def test_errors(run, arguments, text):
    assert str(run("profile", *arguments).exception) == text


def test_a_run_that_is_too_short(script):
    done = profiled(script("train(lambda: None, DataLoader(Images(), 4, sampler=range(36)))"))
    assert (
        done.why
        == "profile: only 9 batches were seen (want 14 of one epoch's batches or more); let it run "
        "longer (--steps, --seconds)"
    )


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
    assert ours.splitlines()[0] == f"the command ended with status {code}"
    assert len(ours.splitlines()) == 2  # and why there is no report


def test_a_script_that_never_gives_a_batch_is_ended(script, monkeypatch):
    monkeypatch.setattr(attached, "QUIET_S", 0.5)
    monkeypatch.setattr(attached, "SILENT_S", 3.0)
    lines = []
    done = attached.run(script("while True: time.sleep(0.1)"), Limits(10), None, lines.append)
    assert done.code == 128 + 15
    assert done.why == NOTHING
    assert lines == [
        (
            "fastload: profile: no DataLoader has given a batch for 0 s; it is ended in 2 s if none "
            "comes (--whole waits for ever)"
        ),
        "fastload: profile: no DataLoader has given a batch for 3 s, so the command was ended",
    ]


def test_a_script_may_be_silent_with_whole(script, monkeypatch):
    monkeypatch.setattr(attached, "QUIET_S", 0.0)
    monkeypatch.setattr(attached, "SILENT_S", 0.0)
    assert attached.run(script("time.sleep(0.5)"), Limits()).code == 0


def test_a_loader_of_three_batches_and_many_epochs(script):
    done = profiled(
        script(
            "train(lambda: time.sleep(0.002), DataLoader(Images(), 4, sampler=range(12)), "
            "epochs=30)"
        ),
        60,
    )
    assert done.report.setting.batch_size == 4


def test_a_system_that_does_not_tell_of_waiting_for_cores(monkeypatch):
    monkeypatch.setattr(stages, "SCHEDSTAT", "/no/such")
    monkeypatch.setattr(stages, "_files", {})
    assert stages.starved() == 0
    assert (
        job.not_measured("callable")[0] == "waiting for cores (/no/such: No such file or directory)"
    )
    assert (
        inplace._not_measured(True)[0] == "waiting for cores (/no/such: No such file or directory)"
    )
