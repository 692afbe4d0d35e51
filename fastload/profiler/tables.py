"""The tables of a report, as lines of text: what was measured, with its range."""

from collections.abc import Iterable, Mapping, Sequence

from fastload.measure import Interval, Sample
from fastload.profiler import interference
from fastload.profiler import verdict as v
from fastload.profiler.evidence import StageCost
from fastload.profiler.findings import Findings
from fastload.profiler.headline import on_gpu
from fastload.profiler.offers import Offer, offers
from fastload.profiler.overlap import overlap
from fastload.profiler.remedies import Priced, fastest
from fastload.profiler.sizes import stall
from fastload.profiler.sweep import enough

BAR = 20  # characters of a full bar
HELP, FASTER = "WHAT WOULD HELP", "FASTER LOADERS (no gain here)"
WHOLE = 10_000  # characters of a line that is not broken
NO_LIMIT = 1e9  # images/s: a stage that takes nothing
NOISY = 0.3  # spread of the loader alone, as a share, above which the reader is warned


def rates(report: Findings) -> list[str]:
    rungs = report.rungs
    names: tuple[tuple[str, Sample], ...] = (
        ("step alone", rungs.step),
        ("loader alone", rungs.loader),
        ("training", rungs.training),
    )
    known = report.evidence
    extra = (("step beside the loader", known.beside), ("step with copies", known.transfer))
    names += tuple((name, sample) for name, sample in extra if sample is not None)
    rows = [(name, f"{sample.median:,.0f}", _range(sample)) for name, sample in names]
    table = columns(("images/s", "median", f"range of {len(rungs.step.values)}"), rows)
    table[3] += f"   {min(100.0, 100 * overlap(rungs)):.0f} % of the slower one alone"
    if rungs.loader.spread > NOISY:
        table.append(
            f"NOISY: the loader alone varied by {100 * rungs.loader.spread:.0f} % from run to run; "
            "is other work on this machine?"
        )
    return [*table, *interference.line(report.taken), _what(report)]


def _what(report: Findings) -> str:
    setting = report.setting
    workers, cores = setting.workers, report.machine["usable_cores"]
    parts = [
        f"recipe {setting.recipe}" if setting.recipe else "",
        f"{setting.images:,} images" if setting.images else "",
        f"{setting.height}x{setting.width} px" if setting.height else "",
        f"batch {setting.batch_size}" if setting.batch_size else "",
        f"backend {setting.backend}" if setting.backend else "",
        "" if workers is None else f"{workers} worker{'s' * (workers != 1)}",
        f"{cores} core{'s' * (cores != 1)} ({report.machine['cpu'] or 'CPU unknown'})",
        f"{report.seconds:.0f} s",
    ]
    return ", ".join(filter(None, parts))


def stages(report: Findings, width: int = WHOLE) -> list[str]:
    if not report.stages:
        return []
    total = sum(stage.cpu_s for stage in report.stages) or 1e-12
    rows = [_stage_row(report, stage, total) for stage in report.stages]
    out = columns(
        ("stage", "CPU ms/image", "share", "waiting ms", "limit images/s", ""), rows, width
    )
    out.append(f"Stages: {report.stages_how}.")
    need = report.rungs.step.median * total
    out.append(
        f"At {1e3 * total:.2g} ms of CPU per image, {report.rungs.step.median:,.0f} images/s take "
        f"{need:.1f} such cores (computed)."
    )
    return out


def _stage_row(report: Findings, stage: StageCost, total: float) -> tuple[str, ...]:
    share = stage.cpu_s / total
    threads = max(1, report.setting.workers or 1)
    cores = min(threads, report.machine["usable_cores"])
    # Other stages wait only for busy cores, and that waiting does not limit what they could do.
    waits = stage.wall_s if stage.name == "read" else 0.0
    limit = min(cores / max(stage.cpu_s, 1e-12), threads / max(waits, 1e-12))
    return (
        stage.name, f"{1e3 * stage.cpu_s:.3f}", f"{100 * share:.0f} %",
        f"{1e3 * stage.blocked_s:.3f}",
        f"{float(f'{limit:.3g}'):,.0f}" if limit < NO_LIMIT else "none", "█" * round(BAR * share),
    )  # fmt: skip


def sizes(report: Findings, width: int = WHOLE) -> list[str]:
    if not report.sizes:
        return []
    rows = []
    for at in report.sizes:
        images_per_s = (f"{rate:,.0f}" for rate in (at.step, at.loader.median, at.training))
        share, waits = f"{100 * at.share:.0f} %", f"{100 * at.stall:.0f} %"
        rows.append((f"{at.size} px", share, *images_per_s, waits))
    who = "GPU" if on_gpu(report) else "step"
    header = ("step images/s", "loader images/s", "training at best", f"{who} waits")
    out = columns(("size", "of the epochs", *header), rows, width)
    how = (
        " (step: computed from its rate at full size, the same cost per pixel)"
        if report.step.kind == "emulated"
        else ""
    )
    waits = f"{100 * stall(report.sizes):.0f} % of the time"
    return [*out, f"Over all epochs the {who} waits {waits}, at best{how}."]


def cuts(report: Findings, width: int = WHOLE) -> list[str]:
    if not report.cuts:
        return []
    any_cold, rows, before = any(cut.cold for cut in report.cuts), [], 0.0
    for cut in report.cuts:
        takes = 1e3 / cut.loader.median
        row = (cut.name, f"{cut.loader.median:,.0f}", _range(cut.loader), f"{takes - before:+.3f}")
        cold = "none" if cut.cold is None else f"{cut.cold.median:,.0f}"
        rows.append((*row, cold) if any_cold else row)
        before = takes
    header = ("loader cut off after", "images/s", "range", "adds ms/image")
    return columns((*header, "cold, images/s") if any_cold else header, rows, width)


def workers(report: Findings, width: int = WHOLE) -> list[str]:
    if not report.workers:
        return []
    rows = [
        (f"{at.workers}", f"{at.loader.median:,.0f}", _range(at.loader)) for at in report.workers
    ]
    few = enough(report.workers)
    out = columns(("workers", "loader images/s", "range"), rows, width)
    out.append(
        f"{few.workers} give {few.loader.median:,.0f} images/s; more of them gain nothing that was "
        "measured."
    )
    return out


def reading(report: Findings) -> list[str]:
    read = report.reading
    if read is None:
        return []
    text = (
        f"Reading, one thread: {1e3 * read.cold_s:.3f} ms/image with a cold page cache, "
        f"{1e3 * read.warm_s:.3f} ms with a warm one "
        f"({read.images} images of {read.bytes_per_image / 1024:,.0f} KiB)"
    )
    if not read.matters:
        return [f"{text}; no clear difference."]
    threads = max(1, report.setting.workers or 1)
    cold = threads / max(read.cold_s, 1e-12)
    out = [f"{text}; cold, {cold / threads:,.0f} images/s per thread."]
    if cold < report.rungs.step.median:
        out.append(
            f"READ-BOUND until the data are cached: {threads} threads read {cold:,.0f} images/s at "
            "most (computed)."
        )
    return out


def remedies(report: Findings, width: int = WHOLE) -> list[str]:
    good = sorted((p for p in report.remedies if p.worth_it), key=lambda p: -p.loader.median)
    loaders = {p.alternative.name: _gain(p) for p in good}
    seen = tuple(one.name for one in report.foreseen)
    listed = {one.name: one for one in offers(report)}
    kept = [*loaders, *(name for name in seen if listed[name].worth_it)]
    name, by = fastest(report.remedies, report.setting.backend or "")
    return [
        *([f"BACKEND TO USE  {name}: {by}"] if name else []),
        *(_worth_it([listed[name] for name in kept], loaders, report, width) if kept else []),
        *(
            f"Tried, no clear gain: {p.alternative.name}, {_gain(p)} images/s."
            for p in report.remedies
            if not p.worth_it
        ),
        *(
            f"Foreseen, no clear gain: {name}, training {_times(listed[name].gain)} as fast."
            for name in seen
            if not listed[name].worth_it
        ),
    ]


def _worth_it(
    kept: Sequence[Offer], loaders: Mapping[str, str], report: Findings, width: int
) -> list[str]:
    """loaders: the rate of each remedy's loader, by name; others leave the loader as it is."""
    verified = {p.alternative.name: p for p in report.remedies if p.training}
    header = (
        HELP if report.verdict.label != v.GPU else FASTER,
        "loader images/s",
        "training, predicted",
        *(("training, measured",) if verified else ()),
        "cost",
    )
    rows = [
        (
            one.name,
            loaders.get(one.name, "as it is"),
            _predicted(one, verified, report),
            *((_measured(one, verified, report),) if verified else ()),
            one.cost,
        )
        for one in kept
    ]
    return columns(header, rows, width)


def _predicted(one: Offer, verified: Mapping[str, Priced], report: Findings) -> str:
    """What training gives with it, images/s."""
    checked = verified.get(one.name)
    training = one.training if checked is None else checked.range(report.rungs)
    return f"{training.value:,.0f} ({training.low:,.0f} to {training.high:,.0f})"


def _measured(one: Offer, verified: Mapping[str, Priced], report: Findings) -> str:
    checked = verified.get(one.name)
    if checked is None or checked.training is None:
        return "not measured"
    off = 100 * (checked.predicted(report.rungs) / checked.training.median - 1)
    return f"{checked.training.median:,.0f} (predicted {off:+.1f} %)"


def _gain(priced: Priced) -> str:
    return f"{priced.loader.median:,.0f} ({_times(priced.speedup)})"


def _times(gain: Interval) -> str:
    return f"{gain.value:.2g}x [{gain.low:.2g}, {gain.high:.2g}]"


def _range(sample: Sample) -> str:
    return f"{sample.low:,.0f} to {sample.high:,.0f}"


def columns(header: Sequence[str], rows: Iterable[Sequence[str]], width: int = WHOLE) -> list[str]:
    """Aligned text: the first column, bars and costs left, numbers right.

    Where it is wider than `width` the bars are left out, and where that is not enough each row has
    a line for each of its cells.
    """
    cells = [tuple(header), *map(tuple, rows)]
    left = {0, *(index for index, name in enumerate(header) if name in ("", "cost"))}
    aligned = []
    for index, column in enumerate(zip(*cells, strict=True)):
        widest = max(map(len, column))
        align = str.ljust if index in left else str.rjust
        aligned.append([align(cell, widest) for cell in column])
    lines = ["   ".join(row).rstrip() for row in zip(*aligned, strict=True)]
    if max(map(len, lines)) <= width:
        return lines
    if header[-1] == "":
        return columns(header[:-1], [row[:-1] for row in cells[1:]], width)
    return _stacked(header, cells[1:])


def _stacked(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Each row as its name and, below, what it has in each column."""
    widest, out = max(map(len, header[1:])), [header[0]]
    for row in rows:
        out.append(row[0])
        out += [
            f"  {name.ljust(widest)}   {cell}"
            for name, cell in zip(header[1:], row[1:], strict=True)
        ]
    return out
