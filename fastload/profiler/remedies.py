"""What else could run the data path, and what that gains, measured.

What cannot be measured here is not offered.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fastload.backends import choosing
from fastload.backends.measured import Rate
from fastload.backends.table import BACKENDS, facts
from fastload.errors import FastloadError
from fastload.measure import Interval, Sample, interleaved, ratio
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import plan
from fastload.profiler.batches import Feed, alone
from fastload.profiler.evidence import Rungs
from fastload.profiler.ladder import Budget, Ladder
from fastload.profiler.overlap import trained
from fastload.spec import Stage
from fastload.transforms import Op, RandAugment
from fastload.transforms.kinds import Gather

WORTH = 1.05  # a gain below this is not worth a change
REPLICATES = 3
VERIFIED = 3  # remedies, with --verify
SHORTER = 0.5  # of a rung's replicate: a gain worth having shows quickly
MILDER = "other training: check the accuracy"
# A candidate is begun only if this many replicates of a rung still fit: 2 x 3 shorter ones,
# starting, draining
RESERVE = 5
SURE = 2  # candidates that are measured however late it is: without any the answer is missing


@dataclass(frozen=True)
class Alternative:
    """Another way to run, before it is measured."""

    name: str  # what to do
    cost: str  # what it takes or risks
    backend: str
    ops: tuple[Op, ...]
    asked: bool = False  # the user wants it measured, whatever the time and the verdict
    how: str = ""  # to be copied


@dataclass(frozen=True)
class Priced:
    """A measured alternative: rates in images/s, taking turns with the loader as it is."""

    alternative: Alternative
    loader: Sample
    now: Sample
    training: Sample | None = None  # with --verify: training with it, images/s
    beside: bool = False  # it works beside the step, where the loader as it is cannot
    computed: bool = False  # `loader` is computed from a sample of the images
    handover: float | None = None  # as `Rungs.handover`; None: as it is now

    @property
    def speedup(self) -> Interval:
        return ratio(self.loader, self.now)

    @property
    def worth_it(self) -> bool:
        return self.speedup.low > WORTH

    def predicted(self, rungs: Rungs) -> float:
        """Training with it, images/s, if step and loader overlap as much as they do now.

        The loader's gain is of one turn's pairs.
        """
        return self.range(rungs).value

    def range(self, rungs: Rungs) -> Interval:
        """The same with its interval: of the loader's gain, the step, and how much overlaps.

        What begins to work beside the step overlaps somewhere between not at all and wholly. The
        replicates of the rungs are resampled together, so a drift of the machine widens nothing.
        """
        gain, now = self.speedup, rungs.training.median
        most = 1.0 if self.beside else 0.0
        value, low, high = (
            trained(rungs, by, more, self.handover)
            for by, more in ((gain.value, most / 2), (gain.low, 0.0), (gain.high, most))
        )
        return Interval(now * value.value, now * low.low, now * high.high)

    @property
    def same(self) -> bool:
        """Whether training is what it was, but for its speed."""
        return self.alternative.cost != MILDER


def alternatives(
    pipeline: Pipeline, backend: str, device: str, *, asked: bool = False
) -> Iterator[Alternative]:
    """The other backends that can run the pipeline, then fewer ops on the best backend for them.

    asked: the user wants every backend measured.
    """
    for other in BACKENDS if asked else choosing.AUTO:
        if other != backend and _can(pipeline, other, device):
            cost = (
                "none: the same ops" if facts(other).exact else "other pixels: see fastload parity"
            )
            how = f'DataLoader(..., backend="{other}")'
            yield Alternative(f"backend {other}", cost, other, pipeline.ops, asked, how)
    augmenting = tuple(op for op in pipeline.ops if op.stage == Stage.AUGMENT)
    shrinking = tuple(op for op in pipeline.ops if isinstance(op, Gather))
    yield from (
        Alternative(
            f"RandAugment of depth {n} in place of {m}",
            MILDER,
            backend,
            ops,
            how=f"RandAugment(num_ops={n}, ...)",
        )
        for n, m, ops in _shallower(pipeline.ops)
    )
    # The larger gain comes first: time may run out.
    for dropped in dict.fromkeys((augmenting + shrinking, augmenting)):
        if dropped:
            ops = tuple(op for op in pipeline.ops if op not in dropped)
            best = next(
                name
                for name in dict.fromkeys((*choosing.AUTO, backend))
                if _can(pipeline.with_ops(ops), name, device)
            )
            names = " and ".join(op.name for op in dropped)
            where = "" if best == backend else f", then on backend {best}"
            how = f"leave out {names} of the list of transforms"
            yield Alternative(f"without {names}{where}", MILDER, best, ops, how=how)


def _shallower(ops: tuple[Op, ...]) -> Iterator[tuple[int, int, tuple[Op, ...]]]:
    """A smaller depth of RandAugment, the present one, and the ops with the smaller one.

    Nothing where the depth is 1 already.
    """
    deep = next((op for op in ops if isinstance(op, RandAugment) and op.num_ops > 1), None)
    if deep:
        for depth in dict.fromkeys((1, deep.num_ops - 1)):
            yield (
                depth,
                deep.num_ops,
                tuple(replace(op, num_ops=depth) if op is deep else op for op in ops),
            )


def cannot(pipeline: Pipeline, device: str) -> list[str]:
    """Every reason why some backend that is installed is not among the alternatives, as
    `choosing.choose` says it.
    """
    planned = plan(pipeline)
    return [
        f"backend {name} cannot run this plan: {why}"
        for name in BACKENDS
        for why in choosing.unsupported(name, planned, device)
        if "is not installed" not in why
    ]


def fastest(priced: tuple[Priced, ...], backend: str) -> tuple[str, str]:
    """Of the backends that were asked for: which one to use in place of, or like, `backend`, and by
    how much; empty if none was.
    """
    others = sorted((p for p in priced if p.alternative.asked), key=lambda p: -p.speedup.value)
    if not others:
        return "", ""
    best, gain = others[0], others[0].speedup
    ratio_text = f"{gain.value:.2g}x the images/s [{gain.low:.2g}, {gain.high:.2g}]"
    if best.worth_it:
        return best.alternative.backend, f"{ratio_text} of {backend}"
    return backend, f"{best.alternative.backend} comes next with {ratio_text}"


def rates(priced: tuple[Priced, ...], backend: str) -> dict[str, Rate]:
    """Images/s of `backend` and of the backends that were asked for, from their ratios to it: it
    took turns with each of them.
    """
    asked = [one for one in priced if one.alternative.asked]
    if not asked:
        return {}
    own = float(np.median([value for one in asked for value in one.now.values]))
    gains = {one.alternative.backend: one.speedup for one in asked}
    return {backend: Rate(own, own, own)} | {
        name: Rate(*(own * part for part in (by.value, by.low, by.high)))
        for name, by in gains.items()
    }


def _can(pipeline: Pipeline, backend: str, device: str) -> bool:
    try:
        return not choosing.unsupported(backend, plan(pipeline), device)
    except FastloadError:
        return False


def price(
    candidates: Iterator[Alternative],
    current: Callable[[], Iterable[object]],
    make: Callable[[Alternative], Iterable[object]],
    budget: Budget,
    on_done: Callable[[], None],
) -> tuple[tuple[Priced, ...], tuple[str, ...], tuple[str, ...]]:
    """The alternatives that were measured, the names of those that no time was left for, and the
    names and errors of those that failed.

    current, make: give new loaders.
    """
    priced: list[Priced] = []
    left_out, failed = [], []
    feed: Feed | None = None
    for candidate in candidates:
        if not candidate.asked and len(priced) >= SURE and budget.left() < RESERVE * budget.run:
            left_out.append(candidate.name)
            continue
        feed = feed or Feed(current())
        try:
            priced.append(
                in_turns(candidate, feed, Feed(make(candidate)), SHORTER * budget.run, on_done)
            )
        except (FastloadError, RuntimeError) as error:
            # A RuntimeError is another library's. The other candidates are still worth measuring.
            failed.append(f"{candidate.name} failed ({str(error).partition(chr(10))[0]})")
    return tuple(priced), tuple(left_out), tuple(failed)


def verify(
    priced: tuple[Priced, ...],
    ladder: Callable[[Alternative], Ladder],
    budget: Budget,
    on_done: Callable[[], None],
) -> tuple[Priced, ...]:
    """The same, with training measured for the VERIFIED that gain most and for those that were
    asked for.
    """
    best = sorted((p for p in priced if p.worth_it), key=lambda p: -p.loader.median)[:VERIFIED]
    out = []
    for one in priced:
        if one in best or (one.worth_it and one.alternative.asked):
            trial = ladder(one.alternative)
            turns = interleaved(
                {"training": partial(trial.trained, budget.run)}, REPLICATES, on_done
            )
            out.append(replace(one, training=turns["training"]))
            del trial  # its workers go before the next one's come
        else:
            out.append(one)
    return tuple(out)


def in_turns(
    candidate: Alternative, now: Feed, other: Feed, seconds: float, on_done: Callable[[], None]
) -> Priced:
    """An alternative and the loader as it is; seconds: of each replicate."""
    rates = interleaved(
        {"loader": partial(alone, other, seconds), "now": partial(alone, now, seconds)},
        REPLICATES,
        on_done,
    )
    return Priced(candidate, rates["loader"], rates["now"], handover=other.handover)
