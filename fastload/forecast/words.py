"""How numbers of a forecast are written."""

from fastload.forecast.bands import Range

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
# Seconds of each, its name, and from how many seconds on the next one is taken
UNITS = (
    (1.0, "s", 2 * MINUTE),
    (MINUTE, "min", 2 * HOUR),
    (HOUR, "h", 3 * DAY),
    (DAY, "days", float("inf")),
)


def time(seconds: float) -> str:
    """In the unit in which it has one to three digits."""
    unit, name = _unit(seconds)
    return f"{number(seconds / unit)} {name}"


def times(seconds: Range) -> str:
    """The unit stands once, where all three have the same."""
    return f"{time(seconds.value)} ({between(seconds)})"


def between(seconds: Range) -> str:
    """From the least to the most."""
    (unit, low), (_, high) = _unit(seconds.low), _unit(seconds.high)
    first = number(seconds.low / unit) if low == high else time(seconds.low)
    return f"{first} to {time(seconds.high)}"


def _unit(seconds: float) -> tuple[float, str]:
    return next((unit, name) for unit, name, most in UNITS if seconds < most)


def number(value: float) -> str:
    """With three digits that count, or all of the integer's."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def range_of(value: Range) -> str:
    return f"{number(value.value)} ({number(value.low)} to {number(value.high)})"


def share(value: float) -> str:
    """As percent."""
    return f"{100 * value:.0f} %" if value >= 0.1 or not value else f"{100 * value:.1f} %"


def accuracy(top1: float) -> str:
    return f"{100 * top1:.2f} %"


def data(count: float) -> str:
    """Bytes, by thousands."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{number(count / unit)} {name}"
    return f"{number(count / 1e3)} kB"


def epochs(first: int, last: int) -> str:
    """Epochs from 0, as people count them from 1."""
    return f"{first + 1}" if first == last else f"{first + 1} to {last + 1}"


def cores(needed: Range | None) -> str:
    if needed is None:
        return "no number"
    most = "no number" if needed.high == float("inf") else number(needed.high)
    return f"{number(needed.value)} ({number(needed.low)} to {most})"
