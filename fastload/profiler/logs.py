"""Reads what attached processes wrote: fastload.attach.log is the other side."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fastload.attach import log
from fastload.spec import Array, Json

FIELDS = np.dtype(
    [
        ("t", "<f8"), ("wall", "<f8"), ("cpu", "<f8"), ("starved", "<f8"), ("idle", "<f8"),
        ("images", "<u4"), ("steps", "<u2"), ("kind", "<u2"), ("loader", "<u4"), ("name", "S28"),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Process:
    """One process's records, in the order of their time, and its facts."""

    pid: int
    records: Array  # structured array [N] of FIELDS
    facts: Json
    parent: int = 0  # pid

    @property
    def rank(self) -> int:
        text = str(self.facts.get("rank") or 0)
        return int(text) if text.isdigit() else 0

    def of(self, kind: int) -> Array:
        records: Array = self.records[self.records["kind"] == kind]
        return records


def read(folder: str) -> list[Process]:
    """Every process that measured anything, by pid.

    Records that are damaged or cut off are left out.
    """
    processes = []
    for path in sorted(Path(folder).glob("*.log")):
        data = path.read_bytes()
        records = _records(data)
        if path.stem.isdigit() and len(records):
            parent = log.HEADER.unpack_from(data)[2]
            processes.append(
                Process(int(path.stem), records, _facts(path.with_suffix(".json")), parent)
            )
    return processes


def written(folder: str) -> int:
    """Records of all processes so far, the overwritten ones too."""
    total = 0
    for path in Path(folder).glob("*.log"):
        with suppress(OSError), open(path, "rb") as file:
            head = file.read(log.HEADER.size)
            total += log.HEADER.unpack(head)[1] if len(head) == log.HEADER.size else 0
    return total


def _records(data: bytes) -> Array:
    empty = np.zeros(0, FIELDS)
    if len(data) < log.START or data[:8] != log.MAGIC:
        return empty
    _, written, _ = log.HEADER.unpack_from(data)
    capacity = (len(data) - log.START) // log.RECORD.size
    records = np.frombuffer(data, FIELDS, min(written, capacity), log.START)
    times = np.stack([records["t"], records["wall"], records["cpu"], records["starved"]])
    records = records[
        np.isfinite(times).all(axis=0) & (times >= 0).all(axis=0) & (records["kind"] > 0)
    ]
    ordered: Array = records[np.argsort(records["t"], kind="stable")]
    return ordered


def _facts(path: Path) -> Json:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
