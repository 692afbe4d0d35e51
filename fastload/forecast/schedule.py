"""A recipe's whole size schedule: what limits training at each size, where that changes, and what
each size costs over the run.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

import torch

from fastload.errors import UsageError
from fastload.forecast import job as planning
from fastload.forecast import model, words
from fastload.forecast.bands import Range
from fastload.forecast.findings import Forecast
from fastload.forecast.lines import headline, sources
from fastload.forecast.run import CPU, READ, STEP, WORDS, Run
from fastload.spec import Json

EACH_S = 10.0  # s of measuring for each size, where the user did not say


@dataclass(frozen=True)
class AtSize:
    """One size of the schedule."""

    size: int  # px
    epochs: int  # that have it
    step: Range  # images/s, alone
    loader: Range  # images/s, alone
    training: Range  # images/s
    limit: str  # of run.LIMITS
    waits: float  # share of its time in which the step waits
    seconds: float  # of its epochs
    held: Range  # s of the whole run, were all epochs of this size


@dataclass(frozen=True)
class Move:
    """Where the bottleneck moves."""

    size: int  # px, between two sizes of the schedule: from it on `above` is the limit
    below: str  # of run.LIMITS
    above: str


def measure(job: planning.Job, on_done: Callable[[], None] = lambda: None) -> Forecast:
    """Every size of the recipe's schedule, in turns. Raises FastloadError."""
    if not (job.assume or job.step_rate or job.cpu_step or torch.cuda.is_available()):
        raise UsageError(
            "profile: torch sees no GPU here, so there is no training step to measure; "
            "assume one with --assume a100, h100 or h200, or with --step-rate IMAGES_PER_SECOND"
        )
    return planning.run(replace(job, most=len(set(job.recipe.size_per_epoch()))), on_done)


def at_sizes(found: Forecast) -> tuple[AtSize, ...]:
    """Ascending."""
    run, asked = found.run, found.asked
    limits, waits, out = run.limits, sum(run.waits.values()), []
    for size in sorted(set(run.sizes)):
        epochs = [epoch for epoch, one in enumerate(run.sizes) if one == size]
        # Its limit and rates are those of a later epoch: the first one may read from the disk
        last = epochs[-1]
        seconds = float(run.seconds.value[epochs].sum())
        held = model.run(replace(asked, sizes=(size,) * len(run.sizes)), found.measured)
        out.append(
            AtSize(
                size, len(epochs), _rate(run.step.at(last)), _rate(run.loader.at(last)),
                _rate(run.training.at(last)), limits[last],
                float(waits[epochs].sum()) / seconds,  # type: ignore[index]
                seconds, held.total,
            )
        )  # fmt: skip
    return tuple(out)


def _rate(seconds: Range) -> Range:
    """Images/s of seconds per image."""
    return Range(1 / seconds.value, 1 / seconds.high, 1 / seconds.low)


def moves(found: Forecast) -> tuple[Move, ...]:
    """Between sizes with other limits: where the two take the same time. Times lie on lines over
    the image's area.
    """
    run, sizes, out = found.run, at_sizes(found), []
    last = {size: epoch for epoch, size in enumerate(run.sizes)}
    for one, two in itertools.pairwise(sizes):
        if one.limit == two.limit:
            continue
        before, after = (
            _seconds(run, two.limit, last[at.size]) - _seconds(run, one.limit, last[at.size])
            for at in (one, two)
        )
        share = before / (before - after)
        area = one.size**2 + share * (two.size**2 - one.size**2)
        out.append(Move(round(sqrt(area)), one.limit, two.limit))
    return tuple(out)


def _seconds(run: Run, limit: str, epoch: int) -> float:
    """Per image, of what a limit is named after."""
    return {STEP: run.step, CPU: run.loader, READ: run.read}[limit].at(epoch).value


def moved(found: Forecast) -> list[str]:
    """What limits the run, in words."""
    sizes, places = at_sizes(found), moves(found)
    if not places:
        at = "at every size" if len(sizes) > 1 else f"at {sizes[0].size} px, the only size"
        return [f"{WORDS[sizes[0].limit]} limits training {at}"]
    return [
        f"the bottleneck moves at {one.size} px: {WORDS[one.below]} limits training below, "
        f"{WORDS[one.above]} above"
        for one in places
    ]


COLUMNS = ("px", "epochs", "loader", "step", "training", "limit", "waiting", "time",
           "if held throughout")  # fmt: skip
SHORT = {STEP: "step", CPU: "CPU", READ: "reading"}


def rows(found: Forecast) -> list[tuple[str, ...]]:
    """Size by size. Rates are images/s."""
    return [
        (
            str(one.size), str(one.epochs), words.number(one.loader.value),
            words.number(one.step.value), words.number(one.training.value), SHORT[one.limit],
            words.share(one.waits), words.time(one.seconds), words.time(one.held.value),
        )
        for one in at_sizes(found)
    ]  # fmt: skip


def lines(found: Forecast, file: str | None) -> tuple[list[str], list[str]]:
    """What stands above and below the table. file: that has the rates now."""
    one = at_sizes(found)[-1].loader
    off = f"{one.low / one.value:.2f} to {one.high / one.value:.2f} times that in another run"
    batch = f"rates are images/s in batches of {found.batch_size}; the loader's may be {off}"
    after = ["where the rates come from", *(f"  {text}" for text in sources(found))]
    after += ["extrapolated", *(f"  {text}" for text in found.extrapolated)]
    after.append(f"not included: {'; '.join(found.left_out)}")
    if file is not None:
        after.append(f"fastload plan --rates {file} forecasts other runs without measuring again")
    return [headline(found), *(f"  {text}" for text in moved(found)), f"  {batch}"], after


def document(found: Forecast) -> Json:
    """What a profile of a schedule adds to the forecast's JSON."""
    return {
        "schedule": [
            {
                "size_px": one.size, "epochs": one.epochs,
                **{f"{name}_img_per_s": getattr(one, name).to_json()
                   for name in ("loader", "step", "training")},
                "limit": one.limit, "waiting": one.waits, "seconds": one.seconds,
                "seconds_if_held": one.held.to_json(),
            }
            for one in at_sizes(found)
        ],
        "moves": [vars(one) for one in moves(found)],
    }  # fmt: skip
