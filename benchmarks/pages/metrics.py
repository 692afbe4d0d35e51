"""`python -m benchmarks metrics`: the table of docs/metrics.md, and the dashboard beside it, from
the table of names.
"""

import json
from pathlib import Path
from typing import Any

from fastload.metrics.names import METRICS

BEGIN, END = "<!-- metrics -->\n", "<!-- /metrics -->\n"
COLUMNS = ("name", "kind", "unit", "own label", "what it is")
DASHBOARD = Path("assets") / "grafana.json"
WHERE = '{loader=~"$loader", rank=~"$rank"}'
WIDE, HIGH = 8, 8  # of a panel, in Grafana's grid of 24 columns
# Grafana's names of units
SHARE, SECONDS, BYTES, PLAIN = "percentunit", "s", "Bps", "short"


def table() -> str:
    lines = [f"| {' | '.join(COLUMNS)} |\n", "|---|---|---|---|---|\n"]
    for one in METRICS:
        own = f"`{one.label}`" if one.label else ""
        lines.append(f"| `{one.name}` | {one.kind} | `{one.unit}` | {own} | {one.meaning} |\n")
    return "".join(lines)


def page(text: str) -> str:
    """The page with the table as it is now."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


def rate(name: str, by: str = "loader, rank") -> str:
    """What a counter gains in a second."""
    return f"sum by ({by}) (rate({name}{WHERE}[$__rate_interval]))"


def share(part: str, whole: str) -> str:
    return f"{rate(part)} / {rate(whole)}"


# Title, what it means, unit, and the queries with their legends
EACH = "{{loader}}, rank {{rank}}"
PANELS: tuple[tuple[str, str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Waiting for data", "Share of the time in which the training waits for batches.", SHARE,
        ((share("fastload_wait_seconds_total", "fastload_elapsed_seconds_total"), EACH),),
    ),
    (
        "Images per second", "What the training takes, and what the native threads could make.",
        PLAIN,
        (
            (rate("fastload_images_total"), EACH),
            (f"fastload_possible_images_per_second{WHERE}", f"possible: {EACH}"),
        ),
    ),
    (
        "Batches that lie ready", "None: the training waits. Many: the loader is ahead.", PLAIN,
        ((f"fastload_queue_depth{WHERE}", EACH),),
    ),
    (
        "Threads busy, by stage", "Native threads that are in a stage, all ranks together.", PLAIN,
        ((rate("fastload_stage_seconds_total", "loader, stage"), "{{loader}}, {{stage}}"),),
    ),
    (
        "CPU cores used, by stage", "Cores that a stage takes, all ranks together.", PLAIN,
        ((rate("fastload_stage_cpu_seconds_total", "loader, stage"), "{{loader}}, {{stage}}"),),
    ),
    (
        "Images decoded, by way", "Per second. Indexed ones are decoded only where they are seen.",
        PLAIN,
        ((rate("fastload_decoded_images_total", "loader, way"), "{{loader}}, {{way}}"),),
    ),
    (
        "Epochs", "The epoch, from 0, with the part of it that is done.", PLAIN,
        ((
            f"fastload_epoch{WHERE} + fastload_step{WHERE} / fastload_steps_per_epoch{WHERE}", EACH,
        ),),
    ),
    (
        "Bad images", "That could not be read or decoded, since the loader was made.", PLAIN,
        ((f"fastload_bad_samples_total{WHERE}", EACH),),
    ),
    (
        "Time left, with a plan", "The estimate, and the ends of its interval.", SECONDS,
        ((f"fastload_run_left_seconds{WHERE}", "{{loader}}, {{bound}}"),),
    ),
    (
        "True and planned time", "Above 1 the run is slower than its plan.", PLAIN,
        ((f"fastload_run_seconds{WHERE} / fastload_run_planned_seconds{WHERE}", EACH),),
    ),
    (
        "Bytes of the store", "Read from the store, and found in the cache.", BYTES,
        (
            (rate("fastload_store_bytes_total", "loader"), "{{loader}}, read"),
            (rate("fastload_store_cached_bytes_total", "loader"), "{{loader}}, in the cache"),
        ),
    ),
)  # fmt: skip


def dashboard() -> dict[str, Any]:
    """As Grafana 10 and newer import it; they ask for the Prometheus to take."""
    return {
        "title": "fastload",
        "uid": "fastload",
        "description": "What limits a training, and how far it is.",
        "tags": ["fastload"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_source(), _label("loader"), _label("rank")]},
        "panels": [_panel(place, *panel) for place, panel in enumerate(PANELS)],
    }


def _source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource",
            "query": "prometheus"}  # fmt: skip


def _label(name: str) -> dict[str, Any]:
    """A choice of values of a label; all of them at first."""
    query = f"label_values(fastload_images_total, {name})"
    return {
        "name": name, "label": name, "type": "query", "datasource": {"uid": "${datasource}"},
        "query": {"query": query, "refId": name}, "definition": query, "refresh": 2,
        "multi": True, "includeAll": True, "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }  # fmt: skip


def _panel(
    place: int, title: str, meaning: str, unit: str, queries: tuple[tuple[str, str], ...]
) -> dict[str, Any]:
    per_row = 24 // WIDE
    targets = [
        {"refId": chr(ord("A") + number), "expr": query, "legendFormat": legend}
        for number, (query, legend) in enumerate(queries)
    ]
    return {
        "id": place + 1, "type": "timeseries", "title": title, "description": meaning,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"x": WIDE * (place % per_row), "y": HIGH * (place // per_row), "w": WIDE,
                    "h": HIGH},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"},
                    "tooltip": {"mode": "multi"}},
        "targets": targets,
    }  # fmt: skip


def dashboard_text() -> str:
    return json.dumps(dashboard(), indent=1) + "\n"


def write(docs: Path) -> list[Path]:
    path = docs / "metrics.md"
    path.write_text(page(path.read_text()))
    (docs / DASHBOARD).write_text(dashboard_text())
    return [path, docs / DASHBOARD]
