"""The verdict in words: the first lines of a report."""

from fastload.profiler import verdict as v
from fastload.profiler.advice import advice
from fastload.profiler.findings import Findings

PAD = "         "  # under the verdict


def headline(report: Findings) -> list[str]:
    """The verdict in numbers, in a sentence, and what the reader must know about the step."""
    do = advice(report)
    out = [_first(report), *([f"DO       {do}"] if do else []), PAD + _meaning(report)]
    if report.step.kind == "emulated":
        out.append(
            f"{PAD}The training step was EMULATED: a clock at {report.step.assumed:,.0f} images/s. "
            "No GPU did any work."
        )
    if report.step.note:
        out.append(f"{PAD}{report.step.note}")
    return out


def _first(report: Findings) -> str:
    verdict, s = report.verdict, report.verdict.stall
    stall = f"stall {100 * s.value:.1f} % [{100 * s.low:.1f}, {100 * s.high:.1f}]"
    if verdict.label == v.OPEN:
        return f"VERDICT  {v.OPEN}: not known whether training waits for data   {stall}"
    return (
        f"VERDICT  {verdict.headline}   {stall}   "
        f"AU {100 * verdict.utilisation:.0f} % (MLPerf Storage asks {100 * v.AU_GATE:.0f} %)   "
        f"{' or '.join(verdict.severity)}"
    )


def on_gpu(report: Findings) -> bool:
    """Whether there is a GPU that could wait: a real one, or the emulated step of one."""
    return report.step.kind == "emulated" or bool(report.machine.get("gpu"))


def _meaning(report: Findings) -> str:
    """The verdict in one sentence."""
    verdict, gpu = report.verdict, on_gpu(report)
    share = f"{max(0.0, 100 * verdict.stall.value):.0f} % of the time"
    room = verdict.headroom.value
    feeds = (
        f"this loader could feed {room:.2g} such {'GPUs' if gpu else 'trainings'}"
        if room >= 1
        else f"this loader gives {100 * room:.2g} % of what it could take"
    )
    waits = f"{'The GPU' if gpu else 'Training'} waits {share}"
    reads = "the store" if verdict.stage == v.STORE else "reads"
    limit = "The GPU" if gpu else "The training step, not the data,"
    texts = {
        v.GPU: f"{limit} is the limit; {feeds}. A faster data path would gain nothing.",
        v.CPU: f"{waits}; {feeds}. The stage that takes the most CPU time is {verdict.stage}.",
        v.READ: f"{waits}, and most of the loader's time is waiting for {reads}; {feeds}.",
        v.LOADER: f"{waits}; {feeds}. Which stage is slow is not known: this loader does not "
        "count them.",
        v.OVERLAP: f"{waits}, though the loader alone keeps up ({feeds}): what is lost is lost in "
        "running together.",
        v.TRANSFER: f"{waits} for copies of batches to it; the loader alone keeps up ({feeds}).",
        v.CONTENTION: f"{waits}: loader, step and other work on this machine take the cores from "
        f"each other; {feeds}.",
        v.JITTER: f"{waits}, nearly all of it for a few late batches; on average the loader keeps "
        f"up ({feeds}).",
        v.CORES: f"{waits}; the workers wait for cores: this process may use "
        f"{report.machine['usable_cores']} of them.",
        v.STRAGGLER: f"{'All GPUs wait' if gpu else 'All ranks wait'} {share} for the data of "
        f"{verdict.stage}; the other ranks' loaders keep up.",
        v.MIXED: f"{waits}, for more than one reason: {verdict.stage}.",
        v.OPEN: _open(report),
    }
    return texts[verdict.label]


def _open(report: Findings) -> str:
    """What is not known."""
    s = report.verdict.stall
    between = f"between {max(0.0, 100 * s.low):.0f} and {100 * s.high:.0f} % of the time"
    return f"Training waits {between}; from {100 * v.OK_BELOW:.0f} % on it would matter."
