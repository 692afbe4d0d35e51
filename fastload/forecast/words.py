"""How numbers of a forecast are written."""

from fastload.forecast.bands import Range
from fastload.metrics import words
from fastload.metrics.words import HOUR, number, time

__all__ = ["HOUR", "number", "time"]


def times(seconds: Range) -> str:
    """The unit stands once, where all three have the same."""
    return f"{time(seconds.value)} ({between(seconds)})"


def between(seconds: Range) -> str:
    """From the least to the most."""
    return words.between(seconds.low, seconds.high)


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
