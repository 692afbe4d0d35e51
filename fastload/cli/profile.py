"""`fastload profile`: what limits training on this machine, and what would help."""

import os
from typing import TYPE_CHECKING

import typer

from fastload.cli import attached, output
from fastload.cli import schedule as whole_schedule
from fastload.cli.profile_options import (
    Assume,
    Backend,
    BatchSize,
    Cold,
    Command,
    Compare,
    Cuts,
    Data,
    Device,
    FailIf,
    Html,
    Ladder,
    Model,
    More,
    Quick,
    Recipe,
    Schedule,
    Seconds,
    Setup,
    StepRate,
    Steps,
    Sweep,
    Trace,
    Verify,
    Whole,
    Workers,
    check_kind,
    check_together,
)
from fastload.cli.verbs import Verb, given
from fastload.errors import misused

if TYPE_CHECKING:
    from fastload.profiler import Report

HELP = (
    "Say what limits training: the GPU or the data path, which stage, and what would help.\n\n"
    "It profiles a recipe on a folder of images, or any command that trains with PyTorch: "
    "fastload profile [options] -- python train.py ..."
)


def register(app: typer.Typer) -> None:
    app.command("profile", cls=Verb, help=HELP)(profile)


def profile(
    ctx: typer.Context,
    recipe: Recipe = "hot",
    data: Data = None,
    backend: Backend = "auto",
    workers: Workers = None,
    batch_size: BatchSize = None,
    step_rate: StepRate = None,
    assume: Assume = None,
    device: Device = "cpu",
    seconds: Seconds = None,
    quick: Quick = False,
    fail_if: FailIf = None,
    json_to: output.JsonTo = None,
    steps: Steps = None,
    whole: Whole = False,
    html: Html = None,
    trace: Trace = None,
    sweep: Sweep = False,
    cold: Cold = False,
    verify: Verify = False,
    cuts: Cuts = False,
    compare: Compare = None,
    schedule: Schedule = False,
    model: Model = None,
    ladder: Ladder = False,
    command: Command = None,
) -> None:
    """Compare two reports, profile a command, or profile a recipe on a folder."""
    setup = Setup(backend, workers, batch_size, step_rate, assume, device, seconds, model)
    setup.check(fail_if, quick=quick)
    to, more = attached.Outputs(json_to, html, trace), More(sweep, cold, verify, cuts, schedule)
    if compare:
        return attached.compare(compare, json_to, beside=given(ctx, "--compare", "--json"))
    data, command = _source(data, command, setup, more, given(ctx))
    if command:
        limits = attached.limits(steps, seconds, whole=whole, quick=quick, ladder=ladder)
        return attached.run(command, limits, to, fail_if)
    if schedule:
        return whole_schedule.run(recipe, data, setup, more, (quick, fail_if), to)
    return attached.finish(_report(recipe, data, setup, more, quick=quick), to, fail_if)


def _report(recipe: str, data: str | None, setup: Setup, more: More, *, quick: bool) -> "Report":
    """The report of a recipe on a folder. Raises FastloadError."""
    if data is None:
        raise misused(
            "profile: no data set given; give --data DIR, or run fastload demo, which makes one"
        )
    from fastload import recipes  # imports torch, which usage errors need not wait for
    from fastload.profiler import job
    from fastload.recipes import rates

    rate, note = setup.step_rate, ""
    if setup.assume is not None:
        step = rates.rate(setup.assume)
        rate, note = step.images_per_s, step.describe()
    with output.progress("profiling", None, "runs") as advance:
        work = job.Job(
            recipes.load(recipe),
            data,
            rate,
            note,
            setup.backend,
            setup.workers,
            setup.batch_size,
            setup.device,
            setup.seconds or attached.budget(quick),
            model=setup.model,
            **more.of_job(),
        )
        return job.run(work, advance)


def _source(
    data: str | None, command: list[str] | None, setup: Setup, more: More, options: list[str]
) -> tuple[str | None, list[str] | None]:
    """Data or a command. Raises UsageError for both, and for options that do not go with it."""
    data, command = _data(data, command)
    check_together(setup, data, more, command=bool(command))
    check_kind(options, command=bool(command))
    return data, command


def _data(data: str | None, command: list[str] | None) -> tuple[str | None, list[str] | None]:
    """Data and command apart: a single word that is a folder or names files of data is data."""
    if not command or len(command) > 1 or not (os.path.isdir(command[0]) or _is_data(command[0])):
        return data, command
    if data is not None:
        raise misused(f"profile: data given twice ({command[0]} and --data {data}); give one")
    return command[0], None


def _is_data(word: str) -> bool:
    """Whether its end says that no program is meant."""
    return word.lower().endswith((".beton", ".tar"))
