"""Backends: a table of names and modules, imported on use.

Each module has
    unsupported(plan, device) -> list[str]  every reason why it cannot run the plan, none if it can
    compile(plan, device) -> Runner         how it runs it
"""

import importlib
from types import ModuleType

from fastload.errors import BackendError
from fastload.plan import Plan

BACKENDS = {"native": "fastload.backends.native", "torch": "fastload.backends.torch"}  # best first


def module(name: str) -> ModuleType:
    if name not in BACKENDS:
        raise BackendError(f"backend {name!r} is unknown (want auto, {', '.join(BACKENDS)}); choose one of them")
    return importlib.import_module(BACKENDS[name])


def choose(name: str, plan: Plan, device: str) -> tuple[str, list[str]]:
    """The backend to use for `name` ("auto": the first that can), and why the ones before it cannot.

    Raises BackendError with every reason if none can.
    """
    if device == "cuda" and name == "auto":
        name = "native"  # the only one that fills batches on the GPU
    names = list(BACKENDS) if name == "auto" else [name]
    reasons: list[str] = []
    for candidate in names:
        found = module(candidate).unsupported(plan, device)
        if not found:
            return candidate, reasons
        reasons += [f"backend {candidate} cannot run this plan: {reason}" for reason in found]
    raise BackendError("\n".join(reasons))
