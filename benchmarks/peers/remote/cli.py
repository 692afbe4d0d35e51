"""`python -m benchmarks remote`: fastload and its peers over a link of 50 ms and 1 Gbit/s."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import fastload
from benchmarks.peers import setup
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.process import ROOT
from benchmarks.peers.remote import link
from benchmarks.peers.remote.catalogue import LINK, LOADERS
from benchmarks.peers.remote.rows import rows
from benchmarks.peers.remote.run import LATENCY, RATE, Case, measure, prepare
from benchmarks.report import facts, row, table
from fastload import demo_images
from fastload.cli.output import progress
from fastload.errors import UsageError
from fastload.system import machine

MADE = 1000  # images, where no data are given
CASES = {
    "link": ("crop, flip", 2, 224, LINK),  # the link is the limit
    "loader": ("crop, flip, RandAugment", 1, 448, "local"),  # the link carries what it makes
}


def add(verb: argparse.ArgumentParser) -> None:
    names = ", ".join(each.name for each in LOADERS)
    verb.add_argument("--data", help="folder of classes; without it, generated images")
    verb.add_argument("--name", help="what to call the data in the results")
    verb.add_argument("--copies", type=int, default=4, help="of each image, so that epochs last")
    verb.add_argument("--only", nargs="+", default=[], metavar="LOADER", help=names)
    verb.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    verb.add_argument("--setup", action="store_true", help="first make missing environments")
    verb.add_argument("--environments", type=Path, default=ROOT / "build" / "peers")
    verb.add_argument(
        "--served", type=Path, help="what the store has; a folder that is there is used again"
    )
    verb.add_argument("--prepare", action="store_true", help="fill --served, and measure nothing")
    verb.add_argument("--repetitions", type=int, default=3)
    verb.add_argument("--json", action="store_true", help="print the rows as JSON lines")
    verb.add_argument("--no-save", action="store_true", help="do not add the rows to the results")
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    peers = _chosen(given.only)
    failed = setup.set_up(peers, given.environments, _say) if given.setup else {}
    peers = [peer for peer in peers if peer.name not in failed]
    pythons = {peer.name: setup.python_of(peer, given.environments) for peer in peers}
    common = facts.common()
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="remote-", dir=ROOT / "build") as scratch:
        served = given.served or Path(scratch) / "served"
        folder = _folder(given, Path(scratch), served)
        prepare(str(folder), served, peers, pythons)
        if given.prepare:
            return
        name = given.name or (Path(given.data).name if given.data else "fastload's demo images")
        common["data"] = facts.data_set(str(served / "images"), f"{name}, {given.copies} times")
        results = []
        for case in given.cases:
            results += _case(case, given, peers, pythons, served, Path(scratch), common)
    if not given.no_save:
        row.save(given.results / "remote.jsonl", results)
    print("\n".join(map(row.line, results)) if given.json else table.every(results))


def _case(
    name: str, given: argparse.Namespace, peers: list[Peer], pythons: dict[str, str], served: Path,
    scratch: Path, common: dict[str, object],
) -> list[row.Row]:  # fmt: skip
    pipeline, workers, size, reference = CASES[name]
    case = Case(pipeline, served, workers, size, reference)
    with (
        link.serving(served, LATENCY, RATE) as store,
        progress(name, len(peers) * given.repetitions, "turns") as advance,
    ):
        outcomes = measure(case, peers, pythons, store, scratch / name, given.repetitions, advance)
    return rows(case, peers, outcomes, common)


def _folder(given: argparse.Namespace, scratch: Path, served: Path) -> Path:
    """The images, so many times over, in folders of classes."""
    if (served / "images").exists():
        return served / "images"
    source = Path(given.data) if given.data else scratch / "made"
    if not given.data:
        demo_images.make_folder(source, MADE, workers=machine.usable_cores())
    out = scratch / "images"
    for path, label in fastload.open(str(source)).samples:
        for copy in range(given.copies):
            target = out / f"{label:05}" / f"{copy}-{Path(path).name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return out


def _chosen(names: list[str]) -> list[Peer]:
    known = {peer.name: peer for peer in LOADERS}
    if wrong := [name for name in names if name not in known]:
        raise UsageError(f"--only: {wrong[0]} is no loader; want some of {', '.join(known)}")
    return [peer for peer in LOADERS if not names or peer.name in names]


def _say(text: str) -> None:
    print(f"remote: {text}", file=sys.stderr, flush=True)
