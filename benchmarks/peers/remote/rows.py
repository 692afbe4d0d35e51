"""A row for each loader over the link."""

from collections.abc import Sequence
from typing import Any

from benchmarks.peers.catalogue import Peer
from benchmarks.peers.remote.run import LATENCY, RATE, Case, Outcome
from benchmarks.peers.rows import NOTHING
from benchmarks.report.row import Row, measured
from fastload.measure import Sample

UNIT = "images/s"  # after the first quarter of an epoch


def rows(
    case: Case, peers: Sequence[Peer], outcomes: dict[str, Outcome], common: dict[str, Any]
) -> list[Row]:
    shown = {
        "pipeline": case.pipeline, "size": case.size, "workers": case.workers,
        "batch_size": case.batch_size, "latency_ms": 1e3 * LATENCY, "link_mbit": 8e-6 * RATE,
    }  # fmt: skip
    samples = {name: _sample(outcome, "steady_rate") for name, outcome in outcomes.items()}
    out = []
    for peer in peers:
        outcome, sample = outcomes[peer.name], samples[peer.name]
        against = samples.get(case.reference) if peer.name != case.reference else None
        if not (against and sample and len(against.values) == len(sample.values)):
            against = None
        values = measured(sample, against) if sample and not outcome.why else NOTHING
        out.append(Row(
            benchmark="remote", variant=peer.title, settings=shown, page_cache="warm",
            reference=case.reference if against else None, also=_also(outcome),
            note=_note(peer, outcome), unit=UNIT, **values, **common,
        ))  # fmt: skip
    return out


def _also(outcome: Outcome) -> dict[str, float]:
    """Of the median epoch: the first batch, from `open` on; what the store was asked for; and
    the CPU-seconds that the store itself took per second.
    """
    if not outcome.epochs or outcome.why:
        return {}
    names = {
        "s_to_first_batch": "first_seconds", "requests": "store_requests",
        "images/s_whole": "rate", "MiB_sent": "store_mib", "store's_cores": "store_cores",
    }  # fmt: skip
    epochs = [
        epoch
        | {
            "rate": epoch["images"] / epoch["seconds"],
            "store_mib": epoch["store_bytes"] / (1 << 20),
            "store_cores": epoch["store_cpu_seconds"] / epoch["seconds"],
        }
        for epoch in outcome.epochs
    ]
    middle = {shown: Sample(tuple(e[name] for e in epochs)).median for shown, name in names.items()}
    return middle | {"MiB_memory": outcome.first["memory_mib"]}


def _note(peer: Peer, outcome: Outcome) -> str:
    versions = ", ".join(
        f"{name} {version}" for name, version in outcome.first.get("versions", {}).items()
    )
    failed = f"FAILED: {outcome.why}" if outcome.why else ""
    return "; ".join(filter(None, [failed, versions, peer.how]))


def _sample(outcome: Outcome, name: str) -> Sample | None:
    values = tuple(epoch[name] for epoch in outcome.epochs)
    return Sample(values) if values else None
