"""Which backend runs a plan, and what is said of that."""

import importlib
import itertools
from types import ModuleType
from typing import NamedTuple

from fastload.backends import masks, measured
from fastload.backends.native import crop
from fastload.backends.table import BACKENDS, OWN, facts, is_exact
from fastload.errors import BackendError
from fastload.plan.plan import Plan

# Of fastload's own. Where nothing was measured, best first
AUTO = tuple(one.name for one in OWN if one.automatic)
# "auto" takes another one of them where it was faster
EXACT = tuple(one.name for one in OWN if one.exact)


def module(name: str) -> ModuleType:
    return importlib.import_module(facts(name).module)


def unsupported(name: str, plan: Plan, device: str) -> list[str]:
    """Every reason why the backend cannot run the plan here; also that its library is not
    installed, or its entry point broken. Raises BackendError for a name that nobody knows.
    """
    if name not in BACKENDS:
        facts(name)
    try:
        backend = module(name)
    except ImportError as error:
        return [f"is not installed ({error})"]
    except BackendError as error:
        return [str(error)]
    reasons: list[str] = backend.unsupported(plan, device)
    return reasons


def explain_steps(plan: Plan) -> list[str]:
    """What is done to each image, as DataLoader.explain says it; views in a row with the same ops
    once.
    """
    lines: list[str] = []
    for one in plan.by_part:
        lines += [f"  part {one.part}", *(f"    {op.stage.name:7} {op}" for op in one.ops)]
    if lines:
        return lines
    for ops, group in itertools.groupby(plan.pictures, key=lambda picture: picture.ops):
        views = [picture.view + 1 for picture in group]
        if plan.views:
            lines.append(
                f"  view {views[0]}" if len(views) == 1 else f"  views {views[0]} to {views[-1]}"
            )
        lines += [f"{'    ' if plan.views else '  '}{op.stage.name:7} {op}" for op in ops]
    return lines + masks.explain(plan)


def explain_scale(plan: Plan) -> list[str]:
    """What decode_scale="fast" does with the plan, as DataLoader.explain says it; nothing for
    "exact".
    """
    if plan.decode_scale == "exact":
        return []
    why_not = crop.no_scaling(plan)
    if why_not:
        return [f"  decode_scale 'fast' changes nothing: {'; '.join(why_not)}"]
    scales = "JPEGs at 1/2, 1/4 or 1/8 where the crop is that much larger than its target"
    return [f"  decode_scale 'fast': {scales}"]


class Choice(NamedTuple):
    """Who runs a plan."""

    backend: str
    reasons: list[str]  # why the ones before it cannot
    why: str = ""  # of several that can, why this one


def choose(name: str, plan: Plan, device: str, auto: tuple[str, ...] = AUTO) -> Choice:
    """The backend to use for `name`. "auto": the first of `auto` that can, or a faster one, if
    `measured` knows one here.

    Raises BackendError with every reason if none can, and then with the one that could.
    """
    if name != "auto":
        module(name)  # a name that nobody knows
        refusals = _refusals(name, plan, device)
        if refusals:
            raise BackendError("\n".join(refusals + _instead(name, plan, device)))
        return Choice(name, [])
    reasons: list[str] = []
    for candidate in auto[:1] if device == "cuda" else auto:  # where torch fills no batches
        refusals = _refusals(candidate, plan, device)
        if not refusals:
            return (
                _learned(candidate, reasons, plan, device)
                if auto == AUTO
                else Choice(candidate, reasons)
            )
        reasons += refusals
    raise BackendError("\n".join(reasons))


def _refusals(name: str, plan: Plan, device: str) -> list[str]:
    return [
        f"backend {name} cannot run this plan: {reason}"
        for reason in unsupported(name, plan, device)
    ]


def _instead(name: str, plan: Plan, device: str) -> list[str]:
    able = next(
        (other for other in EXACT if other != name and not unsupported(other, plan, device)), None
    )
    return [] if able is None else [f"backend {able} can run it; pass backend={able!r}"]


def _learned(first: str, reasons: list[str], plan: Plan, device: str) -> Choice:
    """`first`, or what was measured to be faster."""
    measurement = measured.recall(plan, device)
    if measurement is None or first not in measurement.rates or len(measurement.rates) < 2:
        first_of = (
            f"the first of {', '.join(AUTO)} that can; not measured here (fastload profile "
            "--backend all)"
        )
        return Choice(first, reasons, "" if reasons else first_of)
    able = [
        name
        for name in dict.fromkeys((*EXACT, *measurement.rates))
        if name != first
        and name in measurement.rates
        and is_exact(name)
        and not unsupported(name, plan, device)
    ]
    best = measurement.clear_winner(first, able)
    return Choice(best, reasons, measurement.describe(best))
