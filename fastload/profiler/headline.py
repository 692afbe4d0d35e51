"""The verdict in words: the first lines of a report."""

from fastload.profiler import verdict as v
from fastload.profiler.findings import Findings

PAD = "         "  # under the verdict


def headline(report: Findings) -> list[str]:
    """The verdict in numbers, in a sentence, and what the reader must know about the step."""
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
