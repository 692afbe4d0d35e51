"""Backends: a table of names and modules, imported on use.

Each module has
    unsupported(plan, device) -> list[str]  every reason why it cannot run the plan, none if it can
    compile(plan, device) -> Runner         how it runs it
"""

import importlib
import itertools
from types import ModuleType

from fastload.backends import crop, masks
from fastload.errors import BackendError
from fastload.plan import Plan

BACKENDS = {
    "native": "fastload.backends.native", "torch": "fastload.backends.torch", "ffcv": "fastload.backends.ffcv",
    "dali": "fastload.backends.dali", "dali-own": "fastload.backends.dali_own",
}  # fmt: skip
AUTO = ("native", "torch")  # what "auto" may take, best first: those that give the same pixels


def module(name: str) -> ModuleType:
    if name not in BACKENDS:
        raise BackendError(f"backend {name!r} is unknown (want auto, {', '.join(BACKENDS)}); choose one of them")
    return importlib.import_module(BACKENDS[name])


def unsupported(name: str, plan: Plan, device: str) -> list[str]:
    """Every reason why the backend cannot run the plan here; also that its library is not installed. Raises BackendError."""
    try:
        found = module(name)
    except ImportError as error:
        return [f"is not installed ({error})"]
    reasons: list[str] = found.unsupported(plan, device)
    return reasons


def exact(name: str) -> bool:
    """Whether the backend draws no numbers of its own, so that its pixels can be compared one by one."""
    return bool(getattr(module(name), "exact", True))


def explain_steps(plan: Plan) -> list[str]:
    """What is done to each image, as DataLoader.explain says it; views in a row with the same ops once."""
    lines: list[str] = []
    for ops, group in itertools.groupby(plan.pictures, key=lambda picture: picture.ops):
        views = [picture.view + 1 for picture in group]
        if plan.views:
            lines.append(f"  view {views[0]}" if len(views) == 1 else f"  views {views[0]} to {views[-1]}")
        lines += [f"{'    ' if plan.views else '  '}{op.stage.name:7} {op}" for op in ops]
    return lines + masks.explain(plan)


def explain_scale(plan: Plan) -> list[str]:
    """What decode_scale="fast" does with the plan, as DataLoader.explain says it; nothing for "exact"."""
    if plan.decode_scale == "exact":
        return []
    why_not = crop.no_scaling(plan)
    if why_not:
        return [f"  decode_scale 'fast' changes nothing: {'; '.join(why_not)}"]
    return ["  decode_scale 'fast': JPEGs at 1/2, 1/4 or 1/8 where the crop is that much larger than its target"]


def choose(name: str, plan: Plan, device: str) -> tuple[str, list[str]]:
    """The backend to use for `name` ("auto": the first that can), and why the ones before it cannot.

    Raises BackendError with every reason if none can.
    """
    if device == "cuda" and name == "auto":
        name = "native"  # the only one that fills batches on the GPU
    names = AUTO if name == "auto" else (name,)
    reasons: list[str] = []
    for candidate in names:
        found = module(candidate).unsupported(plan, device)
        if not found:
            return candidate, reasons
        reasons += [f"backend {candidate} cannot run this plan: {reason}" for reason in found]
    raise BackendError("\n".join(reasons))
