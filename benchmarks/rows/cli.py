"""`python -m benchmarks rows`: what an index of 1 to 1,000 million images costs: opening it cold,
memory of all ranks of a machine, the first batch of a shuffled epoch, another epoch, a resume, and
the rate beside that of a small data set in the same process.

The images are few (made.py); the index is whole. Each size is measured in fresh processes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.process import ROOT
from benchmarks.report import facts, row, table
from benchmarks.report.row import Row, measured
from benchmarks.rows import made, made_shards
from fastload.measure import Sample

MILLION, SMALL = 1_000_000, 20_000
MAKERS = {"mds": made.make, "shards": made_shards.make}


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--millions", default="1,10,100", help="sizes, by commas")
    verb.add_argument("--of", choices=MAKERS, default="mds", help="the format of the data set")
    verb.add_argument("--ranks", type=int, default=8, help="processes that open the same data set")
    verb.add_argument("--steps", type=int, default=200, help="of each rate")
    verb.add_argument("--folder", type=Path, help="where data sets are made, and removed again")
    verb.add_argument("--json", action="store_true", help="print the rows as JSON lines")
    verb.add_argument("--no-save", action="store_true", help="do not add the rows to the results")
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    results = []
    for millions in map(float, given.millions.split(",")):
        with tempfile.TemporaryDirectory(prefix="fastload-rows-", dir=given.folder) as scratch:
            begin = time.perf_counter()
            make = MAKERS[given.of]
            small = make(Path(scratch) / "small", SMALL)
            big = make(Path(scratch) / "big", int(millions * MILLION))
            making = time.perf_counter() - begin
            print(f"{millions:g} million rows written in {making:.0f} s", file=sys.stderr)
            # One cache for both
            if small.index.exists():
                os.rename(small.index, big.index.with_name(small.index.name))
            results.append(_row(millions, big, small, given))
    if not given.no_save:
        name = "rows" if given.of == "mds" else f"rows_{given.of}"  # a table of its own
        row.save(given.results / f"{name}.jsonl", results)
    print("\n".join(map(row.line, results)) if given.json else table.every(results))


def _row(millions: float, big: made.Made, small: made.Made, given: argparse.Namespace) -> Row:
    look, *_ = _ranks(big, small, given, 1, measures=False)  # the first, where there was none
    first, *_ = _ranks(big, small, given, 1, measures=True)
    ranks = _ranks(big, small, given, given.ranks, measures=False)
    also = {
        "cold_open_s": first["open"], "first_batch_s": first["first"],
        "set_epoch_s": first["set_epoch"], "resume_s": first["resume"],
        "explain_s": first["explain"], "small_images_per_s": first["small"],
        "of_small": first["ratio"],
        "slowest_rank_open_s": max(rank["open"] for rank in ranks),
        "node_MB": sum(rank["memory"] for rank in ranks) / 1e6,
        "node_before_open_MB": sum(rank["memory_before"] for rank in ranks) / 1e6,
        "index_bytes_per_image": big.index.stat().st_size / (millions * MILLION),
    }  # fmt: skip
    converted = given.of == "shards"
    if converted:
        also |= {
            "first_look_s": look["open"], "first_look_peak_MB": look["peak"] / 1e6,
            "arrow_bytes_per_image": big.bytes / (millions * MILLION),
        }  # fmt: skip
    settings = {"millions": millions, "ranks": given.ranks, "steps": given.steps}
    return Row(
        benchmark="rows", variant=f"{millions:g} million{', converted' * converted}",
        settings=settings, reference=None, page_cache="cold", data={}, also=also,
        **measured(Sample((first["rate"],)), None),
        **facts.common(),
    )  # fmt: skip


def _ranks(
    big: made.Made, small: made.Made, given: argparse.Namespace, ranks: int, *, measures: bool
) -> list[dict[str, Any]]:
    """What each of so many processes says."""
    asked = {
        "where": str(big.where), "small": str(small.where), "ranks": ranks, "steps": given.steps,
        "measures": measures, "dropped": [str(big.index), *map(str, big.where.glob("index.*"))],
    }  # fmt: skip
    environment = {**os.environ, "XDG_CACHE_HOME": str(big.cache), "PYTHONPATH": str(ROOT)}
    crew = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.rows.child", json.dumps({**asked, "rank": rank})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    said = [json.loads(_line(one)) for one in crew]
    said = [{**before, **json.loads(_ask(one))} for before, one in zip(said, crew, strict=True)]
    for one in crew:
        one.communicate("\n")
    return said


def _ask(child: "subprocess.Popen[str]") -> str:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()
    return _line(child)


def _line(child: "subprocess.Popen[str]") -> str:
    """Raises RuntimeError where the child has ended."""
    assert child.stdout is not None
    if not (line := child.stdout.readline()):
        raise RuntimeError(f"a rank has ended with {child.wait()}")
    return line
