"""What `DataLoader.explain()` says."""

from typing import Any

from fastload import arguments, backends, engines, orders
from fastload.backend_facts import facts
from fastload.engine_base import Engine
from fastload.lowering import reach
from fastload.plan import Plan
from fastload.sources import collect


def lines(loader: Any) -> list[str]:
    """Who runs the loader, and why what is not native is not: one line each."""
    return [*_now(loader), *_later(loader)]


def _later(loader: Any) -> list[str]:
    """What is not known of the next epoch."""
    marks = loader._route.marks
    changed = marks.checks and not marks.fit(loader._watched())  # a copy has none
    found = ["  changed since: looked at again at the next iter()"] * bool(changed)
    unread = reach.unread() if loader._route.backend == "native" else []
    return found + [f"  taken as it is: the code of {', '.join(unread)}, whose files cannot be read"] * bool(unread)


def _now(loader: Any) -> list[str]:
    route = loader._route
    if route.backend is None:
        out = ["PyTorch's own engine, unchanged:", *(f"  {reason}" for reason in route.reasons)]
        out += ["  decode_scale 'fast' changes nothing there"] * (loader.decode_scale == "fast")
        return out + ["  seed_samples: every sample is fetched after seeding Python, NumPy and torch"] * loader.seed_samples
    known = facts(route.backend)
    workers = f"{loader.num_workers} {known.workers}" if loader.num_workers else "the caller's thread"
    out = [f"backend {route.backend}, {workers}, device {loader.device or 'cpu'}"]
    if route.plan:
        out += _plan(loader, route.plan)
    out += [f"  backend {route.backend}: {route.why}"] * bool(route.why)
    if route.plan and known.seeks:
        made: Engine | None = loader._engine
        out.append(f"  {collect.describe(loader.seek_index, route.plan.source, made.indexes() if made else None)}")
    return [*out, *(f"  {reason}" for reason in (*route.reasons, *arguments.void(loader)))]


def _plan(loader: Any, plan: Plan) -> list[str]:
    out = backends.explain_steps(plan) + backends.explain_scale(plan) + orders.explain_sizes(loader, plan)
    if loader.mix is not None:
        out.append(f"  mix     {loader.mix}, labels float32 [N, {plan.classes}]")
    return out + engines.explain(loader, loader._route.backend, plan)
