"""What to do, in one line: the best that was measured or predicted, or why there is nothing."""

from fastload.measure import Interval
from fastload.profiler import verdict as v
from fastload.profiler.findings import Findings
from fastload.profiler.remedies import WORTH, Priced


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
        return ""
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


def _rate(one: Priced, report: Findings) -> str:
    if one.training is not None:
        sample = one.training
        return f"measured {sample.median:,.0f} images/s ({sample.low:,.0f} to {sample.high:,.0f})"
    predicted = one.range(report.rungs)
    return (
        f"predicted {predicted.value:,.0f} images/s ({predicted.low:,.0f} to {predicted.high:,.0f})"
    )
