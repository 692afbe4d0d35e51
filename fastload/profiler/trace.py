"""Logs of attached processes as a Chrome trace, for Perfetto or chrome://tracing: a row for each
loader, step and worker.
"""

from collections.abc import Iterable, Sequence

from fastload.attach import log
from fastload.profiler.logs import Process
from fastload.spec import Json

WAITS, STEPS, MAKES = 1, 2, 3  # rows of a process


def document(processes: Sequence[Process]) -> Json:
    """The Trace Event Format's JSON object; times in us since the first record."""
    start = min((float(process.records["t"][0]) for process in processes), default=0.0)
    events = [
        event for process in processes for event in (*_names(process), *_events(process, start))
    ]
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _names(process: Process) -> Iterable[Json]:
    trains = len(process.of(log.WAIT)) > 0
    name = f"rank {process.rank}" if trains else "worker"
    yield {
        "ph": "M",
        "name": "process_name",
        "pid": process.pid,
        "tid": 0,
        "args": {"name": f"{name} ({process.pid})"},
    }
    rows = {WAITS: "waiting for data", STEPS: "step"} if trains else {}
    if len(process.of(log.FETCH)):
        rows[MAKES] = "making batches"
    for row, text in rows.items():
        yield {
            "ph": "M",
            "name": "thread_name",
            "pid": process.pid,
            "tid": row,
            "args": {"name": text},
        }


def _events(process: Process, start: float) -> Iterable[Json]:
    ready: dict[int, float] = {}  # by loader: when its last batch came
    for record in process.records:
        kind, loader = int(record["kind"]), int(record["loader"])
        t, wall, images = float(record["t"]), float(record["wall"]), int(record["images"])
        if kind in (log.WAIT, log.END):
            if int(record["steps"]) and loader in ready:
                yield _span(
                    "step",
                    process.pid,
                    STEPS,
                    ready[loader] - start,
                    t - ready[loader],
                    {"steps": int(record["steps"])},
                )
            ready[loader] = t + wall
        if kind == log.WAIT:
            yield _span(
                f"next (loader {loader})", process.pid, WAITS, t - start, wall, {"images": images}
            )
        elif kind == log.FETCH:
            extra = {
                "images": images,
                "cpu_ms": 1e3 * float(record["cpu"]),
                "waiting_for_core_ms": 1e3 * float(record["starved"]),
            }
            yield _span("batch", process.pid, MAKES, t - start, wall, extra)


def _span(name: str, pid: int, row: int, begin: float, length: float, args: Json) -> Json:
    return {
        "ph": "X",
        "name": name,
        "pid": pid,
        "tid": row,
        "ts": round(1e6 * begin, 1),
        "dur": round(1e6 * length, 1),
        "args": args,
    }
