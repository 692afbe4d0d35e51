"""The options of fastload plan, and which of them go together."""

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from fastload.cli import output
from fastload.cli.output import DATA
from fastload.cli.verbs import GPUS, RECIPES, words
from fastload.errors import UsageError, mistyped, misused

# Whole numbers, and the least that makes sense
LEAST = {"epochs": 1, "images": 1, "gpus": 1, "workers": 0, "batch_size": 1}
KINDS = ("recipes", "machines", "backends", "workers", "sizes", "formats")
DEFAULTS = {"recipe": "hot", "gpus": 1, "backend": "auto", "seconds": 40.0}
COMPUTED = ("machines", "sizes")  # that need no further measuring
Recipe = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE",
        help="Recipe to train; see fastload recipes list.",
        autocompletion=RECIPES,
    ),
]
Data = Annotated[str | None, typer.Option(metavar="PATH", help=DATA)]
Epochs = Annotated[
    int | None, typer.Option(metavar="N", help="Length of the training; default: the recipe's.")
]
Images = Annotated[
    int | None,
    typer.Option(metavar="N", help="Images of an epoch; default: as many as the data have."),
]
Machine = Annotated[
    str | None,
    typer.Option(
        metavar="FILE[#NAME]", help="Another machine, of a TOML file; see docs/planning.md."
    ),
]
Assume = Annotated[
    str | None,
    typer.Option(
        metavar="GPU", help="Take the step of an a100, h100 or h200 (ESTIMATE).",
        autocompletion=GPUS,
    ),
]  # fmt: skip
StepRate = Annotated[
    float | None,
    typer.Option(metavar="RATE", help="Take a step of R images/s on each GPU, at full size."),
]
CpuStep = Annotated[bool, typer.Option("--cpu-step", help="Measure the recipe's step on this CPU.")]
Gpus = Annotated[int, typer.Option(metavar="N", help="GPUs of this machine.")]
Price = Annotated[
    str | None, typer.Option(metavar="PRICE/h", help="What the machine costs: 32.77/h.")
]
PriceEnergy = Annotated[
    str | None,
    typer.Option(
        "--price-energy", metavar="PRICE/kWh", help="What the energy costs, where it is counted."
    ),
]
PriceDisk = Annotated[
    str | None,
    typer.Option(
        "--price-disk", metavar="PRICE/TB-month",
        help="What the disk costs that holds the data; for --compare formats.",
    ),
]  # fmt: skip
Target = Annotated[
    float | None, typer.Option(metavar="TOP1", help="Published top-1 to reach, as 0.78.")
]
Compare = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(KINDS), help="Also forecast other choices.",
        autocompletion=words(lambda: KINDS),
    ),
]  # fmt: skip
Rates = Annotated[
    str | None,
    typer.Option(
        "--rates",
        metavar="FILE.json",
        help="Measure nothing: take rates of an earlier plan, or of profile --schedule.",
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        metavar="|".join(output.BACKENDS), help="Engine of the loader.",
        autocompletion=words(lambda: output.BACKENDS),
    ),
]  # fmt: skip
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", help="Threads or worker processes; default: one per core."),
]
BatchSize = Annotated[
    int | None, typer.Option(metavar="N", help="Default: as fastload profile takes it.")
]
Seconds = Annotated[float, typer.Option(metavar="SECONDS", help="Time for measuring.")]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Model of a real step, in place of the recipe's."),
]
Html = Annotated[
    str | None, typer.Option("--html", metavar="FILE", help="Also write it as one HTML page.")
]


def check(given: Mapping[str, Any]) -> None:
    """Raises UsageError for the first option that makes no sense. given: by parameter."""
    for name, known in (("compare", KINDS), ("backend", output.BACKENDS)):
        value = given[name]
        if value is not None and value not in known:
            text = f"plan: --{name} is {value!r}, want {' or '.join(known)}"
            raise mistyped(UsageError(text), value, known)
    for name, least in LEAST.items():
        value = given[name]
        if value is not None and value < least:
            option = name.replace("_", "-")
            raise misused(f"plan: --{option} is {value}, want {least} or more")
    rate, target = given["step_rate"], given["target"]
    if rate is not None and not 0 < rate < 1e9:
        raise misused(f"plan: --step-rate is {rate:g}, want more than 0 images/s")
    if target is not None and not 0 < target < 1:
        raise misused(
            f"plan: --target is {target:g}, want a share between 0 and 1; write 0.78 for 78 %"
        )
    if not 1 <= given["seconds"] <= 3600:
        raise misused(f"plan: --seconds is {given['seconds']:g}, want 1 to 3600")
    _together(given)


def _together(given: Mapping[str, Any]) -> None:
    """Raises UsageError for options that exclude or need each other."""
    steps = {
        "--assume": given["assume"],
        "--step-rate": given["step_rate"],
        "--cpu-step": given["cpu_step"],
    }
    named = [option for option, value in steps.items() if value]
    if len(named) > 1:
        raise misused(f"plan: {' and '.join(named)} all say what the step is; give one")
    if given["cpu_step"] and given["gpus"] != 1:
        raise misused(
            f"plan: --cpu-step runs the step on this CPU, and --gpus is {given['gpus']}; leave one "
            "out"
        )
    if given["price_disk"] is not None and given["compare"] != "formats":
        raise misused(
            "plan: --price-disk tells formats of the data apart; add --compare formats, or leave "
            "it out"
        )
    machines = given["compare"] == "machines"
    if given["machine"] is not None and (named or given["gpus"] != 1):
        extra = named[0] if named else "--gpus"
        raise misused(
            f"plan: --machine says which GPUs there are, and so does {extra}; leave one out"
        )
    if machines and given["machine"] is None:
        raise misused(
            "plan: --compare machines has none to compare; give a file of them with --machine"
        )
    if given["machine"] is not None and not machines and given["compare"] == "workers":
        raise misused(
            "plan: --compare workers is about this machine's loader, and --machine names another; "
            "leave one out"
        )
    if given["model"] is not None and (given["assume"] or given["step_rate"] or given["machine"]):
        raise misused(
            f"plan: --model {given['model']} is for a step that runs here, and its rate is given; "
            "leave one out"
        )


def check_rates(given: Mapping[str, Any]) -> None:
    """Raises UsageError for options that need measuring, where rates are given."""
    measuring = {
        name: given[name] is not None for name in ("data", "workers", "batch_size", "model")
    }
    measuring["cpu_step"] = given["cpu_step"]
    measuring |= {name: given[name] != DEFAULTS[name] for name in ("backend", "seconds")}
    named = [name for name, there in measuring.items() if there]
    if named:
        option = named[0].replace("_", "-")
        raise misused(
            f"plan: --rates {given['rates']} has what was measured, and --{option} is for "
            "measuring; leave one out"
        )
    if given["compare"] not in (None, *COMPUTED):
        raise misused(
            f"plan: --compare {given['compare']} has to measure, and --rates measures nothing; "
            f"leave one out, or compare {' or '.join(COMPUTED)}"
        )


def command(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The command line that asks for the same again."""
    words_ = ["fastload", "plan"]
    for name, value in given.items():
        if value is None or value is False:  # 0 workers are some
            continue
        if value == defaults.get(name) and name != "recipe":
            continue
        words_ += [f"--{name.replace('_', '-')}"] + [str(value)] * (value is not True)
    return shlex.join(words_)
