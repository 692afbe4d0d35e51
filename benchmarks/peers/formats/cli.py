"""`python -m benchmarks formats`: data sets opened in place, against the loaders they are from."""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import fastload
from benchmarks.peers import data, setup
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.formats.catalogue import FORMATS, Format
from benchmarks.peers.process import ROOT
from benchmarks.peers.rows import NOTHING
from benchmarks.peers.run import Case, Outcome, measure
from benchmarks.report import facts, row, table
from benchmarks.report.row import Row, measured
from fastload.cli.output import progress
from fastload.errors import UsageError
from fastload.measure import Sample

PIPELINE = "crop, flip"
TARS = 8


def add(verb: argparse.ArgumentParser) -> None:
    names = [each.name for each in FORMATS]
    verb.add_argument("--data", required=True, help="folder of classes, of JPEGs")
    verb.add_argument("--name", help="what to call the data in the results")
    verb.add_argument("--only", nargs="+", default=names, metavar="FORMAT", help=", ".join(names))
    verb.add_argument("--setup", action="store_true", help="first make missing environments")
    verb.add_argument("--environments", type=Path, default=ROOT / "build" / "peers")
    verb.add_argument("--repetitions", type=int, default=5)
    verb.add_argument("--json", action="store_true", help="print the rows as JSON lines")
    verb.add_argument("--no-save", action="store_true", help="do not add the rows to the results")
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    known = {each.name: each for each in FORMATS}
    if wrong := [name for name in given.only if name not in known]:
        raise UsageError(f"--only: {wrong[0]} is no format; want some of {', '.join(known)}")
    chosen = [known[name] for name in given.only]
    failed = {}
    if given.setup:
        failed = setup.set_up([each.own for each in chosen], given.environments, _say)
    common = facts.common()
    common["data"] = facts.data_set(given.data, given.name or Path(given.data).name)
    (ROOT / "build").mkdir(exist_ok=True)
    results = []
    with (
        tempfile.TemporaryDirectory(prefix="formats-", dir=ROOT / "build") as scratch,
        progress("formats", 2 * len(chosen) * (given.repetitions + 1), "turns") as advance,
    ):
        for each in chosen:
            # Both in the environment of the format's own library: what they share is the same
            python = setup.python_of(each.own, given.environments)
            where = _made(each, given.data, Path(scratch) / each.name, python)
            case = Case(
                each.name, PIPELINE, 1, {each.own.name: where, each.ours.name: where},
                int(common["data"]["images"]), common["data"],
            )  # fmt: skip
            peers = [each.own, each.ours]
            outcomes = measure(
                case, peers, dict.fromkeys((each.own.name, each.ours.name), python), failed,
                Path(scratch), given.repetitions, advance,
            )  # fmt: skip
            results += [_row(case, each, peer, outcomes, common) for peer in peers]
    if not given.no_save:
        row.save(given.results / "formats.jsonl", results)
    print("\n".join(map(row.line, results)) if given.json else table.every(results))


def _made(each: Format, folder: str, out: Path, python: str) -> str:
    """The images in the format; the path."""
    if each.own.reads == "tar":
        return data.made("tar", folder, out, python)
    if each.name == "captions":
        return _captions(folder, out)
    subprocess.run(
        [python, "-m", f"benchmarks.peers.{each.own.module}", folder, str(out)], check=True,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
    )  # fmt: skip
    return str(out)


def _captions(folder: str, out: Path) -> str:
    """Tars as img2dataset writes them: images with a text and JSON beside each."""
    out.mkdir(parents=True)
    samples = fastload.open(folder).samples
    for number in range(TARS):
        with tarfile.open(out / f"{number:05}.tar", "w") as tar:
            for at in range(number, len(samples), TARS):
                path, label = samples[at]
                tar.add(path, f"{at:09}.jpg")
                text = out / "text"
                for suffix, said in (("txt", f"a photo of number {label}"), ("json", "{}")):
                    text.write_text(said)
                    tar.add(text, f"{at:09}.{suffix}")
                text.unlink()
    return str(out)


def _row(
    case: Case, each: Format, peer: Peer, outcomes: dict[str, Outcome], common: dict[str, object]
) -> Row:
    outcome, own = outcomes[peer.name], _rates(outcomes[each.own.name])
    against = own if peer is each.ours else None
    sample = None if outcome.why else _rates(outcome)
    versions = [f"{name} {value}" for name, value in outcome.first.get("versions", {}).items()]
    failed = [f"FAILED: {outcome.why}"] if outcome.why else []
    return Row(
        benchmark="formats", variant=peer.title, page_cache="warm", unit="images/s",
        settings={
            "format": each.name, "pipeline": PIPELINE, "size": case.size, "workers": case.cores,
            "batch_size": case.batch_size,
        },
        reference=each.own.name if against and sample else None,
        also={"MiB_memory": outcome.first["memory_mib"]} if outcome.first else {},
        note="; ".join([*failed, *versions, peer.how]),
        **(measured(sample, against) if sample else NOTHING), **common,
    )  # fmt: skip


def _rates(outcome: Outcome) -> Sample | None:
    rates: Sequence[float] = [epoch["images"] / epoch["seconds"] for epoch in outcome.epochs]
    return Sample(tuple(rates)) if rates else None


def _say(text: str) -> None:
    print(f"formats: {text}", file=sys.stderr, flush=True)
