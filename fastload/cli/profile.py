"""`fastload profile`: what limits training on this machine, and what would help."""

from typing import Annotated

import typer
from rich.text import Text

from fastload.cli import output
from fastload.errors import UsageError

BACKENDS = ("auto", "native", "torch", "all")
DEVICES = ("cpu", "cuda")
FAILS = ("cpu-bound", "data-bound")
SECONDS, QUICK_SECONDS = 40.0, 8.0  # of measuring; importing and opening the data come on top


def register(app: typer.Typer) -> None:
    app.command("profile")(profile)


def profile(
    recipe: Annotated[str, typer.Option(metavar="NAME|FILE", help="Recipe to profile; see fastload recipes list.")] = "hot",
    data: Annotated[str | None, typer.Option(metavar="DIR", help="Folder of classes, or fastload shards.")] = None,
    backend: Annotated[str, typer.Option(metavar="|".join(BACKENDS), help="all: auto, and the others are measured too.")] = "auto",
    workers: Annotated[int | None, typer.Option(metavar="N", help="Threads or worker processes; default one per core.")] = None,
    batch_size: Annotated[int | None, typer.Option(metavar="N", help="Default 256 on a GPU, small with an emulated step.")] = None,
    step_rate: Annotated[float | None, typer.Option(metavar="R", help="Emulate a training step of R images/s.")] = None,
    assume: Annotated[str | None, typer.Option(metavar="GPU", help="Emulate the step of an a100, h100 or h200 (ESTIMATE).")] = None,
    device: Annotated[str, typer.Option(metavar="|".join(DEVICES), help="Where batches are filled.")] = "cpu",
    seconds: Annotated[float | None, typer.Option(metavar="S", help="Budget of the measuring; default 40, with --quick 8.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A rough answer within 15 s.")] = False,
    fail_if: Annotated[str | None, typer.Option(metavar="|".join(FAILS), help="Exit 1 if that is the verdict.")] = None,
    json_to: output.JsonTo = None,
) -> None:
    """Say what limits training: the GPU or the data path, which stage, and what would help."""
    _check(backend, workers, batch_size, step_rate, assume, device, seconds, fail_if)
    if data is None:
        raise UsageError("profile: no data set given; give --data DIR, or run fastload demo, which makes one")
    from fastload import recipes  # imports torch, which usage errors need not wait for
    from fastload.profiler import job
    from fastload.recipes import rates

    note, rate = "", step_rate
    if assume is not None:
        found = rates.rate(assume)
        note, rate = found.describe(), found.images_per_s
    budget = seconds or (QUICK_SECONDS if quick else SECONDS)
    work = job.Job(recipes.load(recipe), data, rate, note, backend, workers, batch_size, device, budget)
    with output.progress("profiling", None, "runs") as advance:
        report = job.run(work, advance)
    first, *rest = str(report).split("\n")
    output.emit(report.to_json(), json_to, Text.assemble((first, "bold"), "\n", "\n".join(rest)))
    _fail(report.verdict.label, fail_if)


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


def _fail(label: str, fail_if: str | None) -> None:
    """Exit 1 where the verdict is what the caller will not have."""
    from fastload.profiler import verdict

    unwanted = {"cpu-bound": (verdict.CPU,), "data-bound": verdict.DATA_BOUND}
    if fail_if and label in unwanted[fail_if]:
        output.log.print(f"fastload: profile: the verdict is {label}, and --fail-if {fail_if} was given", markup=False)
        raise typer.Exit(1)
