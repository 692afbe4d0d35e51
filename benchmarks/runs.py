"""What each verb of `python -m benchmarks` does."""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from benchmarks.augmentation import augment
from benchmarks.conversion import convert
from benchmarks.dali import backends as dali_backends
from benchmarks.decoding import decode
from benchmarks.decoding.settings import Settings as DecodeSettings
from benchmarks.ffcv import compare as ffcv
from benchmarks.gpu import augment as device_augment
from benchmarks.gpu import decode as device_decode
from benchmarks.gpu import device
from benchmarks.loaders import dali, limits, loader, overhead, storage
from benchmarks.pages import backends, headline, parity, results
from benchmarks.report import plot, row, table
from fastload import demo_images
from fastload.cli.output import progress
from fastload.system import machine

MADE = 1000  # images, where no data are given


@contextmanager
def images_of(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The folder to measure on, and what to call it."""
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        folder = given.data or make_images(Path(scratch) / "images")
        yield (
            folder,
            given.name or (Path(folder).resolve().name if given.data else "fastload's demo images"),
        )


def run_loader(given: argparse.Namespace) -> None:
    settings = loader.Settings(
        tuple(given.workers), tuple(given.outputs), given.batch_size, repetitions=given.repetitions
    )
    note_peers()
    with (
        images_of(given) as (folder, name),
        progress("loader", loader.epochs(settings), "epochs") as advance,
    ):
        show(loader.run(folder, name, settings, advance), given)


def run_storage(given: argparse.Namespace) -> None:
    settings = storage.Settings(tuple(given.workers), repetitions=given.repetitions)
    with (
        images_of(given) as (folder, name),
        progress("storage", settings.turns, "epochs") as advance,
    ):
        show(storage.run(folder, name, settings, advance), given)


def run_ffcv(given: argparse.Namespace) -> None:
    settings = ffcv.Settings(
        tuple(given.workers), tuple(given.files), repetitions=given.repetitions
    )
    with images_of(given) as (folder, name), progress("ffcv", settings.turns, "epochs") as advance:
        show(ffcv.run(folder, name, settings, advance), given)


def run_convert(given: argparse.Namespace) -> None:
    settings = convert.Settings(given.workers, given.repetitions, given.files)
    with (
        images_of(given) as (folder, name),
        progress("convert", settings.turns, "turns") as advance,
    ):
        show(convert.run(folder, name, settings, advance), given)


def run_dali(given: argparse.Namespace) -> None:
    settings = dali_backends.Settings(
        tuple(given.workers), tuple(given.outputs), repetitions=given.repetitions
    )
    with (
        images_of(given) as (folder, name),
        progress("dali", dali_backends.epochs(settings), "epochs") as advance,
    ):
        show(dali_backends.run(folder, name, settings, advance), given)


def run_decode(given: argparse.Namespace) -> None:
    settings = DecodeSettings(given.size, given.step, given.repetitions)
    settings.check()  # before images are made
    with images_of(given) as (folder, name):
        show(
            decode.run(folder, name, settings, lambda total: progress("decode", total, "passes")),
            given,
        )


def run_augment(given: argparse.Namespace) -> None:
    note_peers()
    with (
        images_of(given) as (folder, name),
        progress("augment", augment.turns(given.repetitions), "turns") as advance,
    ):
        show(augment.run(folder, name, given.repetitions, advance), given)


def run_dropin(given: argparse.Namespace) -> None:
    from benchmarks.loaders import dropin  # needs torchvision

    settings = dropin.Settings(given.workers, repetitions=given.repetitions)
    with (
        images_of(given) as (folder, name),
        progress("dropin", dropin.turns(settings), "turns") as advance,
    ):
        show(dropin.run(folder, name, settings, advance), given)


def run_gains(given: argparse.Namespace) -> None:
    from benchmarks.loaders import gains  # needs torchvision, timm and OpenCV

    names = tuple(given.pipelines or ("",))
    settings = gains.Settings(given.workers, repetitions=given.repetitions, names=names)
    settings.check()  # before images are made
    with (
        images_of(given) as (folder, name),
        progress("gains", gains.turns(settings), "turns") as advance,
    ):
        rows = []
        for one in gains.run(folder, name, settings, advance):
            rows.append(one)
            if not given.no_save:  # what was measured stays, whatever comes
                row.save(given.results / "gains.jsonl", [one])
    print("\n".join(map(row.line, rows)) if given.json else table.every(rows))


def run_limits(given: argparse.Namespace) -> bool:
    settings = limits.Settings(given.workers, given.batch_size, given.seconds, given.repetitions)
    settings.check()  # before images are made
    with images_of(given) as (folder, name), progress("limits", settings.turns, "runs") as advance:
        results = limits.run(folder, name, settings, advance)
    show(results, given)
    wrong = limits.broken(results)
    for text in wrong or ["all as claimed"]:
        print(f"benchmarks: limits: {text}", file=sys.stderr)
    return bool(wrong)


def run_overhead(given: argparse.Namespace) -> None:
    settings = overhead.Settings(
        tuple(given.batch_sizes), batches=given.batches, repetitions=given.repetitions
    )
    settings.check()  # before images are made
    with (
        tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch,
        progress("overhead", overhead.turns(settings), "runs") as advance,
    ):
        show(overhead.run(Path(scratch), settings, advance), given)


def run_exporting(given: argparse.Namespace) -> None:
    from benchmarks.loaders import exporting

    with progress("exporting", len(exporting.EVERY) * given.repetitions, "runs") as advance:
        show(exporting.run(given.repetitions, advance), given)


def run_beside(given: argparse.Namespace) -> None:
    from benchmarks.loaders import beside  # needs torchvision

    settings = beside.Settings(
        tuple(given.workers), tuple(given.batch_sizes), repetitions=given.repetitions
    )
    settings.check()  # before images are made
    with (
        images_of(given) as (folder, name),
        progress("beside", settings.turns, "turns") as advance,
    ):
        show(beside.run(folder, name, settings, advance), given)


def run_train(given: argparse.Namespace) -> None:
    from benchmarks.training import train  # needs torchvision

    settings = train.Settings(given.seeds, given.epochs, given.train_images, given.test_images)
    with progress("train", settings.seeds * len(train.PIPELINES), "trainings") as advance:
        show(train.run(settings, advance), given)


def run_on_gpu(given: argparse.Namespace) -> None:
    from benchmarks.gpu import tables as gpu_tables

    gpu_tables.check(given.table)  # before images are made
    kept = None if given.no_save else given.results
    with images_of(given) as (folder, name):
        settings = gpu_tables.Settings(limit=given.limit)
        results = gpu_tables.run(
            given.table,
            folder,
            name,
            settings,
            kept,
            lambda text: print(text, file=sys.stderr, flush=True),
        )
    if results:  # and kept, one by one
        print("\n".join(map(row.line, results)) if given.json else table.every(results))
    if given.table == "step" and results and results[0].median:
        print(gpu_tables.rates_toml(results[0]))


def run_gpu(given: argparse.Namespace) -> None:
    keep = bool if given.no_save else lambda rows: row.save(given.results / "gpu.jsonl", rows)
    show(
        device.run(
            given.repetitions, lambda: chain(device_augment.cases(), device_decode.cases()), keep
        ),
        given,
    )


def run_plot(given: argparse.Namespace) -> None:
    results = given.results
    for name in given.names or sorted(path.stem for path in results.glob("*.jsonl")):
        if name == "headline":
            written = headline.draw(headline.rows(results), results / name)
        else:
            written = plot.draw(row.latest(row.read(results / f"{name}.jsonl")), results / name)
        print(*written, sep="\n")


def run_table(given: argparse.Namespace) -> bool:
    changed = [
        path for path in given.files if results.update(path, given.results, check=given.check)
    ]
    for path in changed:
        print(f"{path}: {'out of date' if given.check else 'updated'}")
    return bool(given.check and changed)


def note_peers() -> None:
    if "dali" not in loader.present():
        print(f"benchmarks: {dali.MISSING}", file=sys.stderr)


def run_backends(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="fastload-backends-") as scratch:
        print(backends.page(Path(scratch)), end="")


def run_parity(given: argparse.Namespace) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="fastload-parity-") as scratch,
        progress("parity", parity.count(), "cases") as advance,
    ):
        print(parity.page(Path(scratch), advance), end="")


def make_images(folder: Path) -> str:
    with progress("making images", MADE) as advance:
        demo_images.make_folder(folder, MADE, workers=machine.usable_cores(), on_done=advance)
    return str(folder)


def show(results: Sequence[row.Row], given: argparse.Namespace) -> None:
    if not given.no_save:
        row.save(given.results / f"{results[0].benchmark}.jsonl", results)
    print("\n".join(map(row.line, results)) if given.json else table.every(results))
