"""What to do, in one line: the best that was measured or predicted, or why there is nothing."""

import math
from dataclasses import replace

from fastload.profiler import verdict as v
from fastload.profiler.findings import Findings
from fastload.profiler.offers import MEASURED, Offer, best, offers

# What would settle an open verdict, by the kind of the step; {} stands for s of measuring
SETTLE = {
    "attached": "a longer loop, --seconds {}, or fastload profile --ladder, which measures step "
    "and loader apart",
    "callable": "seconds={}, or a quieter machine",
}
MORE_TIME = "--seconds {}, or a quieter machine"
TIMES = (2, 8)  # as much time: fewer settle nothing, and more are not waited for


def advice(report: Findings) -> str:
    """Empty where nothing is known."""
    if report.verdict.label == v.OPEN:
        return _open(report)
    one = best(report)
    if report.verdict.label == v.GPU:
        # What the rates leave out may be worth it all the same: the starts of epochs.
        one = best(replace(report, remedies=()))
        return _say(one) if one else "Nothing: the data path keeps up."
    if one:
        return _say(one)
    if untold := _untold(report):
        return untold
    if report.remedies:
        nothing = "Keep this loader: nothing that was tried makes training clearly faster."
        return " ".join(filter(None, (nothing, _cores(report))))
    tried = report.tried
    return f"{tried.text[:1].upper()}{tried.text[1:]}." if tried and tried.text else ""


def _untold(report: Findings) -> str:
    """Of a loader that is faster, where nobody knows what training gains; else empty."""
    faster = [one for one in report.remedies if one.same and one.worth_it]
    if not faster or not _contended(report):
        return ""
    one = max(faster, key=lambda one: one.speedup.low)
    name = one.alternative.name
    return (
        f"{name[:1].upper()}{name[1:]}: the loader alone is {one.speedup.value:.2g} times as fast. "
        "Try it: what training gains is not known, since the workers took cores from the step "
        "while it was timed."
    )


def _contended(report: Findings) -> bool:
    """Whether the step was timed in a loop whose workers had no core to spare for it: without them
    it may be many times as fast.
    """
    known = report.evidence
    return report.step.kind == "attached" and bool(known.workers) and known.starved >= v.STARVED


def _cores(report: Findings) -> str:
    """How many cores the stages take that the step needs; empty where these would do."""
    here, rate = report.machine["usable_cores"], report.rungs.step.median
    need = rate * sum(stage.cpu_s for stage in report.stages)
    if report.verdict.label != v.CPU or need <= here:
        return ""
    return f"More cores would: {rate:,.0f} images/s take {need:.1f} such cores (computed)."


def _say(one: Offer) -> str:
    note = "" if one.same else f" ({one.cost})"
    by = f"{one.gain.value:.2g} times today's {one.now:,.0f}"
    return f"{one.name[:1].upper()}{one.name[1:]}: {_rate(one)}, {by}.{note}"


def _open(report: Findings) -> str:
    """How to get an answer, and what is known without one."""
    how = SETTLE.get(report.step.kind, MORE_TIME).format(seconds_to_settle(report))
    known = []
    if not _contended(report):
        known = [f"no loader could make training more than {_most(report):.2g} times as fast"]
    names = {one.alternative.name for one in report.remedies if one.same and one.worth_it}
    faster = [one for one in offers(report) if one.name in names]
    if faster:
        one = max(faster, key=lambda one: one.gain.value)
        known.append(f"{one.name}: {_rate(one)}")
    already = f" Known already: {'; '.join(known)}." if known else ""
    return f"Measure again ({how}).{already}"


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


def _rate(one: Offer) -> str:
    rate, how = one.training, "measured" if one.basis == MEASURED else "predicted"
    return f"{how} {rate.value:,.0f} images/s ({rate.low:,.0f} to {rate.high:,.0f})"
