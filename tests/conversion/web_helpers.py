"""Tables of URLs, and what became of them."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fastload.conversion.options import Options
from fastload.conversion.web import job
from fastload.conversion.web.options import Columns, Fetch

QUICK = {"private": True, "backoff": 0.01, "timeout": 20.0, "host_connections": 64, "retries": 1}


def parquet(path: Path, **columns: list[object]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def fetched(
    source: Path,
    target: Path,
    columns: Columns | None = None,
    workers: int = 1,
    options: dict[str, object] | None = None,
    **how: object,
) -> job.WebSummary:
    """A whole conversion from the local server."""
    options = {"workers": workers, **(options or {})}
    return job.run(
        job.prepare(
            str(source), str(target), Options(**options), columns, Fetch(**{**QUICK, **how})
        )
    )


def failures(target: Path) -> dict[int, tuple[str, int, int]]:
    """Reason, status and tries of each row that failed."""
    table = pq.read_table(f"{target}.failed.parquet").to_pylist()
    return {int(row["key"]): (row["reason"], row["status"] or 0, row["tries"]) for row in table}


def samples(target: Path) -> dict[str, dict[str, bytes]]:
    """Files of each sample in the shards, by key and extension, in the order of the shards."""
    import tarfile

    out: dict[str, dict[str, bytes]] = {}
    for shard in sorted(target.glob("shard-*.tar")):
        with tarfile.open(shard) as tar:
            for member in tar:
                key, _, extension = member.name.partition(".")
                out.setdefault(key, {})[extension] = tar.extractfile(member).read()
    return out


def said(sample: dict[str, bytes]) -> dict[str, object]:
    return json.loads(sample["json"])
