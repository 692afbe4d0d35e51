"""Rows of the comparison: images per second in one table, what they cost in another; a peer that
failed has a row too.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks.peers.catalogue import OURS, REFERENCE, Peer
from benchmarks.peers.run import Case, Outcome
from benchmarks.report.row import Row, figure, measured
from fastload.measure import Sample, ratio

OTHER_DATA = (
    "first",
    "png",
    "png_full",
    "webp",
    "large",
    "growth",
)  # files of their own: a file shows the rows of its last data only
NOTHING: dict[str, Any] = {
    "median": 0.0, "low": 0.0, "high": 0.0, "spread": 0.0, "repetitions": 0, "ratio": None,
    "ratio_low": None, "ratio_high": None,
}  # fmt: skip


def rows(
    case: Case, peers: Sequence[Peer], results: dict[str, Outcome], common: dict[str, Any]
) -> list[Row]:
    """One row per peer of images/s, and in the main table's cases one more of the costs."""
    rates = {
        name: _sample([epoch["images"] / epoch["seconds"] for epoch in outcome.epochs])
        for name, outcome in results.items()
    }
    out = [
        _rate(case, peer, results[peer.name], rates, common)
        for peer in peers
        if peer.name in results
    ]
    costs = (
        [_cost(case, peer, results[peer.name], common) for peer in peers if peer.name in results]
        if not case.table
        else []
    )
    return [*out, *costs]


def growth(
    case: Case, peers: Sequence[Peer], results: dict[str, Outcome], common: dict[str, Any]
) -> list[Row]:
    """The time to the first batch of a folder with so many entries, once, in s."""
    out = []
    for peer in (peer for peer in peers if peer.name in results):
        outcome = results[peer.name]
        sample = _sample([outcome.first["start_seconds"]] if outcome.first else [])
        also = {"MiB": outcome.first["memory_mib"]} if outcome.first else {}
        values = NOTHING if outcome.why or sample is None else measured(sample, None)
        shown = _shown(case) | {"entries": case.images}
        out.append(
            _row(
                case,
                peer,
                outcome,
                shown,
                values,
                common,
                also=also,
                unit="s to the first batch",
                reference=None,
            )
        )
    return out


def _rate(
    case: Case,
    peer: Peer,
    outcome: Outcome,
    rates: dict[str, Sample | None],
    common: dict[str, Any],
) -> Row:
    sample, against = rates[peer.name], _whole(rates, REFERENCE, outcome)
    if outcome.why or sample is None:
        return _row(case, peer, outcome, _shown(case), NOTHING, common, reference=None)
    against = None if peer.name == REFERENCE else against
    values = measured(sample, against)
    also = {} if peer.module == "fastloads" else _times(rates, outcome, sample)
    return _row(
        case,
        peer,
        outcome,
        _shown(case),
        values,
        common,
        also=also,
        reference=against and REFERENCE,
    )


def _times(rates: dict[str, Sample | None], outcome: Outcome, sample: Sample) -> dict[str, float]:
    """How many times as fast fastload is, each way of using it."""
    results: dict[str, float] = {}
    for name, title in OURS.items():
        if (ours := _whole(rates, name, outcome)) is not None:
            results |= figure(title, ratio(ours, sample))
    return results


def _cost(case: Case, peer: Peer, outcome: Outcome, common: dict[str, Any]) -> Row:
    """CPU-seconds per 1,000 images, of all processes; memory; the first batch of a process and of a
    later epoch.
    """
    sample, shown, unit = None, _shown(case) | {"table": "costs"}, "CPU s / 1,000 images"
    if not outcome.why:
        sample = _sample(
            [1000 * epoch["cpu_seconds"] / epoch["images"] for epoch in outcome.epochs]
        )
    if sample is None:
        return _row(case, peer, outcome, shown, NOTHING, common, reference=None, unit=unit)
    later = _sample([epoch["first_seconds"] for epoch in outcome.epochs])
    also = {"MiB": outcome.first["memory_mib"], "s_to_first_batch": outcome.first["start_seconds"]}
    also |= {"s_in_later_epochs": later.median} if later else {}
    return _row(
        case,
        peer,
        outcome,
        shown,
        measured(sample, None),
        common,
        also=also,
        reference=None,
        unit=unit,
    )


def _row(
    case: Case,
    peer: Peer,
    outcome: Outcome,
    shown: dict[str, Any],
    values: dict[str, Any],
    common: dict[str, Any],
    **more: Any,
) -> Row:
    versions = ", ".join(
        f"{name} {version}" for name, version in outcome.first.get("versions", {}).items()
    )
    note = "; ".join(
        filter(None, [f"FAILED: {outcome.why}" if outcome.why else "", versions, peer.how])
    )
    page_cache = "cold" if case.cold else "warm"
    benchmark = f"peers_{case.table}" if case.table in OTHER_DATA else "peers"
    return Row(
        benchmark=benchmark,
        variant=peer.title,
        settings=shown,
        page_cache=page_cache,
        note=note,
        data=case.facts,
        **values,
        **common,
        **more,
    )


def _shown(case: Case) -> dict[str, Any]:
    """The settings that tables show; output and workers are the same in all."""
    shown: dict[str, Any] = {
        "pipeline": case.pipeline,
        "cores": case.cores,
        "workers": "one per core",
        "output": "uint8",
    }
    table = {"table": case.table} if case.table and case.table not in OTHER_DATA else {}
    return table | shown | {"batch_size": case.batch_size, "size": case.size}


def _whole(rates: dict[str, Sample | None], name: str, outcome: Outcome) -> Sample | None:
    """The rates to compare with: only of as many turns as the peer itself has."""
    sample = rates.get(name)
    return sample if sample and len(sample.values) == len(outcome.epochs) else None


def _sample(values: list[float]) -> Sample | None:
    return Sample(tuple(values)) if values else None
