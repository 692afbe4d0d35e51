"""`fastload profile --schedule`: every size of a recipe's schedule."""

import shlex
from collections.abc import Sequence

from rich.text import Text

from fastload.cli import attached, output
from fastload.cli.profile_options import More, Setup
from fastload.errors import misused

# Options of fastload profile that say nothing of a schedule
OTHERS = ("--quick", "--fail-if")


def run(
    recipe: str,
    data: str | None,
    setup: Setup,
    more: More,
    others: Sequence[object],
    to: attached.Outputs,
) -> None:
    """Measure and print. others: values of OTHERS. Raises FastloadError."""
    named = dict(zip(OTHERS, others, strict=True))
    named |= {f"--{name}": value for name, value in more.of_job().items()}
    named |= {"--device": setup.device != "cpu", "--backend all": setup.backend == "all"}
    _check(data, [option for option, value in named.items() if value])
    from fastload import recipes  # imports torch, which usage errors need not wait for
    from fastload.forecast import document, job, page, schedule

    loaded = recipes.load(recipe)
    count = len(set(loaded.size_per_epoch()))
    seconds = setup.seconds or schedule.EACH_S * count
    asked = job.Job(
        loaded, data or "", assume=setup.assume, step_rate=setup.step_rate, model=setup.model,
        backend=setup.backend, workers=setup.workers, batch_size=setup.batch_size,
        seconds=seconds, command=_command(recipe, data or "", setup),
    )  # fmt: skip
    with output.progress("profiling", None, "runs") as advance:
        found = schedule.measure(asked, advance)
    if to.html:
        attached.save(to.html, page.write(found), "html")
    file = to.json if to.json not in (None, "-") else None
    (first, *above), below = schedule.lines(found, file)
    output.emit(
        document.document(found) | schedule.document(found), to.json,
        Text.assemble((first, "bold"), "\n", "\n".join(above)), "",
        output.table(schedule.COLUMNS, schedule.rows(found)), "", Text("\n".join(below)),
    )  # fmt: skip


def _command(recipe: str, data: str, setup: Setup) -> str:
    """The command line that asks for the same again."""
    words = ["fastload", "profile", "--schedule", "--recipe", recipe, "--data", data]
    for name, value in vars(setup).items():
        if name != "device" and value not in (None, "auto"):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def _check(data: str | None, asked: Sequence[str]) -> None:
    """Raises UsageError. asked: options that do not go with it."""
    if asked:
        raise misused(
            f"profile: --schedule measures a recipe's loader and step, and {asked[0]} is given; "
            "leave one out"
        )
    if data is None:
        raise misused(
            "profile: no data set given; give --data DIR, or run fastload demo, which makes one"
        )
