"""What is wrong with the arguments of `fastload.mix`."""

from collections.abc import Mapping, Sequence
from math import inf
from numbers import Real
from reprlib import repr as short
from typing import TypeAlias

from fastload.order.mixture import MOST_DRAWS

Weights: TypeAlias = Mapping[str, float] | Sequence[float]
MOST_PARTS = 1 << 16
BY, UNTIL = ("weights", "epochs"), ("first", "all")


def in_order(names: Sequence[str], given: Weights) -> list[float]:
    """Weights of all parts; those that a mapping leaves out have none."""
    return [given.get(name, 0) for name in names] if isinstance(given, Mapping) else list(given)


def problems_of(
    names: Sequence[str],
    weights: Sequence[object],
    by: str,
    until: str,
    length: object,
    schedule: Mapping[int, Weights] | None,
) -> list[str]:
    problems = _weight_problems("parts", names, weights)
    if by not in BY:
        problems.append(f"by is {by!r}, want 'weights' or 'epochs'")
    if until not in UNTIL:
        problems.append(f"until is {until!r}, want 'first' or 'all'")
    if length is not None and not _is_count(length, 1, MOST_DRAWS):
        problems.append(f"length is {length!r}, want a whole number from 1 to {MOST_DRAWS:,}")
    if by == "epochs" and (length is not None or until != "first"):
        problems.append("by='epochs' says how long an epoch is; leave length and until out")
    elif length is not None and until != "first":
        problems.append("length and until both say how long an epoch is; leave one out")
    later = [] if schedule is None else _schedule_problems(names, schedule, length)
    return problems + later


def _schedule_problems(names: Sequence[str], schedule: object, length: object) -> list[str]:
    problems = []
    if length is None:
        problems.append("schedule is given without length; say how many draws an epoch has")
    for draw, given in schedule.items() if isinstance(schedule, Mapping) else [(schedule, None)]:
        if not _is_count(draw, 0):
            problems.append(f"schedule has the draw {draw!r}, want a whole number from 0")
        elif isinstance(given, Mapping) and (unknown := [n for n in given if n not in names]):
            problems.append(
                f"schedule at {draw} has {unknown[0]!r}, which is no part (want "
                f"{', '.join(names)}); correct it"
            )
        elif not isinstance(given, (Mapping, list, tuple)):
            problems.append(f"schedule at {draw} is {given!r}, want weights of the parts")
        else:
            problems += _weight_problems(f"schedule at {draw}", names, in_order(names, given))
    return problems


def _weight_problems(where: str, names: Sequence[str], weights: Sequence[object]) -> list[str]:
    if len(weights) != len(names):
        return [f"{where} has {len(weights)} weights, want {len(names)}, one for each part"]
    if wrong := [
        f"{where} has weight {weight!r} for {name}, want a number from 0"
        for name, weight in zip(names, weights, strict=True)
        if not _is_weight(weight)
    ]:
        return wrong
    if len(names) > MOST_PARTS:
        return [f"{where} has {len(names)} parts, want at most {MOST_PARTS}"]
    if not any(weights):
        return [f"{where} has no weight above 0 (got {len(weights)} parts); give one"]
    return []


def each_problems(
    what: str, names: Sequence[str], paths: Sequence[str], given: Mapping[str, object]
) -> list[str]:
    """What is wrong with an argument that has something for each part.

    names: of the parts that may have it; paths: of those that have to.
    """
    kind = "path of a part" if names == paths else "part"
    wrong = [f"{what} has {short(name)}, which is no {kind}" for name in given
             if name not in names]  # fmt: skip
    wrong += [f"{what} has nothing for {name}" for name in paths if name not in given]
    return [f"{text} (want one for each of {', '.join(names)}); correct it" for text in wrong]


def _is_weight(value: object) -> bool:
    if type(value) is bool or not isinstance(value, Real):
        return False
    try:
        return 0 <= float(value) < inf
    except OverflowError:
        return False


def _is_count(value: object, least: int, most: float = inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
