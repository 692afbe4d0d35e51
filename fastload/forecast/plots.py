"""The pictures of a forecast's page, as SVG: the run as a strip of epochs, choices as points."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastload.forecast import words
from fastload.forecast.findings import Forecast, Stretch, stretches
from fastload.forecast.run import CPU, READ, STEP
from fastload.profiler.charts import escaped

WIDTH, EDGE = 640, 16
STRIP_TOP, STRIP_HIGH = 34, 132
LETTER = 12.0  # px, of a phone's letters
PLOT_HIGH, LEFT, BOTTOM, TOP = 420, 72, 58, 20
DOT, NUMBER = 6, 24  # px: a point's radius; room of its number
WIDE = 8.0  # the largest by the smallest, from which the axis is logarithmic
CLASSES = {STEP: "works", CPU: "cpu", READ: "read"}
SPOKEN_MOST = 8  # stretches that are read out; the table has all


def strip(found: Forecast) -> str:
    """The run from left to right, as long as it takes; each stretch is filled with working from
    below and with waiting from above.
    """
    parts, hours = stretches(found.run), found.run.total.value / words.HOUR
    scale, x, drawn, free = (WIDTH - 2 * EDGE) / hours, float(EDGE), "", -1.0
    for part in parts:
        wide = part.hours.value * scale
        drawn += _block(part, x, wide)
        middle, label = x + wide / 2, str(part.size)
        half = LETTER * (len(label) + 1) / 2
        if middle - half > free and middle + half < WIDTH:
            drawn += f'<text class="mid" x="{middle:.1f}" y="22">{label}</text>'
            free = middle + half
        x += wide
    high, axis = STRIP_TOP + STRIP_HIGH + 34, ""
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        at, text = EDGE + share * hours * scale, words.time(share * hours * words.HOUR)
        axis += f'<text x="{at:.1f}" y="{high - 8}" text-anchor="{anchor}">{text}</text>'
    return (
        f'<svg viewBox="0 0 {WIDTH} {high}" role="img" aria-label="{escaped(_spoken(parts))}">'
        f"{drawn}{axis}</svg>"
    )


def _block(part: Stretch, x: float, wide: float) -> str:
    """One stretch; a hair's breadth parts it from the next one."""
    wide = max(0.5, wide - (1.0 if wide > 3 else 0.0))
    waits = STRIP_HIGH * part.waits
    name = f"epoch {words.epochs(part.first, part.last)}, {part.size} px: {_said(part)}"
    cause = CLASSES[part.limit] if part.limit != STEP else "other"
    return (
        f"<g><title>{escaped(name)}</title>"
        f'<rect class="works" x="{x:.1f}" y="{STRIP_TOP}" width="{wide:.1f}" '
        f'height="{STRIP_HIGH}"/><rect class="{cause}" x="{x:.1f}" y="{STRIP_TOP}" '
        f'width="{wide:.1f}" height="{waits:.1f}"/></g>'
    )


def _said(part: Stretch) -> str:
    return f"{words.time(part.hours.value * words.HOUR)}, waiting {words.share(part.waits)}"


def _spoken(parts: Sequence[Stretch]) -> str:
    step = max(1, math.ceil(len(parts) / SPOKEN_MOST))
    told = [
        f"epoch {words.epochs(one.first, one.last)} at {one.size} px: {_said(one)}"
        for one in parts[::step]
    ]
    return f"The run over time. {'; '.join(told)}"


@dataclass(frozen=True)
class Axis:
    """From numbers to px."""

    low: float
    high: float
    begin: float  # px of `low`
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + (self.end - self.begin) * min(1.0, max(0.0, share))

    def ticks(self, most: int) -> list[float]:
        """Round numbers within it."""
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            each = [by * 10.0**power for power in range(first, last + 1) for by in (1, 2, 5)]
            found = [value for value in each if self.low <= value <= self.high]
            return found if len(found) <= most else found[:: math.ceil(len(found) / most)]
        step = _round_step((self.high - self.low) / most)
        count = range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        return [step * number for number in count]


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(by * power for by in (1, 2, 5, 10) if by * power >= least * (1 - 1e-9))


def pareto(found: Forecast) -> str:
    """Time or money against accuracy; points have the numbers of the table."""
    shown = [
        (number, one)
        for number, one in enumerate(found.options, 1)
        if one.top1 is not None and one.spent
    ]
    if len(shown) < 2:
        return ""
    money = all(one.cost for _, one in shown)
    spent = [one.cost if money else one.hours for _, one in shown]
    ranges = [one for one in spent if one is not None]
    across = _across(min(one.low for one in ranges), max(one.high for one in ranges))
    up = _up([one.top1 or 0 for _, one in shown] + ([found.target] if found.target else []))
    points = [
        (number, across.at(each.value), up.at(one.top1 or 0), one in found.front)
        for (number, one), each in zip(shown, ranges, strict=True)
    ]
    drawn = _grid(across, up, "cost" if money else "hours") + _target(found.target, up)
    front = [(x, y) for _, x, y, best in sorted(points, key=lambda one: one[1]) if best]
    if len(front) > 1:
        drawn += f'<path class="front" d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in front)}"/>'
    for (_, _, y, _), each in zip(points, ranges, strict=True):
        low, high = across.at(each.low), across.at(each.high)
        drawn += f'<path class="reach" d="M{low:.1f} {y:.1f}H{high:.1f}"/>'
    for _, x, y, best in points:
        name = "best" if best else "rest"
        drawn += f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="{DOT}"/>'
    drawn += "".join(_numbers(points))
    what = "cost" if money else "hours"
    told = "; ".join(
        f"{number}: {one.name}, {words.number(each.value)} {what}, {words.accuracy(one.top1 or 0)}"
        for (number, one), each in zip(shown, ranges, strict=True)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {PLOT_HIGH}" role="img" '
        f'aria-label="{escaped(f"{what} against top-1. {told}")}">{drawn}</svg>'
    )


def _across(low: float, high: float) -> Axis:
    if high / low > WIDE:
        return Axis(low / 1.2, high * 1.2, LEFT, WIDTH - EDGE, logarithmic=True)
    return Axis(0.0, 1.05 * high, LEFT, WIDTH - EDGE)


def _up(values: Sequence[float]) -> Axis:
    room = max(0.005, 0.12 * (max(values) - min(values)))
    return Axis(min(values) - room, max(values) + room, PLOT_HIGH - BOTTOM, TOP)


def _grid(across: Axis, up: Axis, what: str) -> str:
    out, bottom = "", PLOT_HIGH - BOTTOM
    for value in up.ticks(6):
        y = up.at(value)
        out += f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - EDGE}"/>'
        out += f'<text x="{LEFT - 8}" y="{y + 5:.1f}" text-anchor="end">{100 * value:.4g} %</text>'
    for value in across.ticks(6):
        x = across.at(value)
        out += f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>'
        out += f'<text class="mid" x="{x:.1f}" y="{bottom + 22}">{words.number(value)}</text>'
    return (
        out + f'<text class="mid quiet" x="{(LEFT + WIDTH) / 2}" y="{PLOT_HIGH - 10}">{what}</text>'
    )


def _target(target: float | None, up: Axis) -> str:
    if target is None:
        return ""
    y = up.at(target)
    return (
        f'<path class="limit" d="M{LEFT} {y:.1f}H{WIDTH - EDGE}"/>'
        f'<text class="goal" x="{WIDTH - EDGE - 4}" y="{y - 7:.1f}" text-anchor="end">'
        f"target {words.accuracy(target)}</text>"
    )


def _numbers(points: Sequence[tuple[int, float, float, bool]]) -> Iterator[str]:
    """Each point's number, where it covers neither a point nor another number."""
    taken = [(x, y) for _, x, y, _ in points]
    for number, x, y, _ in points:
        around = [
            (x + NUMBER * math.cos(turn), y + NUMBER * math.sin(turn) * 0.85)
            for turn in (math.tau * part / 8 for part in (6, 7, 5, 0, 4, 1, 3, 2))
        ]
        inside = [
            (a, b) for a, b in around if LEFT < a < WIDTH - EDGE and TOP < b < PLOT_HIGH - BOTTOM
        ]
        others = [place for place in taken if place != (x, y)]
        a, b = max(
            inside or around,
            key=lambda at: min([NUMBER * 0.85, *(math.dist(at, place) for place in others)]),
        )
        taken.append((a, b))
        yield f'<text class="mid name" x="{a:.1f}" y="{b + 5:.1f}">{number}</text>'
