"""The options of fastload profile, and which of them go together."""

from dataclasses import dataclass
from typing import Annotated

import typer

from fastload.cli import output
from fastload.cli.output import DATA
from fastload.cli.verbs import GPUS, RECIPES, words
from fastload.errors import UsageError, mistyped, misused

BACKENDS = (*output.BACKENDS, "all")
DEVICES = ("cpu", "cuda")
# What says how a recipe is run, which a command says itself
OF_RECIPES = (
    "--recipe", "--backend", "--workers", "--batch-size", "--step-rate", "--assume", "--device",
)  # fmt: skip
OF_COMMANDS = ("--steps", "--whole", "--ladder", "--trace")
FAILS = ("cpu-bound", "data-bound")
Recipe = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE",
        help="Recipe to profile; see fastload recipes list.",
        autocompletion=RECIPES,
    ),
]
Data = Annotated[
    str | None,
    typer.Option(metavar="PATH", help=DATA),
]
Backend = Annotated[
    str,
    typer.Option(
        metavar="|".join(BACKENDS),
        help="all: measure each, for backend='auto' to use.",
        autocompletion=words(lambda: BACKENDS),
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", help="Threads or worker processes; default: one per core."),
]
BatchSize = Annotated[
    int | None,
    typer.Option(metavar="N", help="Default: 256 on a GPU, less with an emulated step."),
]
StepRate = Annotated[
    float | None, typer.Option(metavar="RATE", help="Emulate a training step of R images/s.")
]
Assume = Annotated[
    str | None,
    typer.Option(
        metavar="GPU",
        help="Emulate the step of an a100, h100 or h200 (ESTIMATE).",
        autocompletion=GPUS,
    ),
]
Device = Annotated[
    str,
    typer.Option(
        metavar="|".join(DEVICES),
        help="Where batches are filled.",
        autocompletion=words(lambda: DEVICES),
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Time for measuring; default: 40, with --quick 8."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Give a rough answer within 15 s.")]
FailIf = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(FAILS),
        help="Exit 1 if that is the verdict.",
        autocompletion=words(lambda: FAILS),
    ),
]
Steps = Annotated[
    int | None, typer.Option(metavar="N", help="Stop the command after N training steps.")
]
Whole = Annotated[bool, typer.Option("--whole", help="Let the command run to its end.")]
Html = Annotated[
    str | None,
    typer.Option("--html", metavar="FILE", help="Also write the report as one HTML page."),
]
Trace = Annotated[
    str | None,
    typer.Option("--trace", metavar="FILE", help="Write a Chrome trace (Perfetto) of the command."),
]
Sweep = Annotated[bool, typer.Option("--sweep", help="Also measure 1, 2, 4, ... workers.")]
Cold = Annotated[bool, typer.Option("--cold", help="Also read with a cold page cache.")]
Verify = Annotated[
    bool,
    typer.Option("--verify", help="Also train with what would help: predicted against measured."),
]
Cuts = Annotated[
    bool,
    typer.Option(
        "--cuts", help="Also measure the loader cut off after each stage; --cold: cold too."
    ),
]
Schedule = Annotated[
    bool,
    typer.Option(
        "--schedule",
        help="Measure every size of the recipe's schedule: where the bottleneck moves.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Model of a real step, in place of the recipe's."),
]
Ladder = Annotated[
    bool,
    typer.Option(
        "--ladder", help="Measure the command's step and loader alone; changes the training."
    ),
]
Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH | -- COMMAND ...", help="Data, or a training to profile."),
]
Compare = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--compare", metavar="BEFORE.json AFTER.json", help="Compare two reports; exit 1 if slower."
    ),
]


@dataclass(frozen=True)
class Setup:
    """What a recipe is profiled with; None: the default."""

    backend: str
    workers: int | None
    batch_size: int | None
    step_rate: float | None  # images/s of an emulated step
    assume: str | None  # the GPU whose step is emulated
    device: str
    seconds: float | None
    model: str | None

    def check(self, fail_if: str | None, *, quick: bool) -> None:
        """Raises UsageError for the first option that makes no sense."""
        for name, value, known in (
            ("backend", self.backend, BACKENDS),
            ("device", self.device, DEVICES),
            ("fail-if", fail_if, FAILS),
        ):
            if value is not None and value not in known:
                text = f"profile: --{name} is {value!r}, want {' or '.join(known)}"
                raise mistyped(UsageError(text), value, known)
        if self.workers is not None and self.workers < 0:
            raise misused(
                f"profile: --workers is {self.workers}, want 0 or more (0: everything in one "
                "thread)"
            )
        if self.batch_size is not None and self.batch_size < 1:
            raise misused(f"profile: --batch-size is {self.batch_size}, want 1 or more")
        self._check_step()
        if self.seconds is not None and not 1 <= self.seconds <= 3600:
            raise misused(f"profile: --seconds is {self.seconds:g}, want 1 to 3600")
        if self.seconds is not None and quick:
            raise misused(
                f"profile: --quick and --seconds {self.seconds:g} both say how long to measure; "
                "give one"
            )

    def _check_step(self) -> None:
        if self.step_rate is None:
            return
        if not 0 < self.step_rate < 1e9:
            raise misused(f"profile: --step-rate is {self.step_rate:g}, want more than 0 images/s")
        if self.assume is not None:
            raise misused(
                f"profile: --step-rate {self.step_rate:g} and --assume {self.assume} both set the "
                "step's rate; give one"
            )


@dataclass(frozen=True)
class More:
    """What is measured beyond the budget."""

    sweep: bool
    cold: bool
    verify: bool
    cuts: bool
    schedule: bool = False

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def of_job(self) -> dict[str, bool]:
        """All but the schedule, which is a profile of its own."""
        return {name: value for name, value in vars(self).items() if name != "schedule"}


def check_kind(given: list[str], *, command: bool) -> None:
    """Raises UsageError for options of a recipe beside a command, and the other way round. given:
    all options that are.
    """
    wrong = [option for option in given if option in (OF_RECIPES if command else OF_COMMANDS)]
    if wrong and command:
        raise misused(
            f"profile: {wrong[0]} is for a recipe with --data, and a command runs as it is; leave "
            "it out, or put it behind -- with the command"
        )
    if wrong:
        raise misused(
            "profile: --steps, --whole, --ladder and --trace are for a command; give one after --"
        )


def check_together(setup: Setup, data: str | None, more: More, *, command: bool) -> None:
    """Raises UsageError for options that do not go with a command or with an emulated step."""
    if setup.model is not None and (setup.step_rate or setup.assume or command):
        what = (
            "a command trains its own network"
            if command
            else "--step-rate and --assume play a step without one"
        )
        raise misused(
            f"profile: --model {setup.model} is for a recipe's real step, and {what}; leave one out"
        )
    if command and data is not None:
        raise misused("profile: --data and a command exclude each other; give one")
    if command and more:
        raise misused(
            "profile: --sweep, --cold, --verify, --cuts and --schedule need a recipe and --data, "
            "not a command"
        )
