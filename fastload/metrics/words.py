"""How times and other numbers are written for people."""

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
    size, name = unit(seconds)
    return f"{number(seconds / size)} {name}"


def between(low: float, high: float) -> str:
    """Two times, s. The unit stands once, where both have the same."""
    (size, name), (_, other) = unit(low), unit(high)
    first = number(low / size) if name == other else time(low)
    return f"{first} to {time(high)}"


def unit(seconds: float) -> tuple[float, str]:
    return next(((size, name) for size, name, most in UNITS if seconds < most), UNITS[-1][:2])


def number(value: float) -> str:
    """With three digits that count, or all of the integer's."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
