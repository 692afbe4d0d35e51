"""What `DataLoader.explain()`, `stats()` and `repr(loader)` say."""

from collections.abc import Mapping

from fastload.attach.looking import asked
from fastload.backends import choosing
from fastload.backends.table import BACKENDS, facts
from fastload.engine import make as engines
from fastload.loader import arguments, composing, divided, handing, lazy_images, sizes, tiers
from fastload.loader.base import BaseLoader
from fastload.loader.padded import Padded
from fastload.lowering import reach
from fastload.order import epochs, mixture
from fastload.plan.plan import Plan
from fastload.sources import seek_contents, seek_said
from fastload.sources.base import remote
from fastload.sources.mixed import Mixed
from fastload.spec import Json
from fastload.system import notebook


class Explanation(str):
    """What `explain()` says: a text as any other, which a notebook shows as lines."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        first, *others = self.split("\n")
        return notebook.lines(first, others)


def lines(loader: BaseLoader[object]) -> list[str]:
    """Who runs the loader, and why what is not native is not: one line each."""
    return [*_now(loader), *_later(loader)]


def summary(loader: BaseLoader[object]) -> str:
    """Who runs the loader, and from the first batch on how fast: one line for `repr`."""
    if (backend := loader._route.backend) is None:
        out = "PyTorch's own engine"
    else:
        kind = facts(backend).workers
        out = f"{backend}, {loader.num_workers} {kind}" if loader.num_workers else backend
    seen = loader._meter.as_dict()
    if not seen["elapsed_s"]:
        return out
    pool = loader._engine.stats() if loader._engine else {}
    rate = possible(pool, loader.num_workers)
    can = f"{rate:,.0f} images/s possible, " if rate else ""
    share = seen["wait_s"] / seen["elapsed_s"]
    return f"{out}; {can}your loop takes {seen['images_per_s']:,.0f} images/s and waits {share:.0%}"


def stats(loader: BaseLoader[object]) -> Json:
    """What `DataLoader.stats()` returns."""
    pool = loader._engine.stats() if loader._engine else {}
    stages = {
        stage: {"samples": samples, "wall_s": wall / 1e9, "cpu_s": cpu / 1e9}
        for stage, (samples, wall, cpu) in pool.items()
    }
    source = loader._source
    far = None if source is None else remote(source)
    return {
        **loader._meter.as_dict(),
        "possible_images_per_s": possible(pool, loader.num_workers),
        "fallbacks": loader._route.reasons,
        "stages": stages,
        **({} if far is None else {"store": far.access.as_dict(len(far))}),
    }


def possible(pool: Mapping[str, tuple[int, int, int]], threads: int) -> float | None:
    """Images/s of the native threads if nothing held them up: from the time, ns, that they were in
    a stage. None before the first image, and where others make the batches.
    """
    stages = list(pool.values())
    busy = sum(wall for _, wall, _ in stages)
    images = max((samples for samples, _, _ in stages), default=0)
    return images * max(1, threads) / (busy / 1e9) if busy else None


def _later(loader: BaseLoader[object]) -> list[str]:
    """What is not known of the next epoch."""
    marks = loader._route.marks
    changed = marks.checks and not marks.fit(loader._watched())  # a copy has none
    lines = ["  changed since: looked at again at the next iter()"] * bool(changed)
    unread = reach.unread() if loader._route.backend == "native" else []
    if unread:
        files = ", ".join(unread)
        lines.append(f"  taken as it is: the code of {files}, whose files cannot be read")
    return lines


def _now(loader: BaseLoader[object]) -> list[str]:
    route = loader._route
    if route.backend is None:
        return _by_torch(loader)
    known = facts(route.backend)
    workers = (
        f"{loader.num_workers} {known.workers}" if loader.num_workers else "the caller's thread"
    )
    whose = BACKENDS.distribution(route.backend)
    name = f"{route.backend} of {whose}" if whose else route.backend
    out = [f"backend {name}, {workers}, device {loader._own.device or 'cpu'}"]
    if route.plan:
        out += [f"  {tiers.native(route.plan)}"] * (route.backend == "native")
        out += route.plan.joint.explain() if route.plan.joint else _plan(loader, route.plan)
    out += [f"  BATCH   {loader.collate_fn!r}"] * (type(loader.collate_fn) is Padded)
    out += [f"  backend {route.backend}: {route.why}"] * bool(route.why)
    if route.plan and known.seeks and not route.plan.joint:
        indexes = loader._engine.indexes() if loader._engine else None
        out.append(f"  {seek_said.describe(loader._own.seek_index, route.plan.source, indexes)}")
    if route.plan and isinstance(mixed := route.plan.source, Mixed):
        sampler = epochs.sampler_of(loader)
        weighed = asked(sampler, "mixture", int) is not None
        other = f"in the order of {type(sampler).__name__}, which knows no weights"
        out.append(f"  parts   {mixture.describe(mixed.recipe) if weighed else other}")
    if route.plan and (far := remote(route.plan.source)) is not None:
        window = asked(epochs.sampler_of(loader), "window", int) or 0
        out.append(f"  store   {far.access.describe(window)}")
    return [*out, *(f"  {reason}" for reason in (*route.reasons, *arguments.void(loader)))]


def _by_torch(loader: BaseLoader[object]) -> list[str]:
    """Of a loader that PyTorch's own engine runs."""
    reasons = loader._route.reasons
    off = lazy_images.why_not(wanted=loader._own.lazy_images)
    how = "unchanged" if off else "with fastload's decoding of the JPEGs that it opens"
    steps = () if off else divided.steps(loader.dataset) or composing.names(loader.dataset)
    if steps:
        how += f", and native {', '.join(steps)}"
    out = [f"PyTorch's own engine, {how}:"]
    if not off:
        out.append(f"  {tiers.workers(loader.dataset, reasons, last_steps=bool(steps))}")
    out += [f"  {reason}" for reason in reasons]
    if not off and handing.possible(loader):
        out.append(
            "  batches lie in shared memory that is used again: of each worker, "
            f"{handing.kept(loader)} batches at most"
        )
    seek = f"lazy images are off: {off}" if off else seek_contents.describe(loader._own.seek_index)
    out.append(f"  {seek}")
    out += ["  decode_scale 'fast' changes nothing there"] * (loader._own.decode_scale == "fast")
    if loader._own.seed_samples:
        out.append("  seed_samples: every sample is fetched after seeding Python, NumPy and torch")
    return out


def _plan(loader: BaseLoader[object], plan: Plan) -> list[str]:
    out = choosing.explain_steps(plan) + choosing.explain_scale(plan)
    out += sizes.explain(loader, plan)
    if plan.target is not None:
        out.append(f"  target  {plan.target.described()}, in place of labels")
    if loader._own.mix is not None:
        out.append(f"  mix     {loader._own.mix}, labels float32 [N, {plan.classes}]")
    return out + engines.explain(loader._own, loader._engine, loader._route.backend, plan)
