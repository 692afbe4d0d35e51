"""`fastload plan`: what it refuses, and a run on real images."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from fastload.cli import plan, plan_options
from fastload.errors import UsageError
from fastload.forecast import compare, machines
from tests.profiler.conftest import photos  # noqa: F401

NODE = 'name = "a"\ncores = 8\ngpus = 2\ngpu = "h100"\nprice = 3.5\n'


def run(*arguments: object) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    plan.register(app)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "plan: no data set given; give --data DIR, or run fastload demo, which makes one"),
        (["--epochs", 0], "plan: --epochs is 0, want 1 or more"),
        (["--batch-size", 0], "plan: --batch-size is 0, want 1 or more"),
        (["--step-rate", 0], "plan: --step-rate is 0, want more than 0 images/s"),
        (["--target", 78],
         "plan: --target is 78, want a share between 0 and 1; write 0.78 for 78 %"),
        (["--seconds", 0], "plan: --seconds is 0, want 1 to 3600"),
        (["--assume", "h100", "--cpu-step"],
         "plan: --assume and --cpu-step all say what the step is; give one"),
        (["--cpu-step", "--gpus", 2],
         ("plan: --cpu-step runs the step on this CPU, and --gpus is 2; leave one out")),
        (["--machine", "m.toml", "--assume", "h100"],
         "plan: --machine says which GPUs there are, and so does --assume; leave one out"),
        (["--machine", "m.toml", "--gpus", 2],
         "plan: --machine says which GPUs there are, and so does --gpus; leave one out"),
        (["--compare", "machines"],
         "plan: --compare machines has none to compare; give a file of them with --machine"),
        (["--compare", "machine"],
         ("plan: --compare is 'machine', want recipes or machines or backends or workers or sizes "
         "or formats; did you mean machines?")),
        (["--compare", "workers", "--machine", "m.toml"],
         ("plan: --compare workers is about this machine's loader, and --machine names another; "
         "leave one out")),
        (["--model", "resnet18", "--assume", "h100"],
         ("plan: --model resnet18 is for a step that runs here, and its rate is given; leave one "
         "out")),
        (["--data", ".", "--price", "$3"],
         "plan: --price is '$3', want a number above 0 per hour; write --price 32.77/h"),
        (["--html", "/no/such/x.html"],
         ("plan: /no/such/x.html: its folder does not exist; make it, or give another file to "
         "--html")),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments, text):
    error = run(*arguments).exception
    assert isinstance(error, UsageError)
    assert str(error) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", (": has no machine; write tables [[machine]] (want name, cores, gpus, and gpu or "
         "step_rate)")),
        ("[[machine]]\ncores = 8", ", machine 1: name is None, want a text; give it a name"),
        ('[[machine]]\nname = "a"',
         ", machine 1 (a): cores is missing, want a whole number from 1; add it"),
        (f"[[machine]]\n{NODE}disc = 1",
         (", machine 1: disc is unknown; use core_speed, cores, disk, gpu, gpus, memory, name, "
         "network, price, step_rate")),
        ('[[machine]]\nname = "a"\ncores = 2.5\ngpu = "h100"',
         ", machine 1 (a): cores is 2.5, want a whole number from 1; correct it"),
        ('[[machine]]\nname = "a"\ncores = 2\ngpu = "h100"\nprice = -1',
         ", machine 1 (a): price is -1, want a number above 0; correct it"),
        ('[[machine]]\nname = "a"\ncores = 2\ngpu = "b200"',
         (", machine 1 (a): gpu 'b200' is unknown (want a100, h100, h200); give its images/s as "
         "step_rate")),
        ('[[machine]]\nname = "a"\ncores = 2',
         ", machine 1 (a): want either gpu or step_rate; give one of them"),
        (f"[[machine]]\n{NODE}[[machine]]\n{NODE}",
         ": two machines have the name 'a'; rename one"),
    ],
)  # fmt: skip
def test_a_file_of_machines_that_is_wrong(tmp_path, text, problem):
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        machines.load(str(path))
    assert str(error.value) == f"{path}{problem}"


def test_one_machine_of_a_file(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(f"[[machine]]\n{NODE}")
    assert machines.one(str(path)).price == 3.5
    assert machines.one(f"{path}#a").gpus == 2
    with pytest.raises(UsageError) as error:
        machines.one(f"{path}#b")
    assert str(error.value) == f"{path}: machine 'b' is unknown (want a); check the name"
    other = NODE.replace('"a"', '"b"')
    path.write_text(f"[[machine]]\n{NODE}[[machine]]\n{other}")
    with pytest.raises(UsageError) as error:
        machines.one(str(path))
    assert str(error.value) == (
        f"{path}: has 2 machines (a, b), want one; write --machine {path}#NAME, or compare them "
        "with --compare machines"
    )


def test_without_a_gpu_there_must_be_a_step(monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    error = run("--data", tmp_path).exception
    assert isinstance(error, UsageError)
    assert str(error) == (
        "plan: torch sees no GPU here, so there is no training step to measure; assume one with "
        "--assume a100, h100 or h200, give --step-rate IMAGES_PER_SECOND, or measure the recipe's "
        "step on this CPU with --cpu-step"
    )


def test_the_kinds_are_those_that_can_be_compared():
    assert plan_options.KINDS == compare.KINDS


def test_the_command_asks_for_the_same():
    given = {"recipe": "hot", "data": "my data", "epochs": 3, "gpus": 1, "cpu_step": True,
             "backend": "auto", "price": None, "batch_size": 8}  # fmt: skip
    assert plan_options.command(given, plan_options.DEFAULTS) == (
        "fastload plan --recipe hot --data 'my data' --epochs 3 --cpu-step --batch-size 8"
    )


def test_the_command_has_no_workers_where_none_were_asked_for():
    given = {"recipe": "hot", "workers": 0, "cpu_step": False, "gpus": 1}
    assert plan_options.command(given, plan_options.DEFAULTS) == (
        "fastload plan --recipe hot --workers 0"
    )


@pytest.fixture
def short(monkeypatch):
    """Two replicates: what is measured does not matter here."""
    monkeypatch.setattr("fastload.forecast.measuring.TURNS", 2)


@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_a_forecast_of_real_images(photos, tmp_path: Path):  # noqa: F811
    out, html = tmp_path / "out.json", tmp_path / "out.html"
    result = run(
        "--recipe", "mild", "--data", photos, "--epochs", 4, "--step-rate", 300, "--price", "2/h",
        "--seconds", 1, "--workers", 2, "--compare", "sizes", "--json", out, "--html", html,
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    assert result.output.startswith("mild, 4 epochs on this machine, 1 GPU: ")
    written = json.loads(out.read_text())
    assert [epoch["size_px"] for epoch in written["epochs"]] == [88, 88, 112, 164]
    assert written["images_per_epoch"] == 24
    assert next(one["name"] for one in written["options"]) == "the recipe's schedule"
    assert "<svg" in html.read_text()


@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_a_forecast_with_the_step_of_this_cpu(photos):  # noqa: F811
    result = run(
        "--recipe", "baseline", "--data", photos, "--epochs", 2, "--cpu-step", "--model",
        "test_resnet", "--seconds", 1, "--workers", 1, "--batch-size", 2, "--json", "-",
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    written = json.loads(result.output)
    assert written["cores_needed"] is None
    assert written["step"] == "measured on this CPU, beside the loader, at 224 px"
    assert list(written["what_if"]) == ["decoding and augmenting were free"]
    assert written["seconds"]["low"] < written["seconds"]["high"]
