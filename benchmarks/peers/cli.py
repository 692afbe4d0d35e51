"""`python -m benchmarks peers`: what it is asked for, and its tables in turn; a table's rows are
kept as soon as it is done.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fastload
from benchmarks.peers import data, rows, setup
from benchmarks.peers.catalogue import PEERS, Peer, chosen
from benchmarks.peers.process import ROOT
from benchmarks.peers.run import Case, measure
from benchmarks.report import facts, row, table
from fastload.cli.output import progress
from fastload.errors import UsageError

TABLES = ("main", "cold", "first", "png", "png_full", "webp", "large", "growth")
NO_JPEGS = ("png", "png_full", "webp")  # tables of other images
NEW = ("first", "growth")  # tables of folders that nobody has seen, nor converted
PLAIN, RANDAUGMENT = "crop, flip", "crop, flip, RandAugment"
PROMISED = 2  # times as many turns of the case that README's ratios are of
ENTRIES = (1000, 10_000, 100_000, 1_280_000)
MADE = 1000  # images, where no data are given
COPIES = 3  # of each image, in first epochs: so a loader's start is a small part of them


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--setup",
        action="store_true",
        help="first make the peers' virtual environments that are missing, with pip",
    )
    verb.add_argument(
        "--environments", type=Path, default=ROOT / "build" / "peers", help="their folder"
    )
    verb.add_argument("--data", help="folder of classes; without it, generated images")
    verb.add_argument(
        "--name", help="what to call the data in the results; default: the folder's name"
    )
    verb.add_argument(
        "--only", nargs="+", default=[], metavar="PEER", help=", ".join(peer.name for peer in PEERS)
    )
    verb.add_argument(
        "--tables", nargs="*", default=list(TABLES), choices=TABLES, help="none: only set up"
    )
    verb.add_argument(
        "--cores", type=int, nargs="+", default=[1, 2], help="of the main table; the others use one"
    )
    turns = (
        "turns of each peer, of whole epochs; without policies twice as many; further tables: "
        "3 at most"
    )
    verb.add_argument("--repetitions", type=int, default=5, help=turns)
    verb.add_argument(
        "--entries",
        type=int,
        nargs="+",
        default=list(ENTRIES),
        help="of the folders of the table growth",
    )
    verb.add_argument(
        "--json", action="store_true", help="print the rows as JSON lines, not as tables"
    )
    verb.add_argument("--no-save", action="store_true", help="do not add the rows to the results")
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    peers = chosen(given.only)
    check(given)

    def say(text: str) -> None:
        print(f"peers: {text}", file=sys.stderr, flush=True)

    failed = setup.set_up(peers, given.environments, say) if given.setup else {}
    if not given.tables:
        return
    common = facts.common()
    # Not in the system's own folder for such: that may be memory, and hard links must stay on the
    # images' file system.
    parent = Path(given.data).resolve().parent if given.data else ROOT / "build"
    with tempfile.TemporaryDirectory(prefix="peers-", dir=_writable(parent)) as scratch:
        folder = given.data or _images(Path(scratch) / "images")
        name = given.name or (
            Path(folder).resolve().name if given.data else "fastload's demo images"
        )
        job = Job(
            given,
            peers,
            {peer.name: setup.python_of(peer, given.environments) for peer in peers},
            failed,
            common,
            Path(scratch),
        )
        results = []
        for made in job.tables(folder, name):
            results += made
            if not given.no_save:
                row.save(given.results / f"{made[0].benchmark}.jsonl", made)
    for name in [] if given.json else dict.fromkeys(made.benchmark for made in results):
        print(f"{name}:\n\n{table.every([made for made in results if made.benchmark == name])}")
    if given.json:
        print("\n".join(map(row.line, results)))


def check(given: argparse.Namespace) -> None:
    """Raise UsageError for what cannot be measured here."""
    most = len(os.sched_getaffinity(0))
    if wrong := [cores for cores in given.cores if not 1 <= cores <= most]:
        raise UsageError(
            f"--cores: {wrong[0]} (want 1 to {most}, the cores that this process may use); each "
            "worker has its core"
        )
    if given.repetitions < 1:
        raise UsageError(
            f"--repetitions: {given.repetitions} (want 1 or more); 5 or more give a useful interval"
        )


def suits(peer: Peer, table: str) -> bool:
    """Whether a table has a row of the peer: layers are of JPEGs, and a folder that is new has no
    second epoch.
    """
    if table in NEW and (peer.reads != "folder" or peer.name == "later"):
        return False
    return peer.only in ("", table) and (peer.reads != "layers" or table not in NO_JPEGS)


def _writable(parent: Path) -> Path:
    """The folder, or this checkout's build folder where that cannot be written."""
    try:
        with tempfile.TemporaryFile(dir=parent):
            return parent
    except OSError:
        (ROOT / "build").mkdir(exist_ok=True)
        return ROOT / "build"


def _images(out: Path) -> str:
    from fastload import demo_images
    from fastload.system import machine

    with progress("making images", MADE) as advance:
        demo_images.make_folder(out, MADE, workers=machine.usable_cores(), on_done=advance)
    return str(out)


class Job:
    """One run of the command: what all its tables share."""

    def __init__(
        self,
        given: argparse.Namespace,
        peers: Sequence[Peer],
        pythons: dict[str, str],
        failed: dict[str, str],
        common: Any,
        scratch: Path,
    ) -> None:
        self.given, self.peers, self.pythons, self.failed, self.common, self.scratch = (
            given,
            peers,
            pythons,
            failed,
            common,
            scratch,
        )

    def tables(self, folder: str, name: str) -> Iterator[list[row.Row]]:
        """The rows of one case after the other."""
        asked = self.given.tables
        if "main" in asked or "cold" in asked:
            main = self.prepared(folder, "main", name)
            if "main" in asked:
                for pipeline in (PLAIN, RANDAUGMENT):
                    for cores in self.given.cores:
                        yield self.rows(main, pipeline=pipeline, cores=cores)
            if "cold" in asked:
                yield self.rows(main, table="cold", cold=True)
        if "first" in asked:
            copies = data.copies(folder, self.scratch / "copies", COPIES)
            prepared = self.prepared(copies, "first", f"{name}, {COPIES} of each")
            yield self.rows(prepared, table="first", new=True)
        yield from self.others(folder, name)
        if "large" in asked:
            large = data.large_photos(folder, self.scratch / "large images")
            yield self.rows(
                self.prepared(large, "large", f"{name} side by side, 12 megapixels"),
                table="large",
                batch_size=8,
            )
        if "growth" in asked:
            for entries in self.given.entries:
                yield self.growth(folder, entries)

    def others(self, folder: str, name: str) -> Iterator[list[row.Row]]:
        """The same images in other formats: small PNGs; and fewer that are as large as they are."""
        kinds = [
            ("png", "as small PNGs", data.SMALL, 1000, 64),
            ("png_full", "as PNGs", None, 300, 224),
            ("webp", "as WebP of quality 80", None, 300, 224),
        ]
        for case, what, longest, most, size in kinds:
            if case in self.given.tables:
                made = data.others(
                    folder, self.scratch / f"{case} images", case.partition("_")[0], longest, most
                )
                prepared = self.prepared(made, case, f"{name} {what}")
                yield self.rows(prepared, table=case, size=size)

    def prepared(self, folder: str, subfolder: str, name: str) -> dict[str, Any]:
        """The images for all peers: fields of Case, and why preparing failed."""
        peers = [
            peer for peer in self.peers if peer.name not in self.failed and suits(peer, subfolder)
        ]
        paths, failed = data.prepare(folder, self.scratch / subfolder, peers, self.pythons)
        return {
            "data": paths,
            "images": len(fastload.open(folder).samples),
            "facts": facts.data_set(folder, name),
            "failed": failed,
        }

    def rows(self, prepared: dict[str, Any], **case: Any) -> list[row.Row]:
        made = (
            {"table": "", "pipeline": PLAIN, "cores": 1}
            | {k: v for k, v in prepared.items() if k != "failed"}
            | case
        )
        asked = Case(**made)
        peers = [
            peer
            for peer in self.peers
            if (peer.augments or not asked.augment) and suits(peer, asked.table)
        ]
        repetitions = min(3, self.given.repetitions) if asked.table else self.given.repetitions
        repetitions *= PROMISED if asked.pipeline == PLAIN and not asked.table else 1
        label = (
            f"{asked.table or 'main'}, {asked.pipeline}, {asked.cores} "
            f"core{'s' * (asked.cores > 1)}"
        )
        with progress(label, len(peers) * (repetitions + 1), "epochs") as advance:
            failed = self.failed | prepared["failed"]
            results = measure(
                asked,
                peers,
                self.pythons,
                failed,
                self.scratch / f"cache {label}",
                repetitions,
                advance,
            )
        return rows.rows(asked, peers, results, self.common)

    def growth(self, folder: str, entries: int) -> list[row.Row]:
        """Only peers that read folders: the others would need a file of all the bytes."""
        many = data.many(folder, self.scratch / f"{entries} entries", entries)
        peers = [peer for peer in self.peers if suits(peer, "growth")]
        case = Case("growth", PLAIN, 1, {peer.name: many for peer in peers}, entries, {}, once=True)
        with progress(f"growth, {entries} entries", len(peers), "peers") as advance:
            results = measure(
                case,
                peers,
                self.pythons,
                self.failed,
                self.scratch / f"cache {entries}",
                0,
                advance,
            )
        return rows.growth(case, peers, results, self.common)
