"""A report as text: the verdict first, then short tables, at most 40 lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from fastload.measure import Sample
from fastload.profiler import verdict as v
from fastload.profiler.findings import Findings
from fastload.profiler.remedies import Priced, fastest
from fastload.profiler.sizes import stall
from fastload.profiler.sweep import enough

MAX_LINES = 40
CUT = "... (the rest is in --html and --json)"
BAR = 20  # characters of a full bar
PAD = "         "  # under the verdict
HELP, FASTER = "WHAT WOULD HELP (measured)", "FASTER LOADERS (no gain here)"
WIDTH = 140  # of the fine print
NO_LIMIT = 1e9  # images/s: a stage that takes nothing
NOISY = 0.3  # spread of the loader alone, as a share, above which the reader is warned


def lines(report: Findings, most: int | None = MAX_LINES) -> list[str]:
    """The report's lines, without styles.

    most: then the fine print stays and tables before it are cut.
    """
    parts = [
        _verdict(report),
        _rates(report),
        _stages(report),
        _sizes(report),
        _cuts(report),
        _workers(report),
        _reading(report),
        _remedies(report),
        _fine_print(report),
    ]
    *tables, fine = ([""] * bool(place) + part if part else [] for place, part in enumerate(parts))
    out = [line for part in tables for line in part]
    if most is not None and len(out) + len(fine) > most:
        fine = fine[: most // 2]
        out = [*out[: most - len(fine) - 1], CUT]
    return [*out, *fine]


def _verdict(report: Findings) -> list[str]:
    verdict = report.verdict
    s = verdict.stall
    first = (
        f"VERDICT  {verdict.headline}   stall {100 * s.value:.1f} % [{100 * s.low:.1f}, "
        f"{100 * s.high:.1f}]   "
        f"AU {100 * verdict.utilisation:.0f} % (MLPerf Storage asks {100 * v.AU_GATE:.0f} %)   "
        f"{' or '.join(verdict.severity)}"
    )
    out = [first, PAD + _meaning(report)]
    if report.step.kind == "emulated":
        out.append(
            f"{PAD}The training step was EMULATED: a clock at {report.step.assumed:,.0f} images/s. "
            "No GPU did any work."
        )
    if report.step.note:
        out.append(f"{PAD}{report.step.note}")
    return out


def _meaning(report: Findings) -> str:
    """The verdict in one sentence."""
    verdict = report.verdict
    share = f"{max(0.0, 100 * verdict.stall.value):.0f} % of the time"
    room = verdict.headroom.value
    feeds = (
        f"this loader could feed {room:.2g} such GPUs"
        if room >= 1
        else f"this loader gives {100 * room:.2g} % of what it could take"
    )
    texts = {
        v.GPU: f"The GPU is the limit; {feeds}. A faster data path would gain nothing.",
        v.CPU: f"The GPU waits {share}; {feeds}. The stage that takes the most CPU time is "
        f"{verdict.stage}.",
        v.READ: f"The GPU waits {share}, and most of the loader's time is waiting for reads; "
        f"{feeds}.",
        v.LOADER: f"The GPU waits {share}; {feeds}. Which stage is slow is not known: this loader "
        "does not count them.",
        v.OVERLAP: f"The GPU waits {share}, though the loader alone keeps up ({feeds}): what is "
        "lost is lost in running together.",
        v.TRANSFER: f"The GPU waits {share} for copies of batches to it; the loader alone keeps up "
        f"({feeds}).",
        v.CONTENTION: f"The GPU waits {share}: loader, step and other work on this machine take "
        f"the cores from each other; {feeds}.",
        v.JITTER: f"The GPU waits {share}, nearly all of it for a few late batches; on average the "
        f"loader keeps up ({feeds}).",
        v.CORES: f"The GPU waits {share}; the workers wait for cores: this process may use "
        f"{report.machine['usable_cores']} of them.",
        v.STRAGGLER: f"All GPUs wait {share} for the data of {verdict.stage}; the other ranks' "
        "loaders keep up.",
        v.MIXED: f"The GPU waits {share}, for more than one reason: {verdict.stage}.",
        v.OPEN: "The interval of the stall spans the 5 % edge; more time (--seconds), or a quieter "
        "machine, would settle it.",
    }
    return texts[verdict.label]


def _rates(report: Findings) -> list[str]:
    rungs = report.rungs
    names: tuple[tuple[str, Sample], ...] = (
        ("step alone", rungs.step),
        ("loader alone", rungs.loader),
        ("training", rungs.training),
    )
    known = report.evidence
    extra = (("step beside the loader", known.beside), ("step with copies", known.transfer))
    names += tuple((name, sample) for name, sample in extra if sample is not None)
    rows = [(name, f"{s.median:,.0f}", f"{s.low:,.0f} to {s.high:,.0f}") for name, s in names]
    table = _columns(("images/s", "median", f"range of {len(rungs.step.values)}"), rows)
    table[3] += f"   {min(100.0, 100 * v.overlap(rungs)):.0f} % of the slower one alone"
    if rungs.loader.spread > NOISY:
        table.append(
            f"NOISY: the loader alone varied by {100 * rungs.loader.spread:.0f} % from run to run; "
            "is other work on this machine?"
        )
    return [*table, _what(report)]


def _what(report: Findings) -> str:
    setting = report.setting
    parts = [
        f"recipe {setting.recipe}" if setting.recipe else "",
        f"{setting.images:,} images" if setting.images else "",
        f"{setting.height}x{setting.width} px" if setting.height else "",
        f"batch {setting.batch_size}" if setting.batch_size else "",
        f"backend {setting.backend}" if setting.backend else "",
        f"{setting.workers} workers" if setting.workers is not None else "",
        f"{report.machine['usable_cores']} cores ({report.machine['cpu'] or 'CPU unknown'})",
        f"{report.seconds:.0f} s",
    ]
    return ", ".join(filter(None, parts))


def _stages(report: Findings) -> list[str]:
    if not report.stages:
        return []
    total = sum(stage.cpu_s for stage in report.stages) or 1e-12
    rows = [_stage_row(report, stage, total) for stage in report.stages]
    out = _columns(("stage", "CPU ms/image", "share", "waiting ms", "limit images/s", ""), rows)
    out.append(f"Stages: {report.stages_how}.")
    need = report.rungs.step.median * total
    out.append(
        f"At {1e3 * total:.2g} ms of CPU per image, {report.rungs.step.median:,.0f} images/s take "
        f"{need:.1f} such cores (computed)."
    )
    return out


def _stage_row(report: Findings, stage: v.StageCost, total: float) -> tuple[str, ...]:
    share = stage.cpu_s / total
    threads = max(1, report.setting.workers or 1)
    cores = min(threads, report.machine["usable_cores"])
    # Other stages wait only for cores that are busy, and so do the images per second that they
    # could make.
    waits = stage.wall_s if stage.name == "read" else 0.0
    limit = min(cores / max(stage.cpu_s, 1e-12), threads / max(waits, 1e-12))
    return (
        stage.name, f"{1e3 * stage.cpu_s:.3f}", f"{100 * share:.0f} %",
        f"{1e3 * stage.blocked_s:.3f}",
        f"{float(f'{limit:.3g}'):,.0f}" if limit < NO_LIMIT else "none", "█" * round(BAR * share),
    )  # fmt: skip


def _sizes(report: Findings) -> list[str]:
    if not report.sizes:
        return []
    rows = []
    for at in report.sizes:
        rates = (f"{images:,.0f}" for images in (at.step, at.loader.median, at.training))
        rows.append((f"{at.size} px", f"{100 * at.share:.0f} %", *rates, f"{100 * at.stall:.0f} %"))
    out = _columns(
        (
            "size",
            "of the epochs",
            "step images/s",
            "loader images/s",
            "training at best",
            "GPU waits",
        ),
        rows,
    )
    how = (
        " (step: computed from its rate at full size, the same cost per pixel)"
        if report.step.kind == "emulated"
        else ""
    )
    return [
        *out,
        (
            f"Over all epochs the GPU waits {100 * stall(report.sizes):.0f} % of the time, at "
            f"best{how}."
        ),
    ]


def _cuts(report: Findings) -> list[str]:
    if not report.cuts:
        return []
    is_cold, rows, before = any(cut.cold for cut in report.cuts), [], 0.0
    for cut in report.cuts:
        takes = 1e3 / cut.loader.median
        spread = f"{cut.loader.low:,.0f} to {cut.loader.high:,.0f}"
        cold = ("none" if cut.cold is None else f"{cut.cold.median:,.0f}",) if is_cold else ()
        rows.append(
            (cut.name, f"{cut.loader.median:,.0f}", spread, f"{takes - before:+.3f}", *cold)
        )
        before = takes
    header = (
        "loader cut off after",
        "images/s",
        "range",
        "adds ms/image",
        *(("cold, images/s",) if is_cold else ()),
    )
    return _columns(header, rows)


def _workers(report: Findings) -> list[str]:
    if not report.workers:
        return []
    rows = [
        (
            f"{at.workers}",
            f"{at.loader.median:,.0f}",
            f"{at.loader.low:,.0f} to {at.loader.high:,.0f}",
        )
        for at in report.workers
    ]
    few = enough(report.workers)
    out = _columns(("workers", "loader images/s", "range"), rows)
    return [
        *out,
        (
            f"{few.workers} give {few.loader.median:,.0f} images/s; more of them gain nothing that was "
            "measured."
        ),
    ]


def _reading(report: Findings) -> list[str]:
    found = report.reading
    if found is None:
        return []
    text = (
        f"Reading, one thread: {1e3 * found.cold_s:.3f} ms/image with a cold page cache, "
        f"{1e3 * found.warm_s:.3f} ms with a warm one"
    )
    text += f" ({found.images} images of {found.bytes_per_image / 1024:,.0f} KiB)"
    if not found.matters:
        return [f"{text}; no clear difference."]
    threads = max(1, report.setting.workers or 1)
    cold = threads / max(found.cold_s, 1e-12)
    out = [f"{text}; cold, {cold / threads:,.0f} images/s per thread."]
    if cold < report.rungs.step.median:
        out.append(
            f"READ-BOUND until the data are cached: {threads} threads read {cold:,.0f} images/s at "
            "most (computed)."
        )
    return out


def _remedies(report: Findings) -> list[str]:
    good = sorted((p for p in report.remedies if p.worth_it), key=lambda p: -p.loader.median)
    rest = [p for p in report.remedies if not p.worth_it]
    measured = ("training, measured",) if any(p.training for p in good) else ()
    out = _columns(
        (HELP if report.verdict.label != v.GPU else FASTER, "loader images/s",
        "training, predicted", *measured, "cost"),
        [(p.alternative.name, _gain(p), *_trained(p, report, checked=bool(measured)),
        p.alternative.cost) for p in good],
    ) if good else []  # fmt: skip
    name, by = fastest(report.remedies, report.setting.backend or "")
    out = ([f"BACKEND TO USE  {name}: {by}"] if name else []) + out
    return out + [f"Tried, no clear gain: {p.alternative.name}, {_gain(p)} images/s." for p in rest]


def _trained(priced: Priced, report: Findings, *, checked: bool) -> list[str]:
    """What training gives with it: predicted, and measured."""
    predicted, found = priced.predicted(report.rungs), priced.training
    off = (
        "not measured"
        if found is None
        else f"{found.median:,.0f} (predicted {100 * (predicted / found.median - 1):+.1f} %)"
    )
    return [f"{predicted:,.0f}", *([off] if checked else [])]


def _gain(priced: Priced) -> str:
    gain = priced.speedup
    return f"{priced.loader.median:,.0f} ({gain.value:.2g}x [{gain.low:.2g}, {gain.high:.2g}])"


def _fine_print(report: Findings) -> list[str]:
    why: dict[str, list[str]] = {}
    for reason in report.setting.why_backend:  # "backend native cannot run this plan: op 3 …"
        start, _, rest = reason.partition(": ")
        why.setdefault(start, []).append(rest)
    parts = [f"{start[:1].upper()}{start[1:]}: {'; '.join(rest)}." for start, rest in why.items()]
    parts += [f"Not included: {'; '.join(report.not_included)}."] if report.not_included else []
    parts += [f"Not measured: {'; '.join(report.not_measured)}."] if report.not_measured else []
    return [line for part in parts for line in textwrap.wrap(part, WIDTH, subsequent_indent="  ")]


def _columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Aligned text: the first column and bars left, numbers right."""
    cells = [tuple(header), *map(tuple, rows)]
    left = {0, *(place for place, name in enumerate(header) if name in ("", "cost"))}
    columns = []
    for place, column in enumerate(zip(*cells, strict=True)):
        width = max(map(len, column))
        columns.append(
            [cell.ljust(width) if place in left else cell.rjust(width) for cell in column]
        )
    return ["   ".join(row).rstrip() for row in zip(*columns, strict=True)]
