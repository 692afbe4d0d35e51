"""What to do, in one line: the best that was measured or predicted, or why there is nothing."""

import math

from fastload.measure import Interval
from fastload.profiler import verdict as v
from fastload.profiler.findings import Findings
from fastload.profiler.remedies import WORTH, Priced

# What would settle an open verdict, by the kind of the step; {} stands for s of measuring
SETTLE = {
    "attached": "a longer loop, --seconds {}, or fastload profile --ladder, which measures step "
    "and loader apart",
    "callable": "seconds={}, or a quieter machine",
}
MORE_TIME = "--seconds {}, or a quieter machine"
TIMES = (2, 8)  # as much time: fewer settle nothing, and more are not waited for


def best(report: Findings) -> Priced | None:
    """The remedy after which training is fastest; one that trains the same before any other."""
    gains = [one for one in report.remedies if gain(one, report).low > WORTH]
    same = [one for one in gains if one.same]
    return max(same or gains, key=lambda one: gain(one, report).value, default=None)


def gain(one: Priced, report: Findings) -> Interval:
    """Training with it by training as it is."""
    predicted, now = one.range(report.rungs), report.rungs.training.median
    return Interval(predicted.value / now, predicted.low / now, predicted.high / now)


def advice(report: Findings) -> str:
    """Empty where nothing is known."""
    if report.verdict.label == v.OPEN:
        return _open(report)
    if report.verdict.label == v.GPU:
        return "Nothing: the data path keeps up."
    if one := best(report):
        name, now = one.alternative.name, report.rungs.training.median
        by = f"{gain(one, report).value:.2g} times today's {now:,.0f}"
        note = "" if one.same else f" ({one.alternative.cost})"
        return f"{name[:1].upper()}{name[1:]}: {_rate(one, report)}, {by}.{note}"
    if report.remedies:
        return "Keep this loader: nothing that was tried makes training clearly faster."
    tried = report.tried
    return f"{tried.text[:1].upper()}{tried.text[1:]}." if tried and tried.text else ""


def _open(report: Findings) -> str:
    """How to get an answer, and what is known without one."""
    how = SETTLE.get(report.step.kind, MORE_TIME).format(seconds_to_settle(report))
    known = [f"no loader could make training more than {_most(report):.2g} times as fast"]
    faster = [one for one in report.remedies if one.same and one.worth_it]
    if faster:
        one = max(faster, key=lambda one: gain(one, report).value)
        known.append(f"{one.alternative.name}: {_rate(one, report)}")
    return f"Measure again ({how}). Known already: {'; '.join(known)}."


def seconds_to_settle(report: Findings) -> int:
    """Time after which the interval of the stall, which shrinks with the root of it, no longer
    reaches the edge.
    """
    s = report.verdict.stall
    reach = s.value - s.low if s.value > v.OK_BELOW else s.high - s.value
    times = reach / max(abs(s.value - v.OK_BELOW), 1e-9)
    least, most = TIMES
    return 10 * math.ceil(report.seconds * min(max(times**2, least), most) / 10)


def _most(report: Findings) -> float:
    """Training without any stall, by training as it is."""
    return 1 / (1 - min(report.verdict.stall.high, 1 - 1e-3))


def _rate(one: Priced, report: Findings) -> str:
    if one.training is not None:
        sample = one.training
        return f"measured {sample.median:,.0f} images/s ({sample.low:,.0f} to {sample.high:,.0f})"
    predicted = one.range(report.rungs)
    return (
        f"predicted {predicted.value:,.0f} images/s ({predicted.low:,.0f} to {predicted.high:,.0f})"
    )
