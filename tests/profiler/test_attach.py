"""`fastload profile -- COMMAND` on scripts whose limit is known: the verdict must name it."""

import json
import os
from pathlib import Path

import pytest

from fastload.attach import stages
from fastload.attach.control import Limits
from fastload.profiler import attached, inplace, job
from fastload.profiler.verdict import cause

from .attach_helpers import profiled

# Other work on a machine changes rates and verdicts, so these tests look at what it cannot change;
# test_inplace.py has the verdicts.


@pytest.mark.long
def test_a_slow_step(script):
    done = profiled(
        script("train(lambda: time.sleep(0.1), DataLoader(Images(), 4, num_workers=1))"), 15
    )
    assert (done.code, done.stopped, done.why) == (0, True, "")
    assert (done.report.setting.batch_size, done.report.setting.workers) == (4, 1)
    assert 0 < done.report.rungs.step.median <= 40  # 4 images in 0.1 s, and never more


@pytest.mark.long
def test_a_slow_read_is_found_in_the_workers(script):
    body = (
        "item = lambda index: time.sleep(0.02)\ntrain(lambda: None, DataLoader(Images(), 4, "
        "num_workers=2))"
    )
    done = profiled(script(body))
    assert cause(done.report.stages) == ("READ-BOUND", None)
    assert done.report.rungs.training.median <= 101  # 2 workers, 20 ms an image


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
@pytest.mark.parametrize(
    ("loader", "backend"),
    [("torch.utils.data.DataLoader", None), ("fastload.DataLoader", "native")],
)
def test_a_loader_that_only_the_loop_holds(script, photos, loader, backend):
    body = f"""
import fastload
from fastload import transforms as T
images = fastload.open(sys.argv[1], [T.RandomResizedCrop(24), T.ToImage()])
weights = torch.nn.Parameter(torch.zeros(1))
weights.grad = torch.ones(1)
optimizer = torch.optim.SGD([weights], 0.1)
for _ in range(20):
    for batch in {loader}(images, 4, num_workers=1):
        optimizer.step()
"""
    found = profiled([*script(body), photos], 20).report.setting
    assert (found.backend, found.workers, found.batch_size) == (backend, 1, 4)


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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
    unseen = inplace._not_measured({}, replayed=True)
    assert unseen[0] == "waiting for cores (/no/such: No such file or directory)"
