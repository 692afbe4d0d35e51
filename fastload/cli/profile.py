"""`fastload profile`: what limits training on this machine, and what would help."""

import os
from typing import Annotated, Any

import typer

from fastload.cli import attached, output
from fastload.errors import UsageError

BACKENDS = (*output.BACKENDS, "all")
DEVICES = ("cpu", "cuda")
FAILS = ("cpu-bound", "data-bound")
HELP = """Say what limits training: the GPU or the data path, which stage, and what would help.

Of a recipe and a folder, or of any command that trains with PyTorch: fastload profile [options] -- python train.py ..."""
Compare = Annotated[
    tuple[str, str] | None, typer.Option("--compare", metavar="BEFORE.json AFTER.json", help="Compare two reports; exit 1 if slower.")
]


def register(app: typer.Typer) -> None:
    app.command("profile", help=HELP)(profile)


def profile(
    recipe: Annotated[str, typer.Option(metavar="NAME|FILE", help="Recipe to profile; see fastload recipes list.")] = "hot",
    data: Annotated[str | None, typer.Option(metavar="PATH", help="Folder of classes, fastload shards, or a .beton file.")] = None,
    backend: Annotated[str, typer.Option(metavar="|".join(BACKENDS), help="all: each is measured, and backend='auto' knows it.")] = "auto",
    workers: Annotated[int | None, typer.Option(metavar="N", help="Threads or worker processes; default one per core.")] = None,
    batch_size: Annotated[int | None, typer.Option(metavar="N", help="Default 256 on a GPU, small with an emulated step.")] = None,
    step_rate: Annotated[float | None, typer.Option(metavar="R", help="Emulate a training step of R images/s.")] = None,
    assume: Annotated[str | None, typer.Option(metavar="GPU", help="Emulate the step of an a100, h100 or h200 (ESTIMATE).")] = None,
    device: Annotated[str, typer.Option(metavar="|".join(DEVICES), help="Where batches are filled.")] = "cpu",
    seconds: Annotated[float | None, typer.Option(metavar="S", help="Budget of the measuring; default 40, with --quick 8.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A rough answer within 15 s.")] = False,
    fail_if: Annotated[str | None, typer.Option(metavar="|".join(FAILS), help="Exit 1 if that is the verdict.")] = None,
    json_to: output.JsonTo = None,
    steps: Annotated[int | None, typer.Option(metavar="N", help="Of a command: stop it after N training steps.")] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Of a command: let it run to its end.")] = False,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Also write the report as one HTML page.")] = None,
    trace: Annotated[str | None, typer.Option("--trace", metavar="FILE", help="Of a command: write a Chrome trace (Perfetto).")] = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Also the loader with 1, 2, 4, ... workers.")] = False,
    cold: Annotated[bool, typer.Option("--cold", help="Also reading with a cold page cache.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Also training with what would help: predicted against measured.")] = False,
    cuts: Annotated[bool, typer.Option("--cuts", help="Also the loader cut off after each stage; with --cold cold too.")] = False,
    compare: Compare = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Of a real step: resnet101, ... for the recipe's.")] = None,
    ladder: Annotated[bool, typer.Option("--ladder", help="Of a command: measure step and loader alone; changes the training.")] = False,
    command: Annotated[list[str] | None, typer.Argument(metavar="[PATH | -- COMMAND ...]", help="Data, or a training to profile.")] = None,
) -> None:
    """One of three: two reports compared, a command, or a recipe and a folder."""
    _check(backend, workers, batch_size, step_rate, assume, device, seconds, fail_if)
    to = attached.Outputs(json_to, html, trace)
    if compare:
        attached.compare(compare, json_to, alone=not (command or data or html))
        return
    data, command = _data(data, command)
    _fits(model, data, emulated=bool(step_rate or assume), command=bool(command), more=sweep or cold or verify or cuts)
    if command:
        attached.run(command, attached.limits(steps, seconds, whole=whole, quick=quick, ladder=ladder), to, fail_if)
        return
    _no_command(steps, trace, whole=whole, ladder=ladder)
    asked = {"seconds": seconds or attached.budget(quick), "sweep": sweep, "cold": cold, "verify": verify, "cuts": cuts, "model": model}
    _emit(_recipe(recipe, data, (backend, workers, batch_size, device), (step_rate, assume), asked), to, fail_if)


def _recipe(
    name: str,
    data: str | None,
    how: tuple[str, int | None, int | None, str],
    step: tuple[float | None, str | None],
    asked: dict[str, Any],
) -> Any:
    """The report of a recipe on a folder. Raises FastloadError."""
    if data is None:
        raise UsageError("profile: no data set given; give --data DIR, or run fastload demo, which makes one")
    from fastload import recipes  # imports torch, which usage errors need not wait for
    from fastload.profiler import job
    from fastload.recipes import rates

    rate, assume = step
    note = ""
    if assume is not None:
        found = rates.rate(assume)
        note, rate = found.describe(), found.images_per_s
    with output.progress("profiling", None, "runs") as advance:
        return job.run(job.Job(recipes.load(name), data, rate, note, *how, **asked), advance)


def _emit(report: Any, to: attached.Outputs, fail_if: str | None) -> None:
    attached.emit(report, to)
    attached.fail(report.verdict.label, fail_if)


def _data(data: str | None, command: list[str] | None) -> tuple[str | None, list[str] | None]:
    """What was given as data and what as a command: one word that is a folder or an FFCV file is no command."""
    if not command or len(command) > 1 or not (os.path.isdir(command[0]) or command[0].lower().endswith(".beton")):
        return data, command
    if data is not None:
        raise UsageError(f"profile: data given twice ({command[0]} and --data {data}); give one")
    return command[0], None


def _fits(model: str | None, data: str | None, *, emulated: bool, command: bool, more: bool) -> None:
    """Raises UsageError for what does not go with a command, or with an emulated step."""
    if model is not None and (emulated or command):
        what = "a command trains its own network" if command else "--step-rate and --assume play a step without one"
        raise UsageError(f"profile: --model {model} is for a recipe's real step, and {what}; leave one out")
    if command and data is not None:
        raise UsageError("profile: --data and a command exclude each other; give one")
    if command and more:
        raise UsageError("profile: --sweep, --cold, --verify and --cuts need a recipe and --data, not a command")


def _no_command(steps: int | None, trace: str | None, *, whole: bool, ladder: bool) -> None:
    if steps is not None or whole or ladder or trace:
        raise UsageError("profile: --steps, --whole, --ladder and --trace are for a command; give one after --")


def _check(
    backend: str, workers: int | None, batch_size: int | None, step_rate: float | None, assume: str | None,
    device: str, seconds: float | None, fail_if: str | None,
) -> None:  # fmt: skip
    """Raises UsageError for the first option that makes no sense."""
    for name, value, known in (("backend", backend, BACKENDS), ("device", device, DEVICES), ("fail-if", fail_if, FAILS)):
        if value is not None and value not in known:
            raise UsageError(f"profile: --{name} is {value!r}, want {' or '.join(known)}")
    if workers is not None and workers < 0:
        raise UsageError(f"profile: --workers is {workers}, want 0 or more (0: everything in one thread)")
    if batch_size is not None and batch_size < 1:
        raise UsageError(f"profile: --batch-size is {batch_size}, want 1 or more")
    if step_rate is not None and not 0 < step_rate < 1e9:
        raise UsageError(f"profile: --step-rate is {step_rate:g}, want more than 0 images/s")
    if step_rate is not None and assume is not None:
        raise UsageError(f"profile: --step-rate {step_rate:g} and --assume {assume} both set the step's rate; give one")
    if seconds is not None and not 1 <= seconds <= 3600:
        raise UsageError(f"profile: --seconds is {seconds:g}, want 1 to 3600")
