"""`python -m benchmarks NAME`. Rows go to results/NAME.jsonl, a table or JSON to stdout; `--help` lists the names."""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks import (
    augment,
    backends,
    convert,
    dali,
    dali_backends,
    decode,
    device,
    device_augment,
    device_decode,
    ffcv,
    loader,
    parity,
    plot,
    row,
    storage,
    table,
)
from benchmarks.peers import cli as peers
from benchmarks.verdict import cli as verdict
from fastload import demo_images, machine
from fastload.cli.output import progress
from fastload.errors import FastloadError

MADE = 1000  # images, where no data are given


def main(arguments: Sequence[str]) -> int:
    given = parser().parse_args(arguments)
    try:
        return int(given.run(given) or 0)
    except FastloadError as error:
        print("\n".join(f"benchmarks: {text}" for text in str(error).splitlines()), file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    verbs = out.add_subparsers(required=True, metavar="NAME")
    showing = argparse.ArgumentParser(add_help=False)
    showing.add_argument("--json", action="store_true", help="print the rows as JSON lines, not as a table")
    showing.add_argument("--no-save", action="store_true", help="do not add the rows to the results")
    measuring = argparse.ArgumentParser(add_help=False, parents=[showing])
    measuring.add_argument("--repetitions", type=int, default=5, help="of each variant, taking turns")
    add_loader(verbs.add_parser("loader", parents=[measuring], help="fastload against PyTorch's DataLoader, on the same cores"))
    add_dali(verbs.add_parser("dali", parents=[measuring], help="the DALI backends against a pipeline written by hand"))
    add_decode(verbs.add_parser("decode", parents=[measuring], help="one JPEG to a cropped, resized image on one core, by decoder"))
    beside = verbs.add_parser("ffcv", parents=[measuring], help="fastload against FFCV's loader on the same .beton files and cores")
    add_data(beside)
    beside.add_argument("--workers", type=int, nargs="+", default=[1], help="workers, and cores for all of a loader")
    beside.add_argument("--files", nargs="+", default=list(ffcv.FILES), choices=ffcv.FILES, help="JPEGs as they are, pixels")
    beside.set_defaults(run=run_ffcv)
    stored = verbs.add_parser("storage", parents=[measuring], help="fastload against PyTorch's DataLoader on cold and on slow storage")
    add_data(stored)
    stored.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="workers, and cores for all of a loader")
    stored.set_defaults(run=run_storage)
    converting = verbs.add_parser("convert", parents=[measuring], help="fastload convert against FFCV's writer and cp; memory of an index")
    add_data(converting)
    converting.add_argument("--workers", type=int, default=1, help="threads; FFCV: processes")
    converting.set_defaults(run=run_convert)
    augmenting = verbs.add_parser("augment", parents=[measuring], help="policies and their ops against torchvision, on one core")
    add_data(augmenting)
    augmenting.set_defaults(run=run_augment)
    dropin = verbs.add_parser(
        "dropin", parents=[measuring], help="the cost of the drop-in where it speeds nothing up, and of an epoch's start"
    )
    add_data(dropin)
    dropin.add_argument("--workers", type=int, default=2, help="worker processes or threads")
    dropin.set_defaults(run=run_dropin)
    add_on_gpu(verbs.add_parser("on_gpu", parents=[showing], help="whole loaders, peers and training on a GPU, a process each"))
    add_train(verbs.add_parser("train", parents=[showing], help="a network's accuracy by fastload, by PyTorch and by broken pipelines"))
    gpu = verbs.add_parser("gpu", parents=[measuring], help="STORE, AUGMENT, JPEG decoding and copies on the GPU")
    gpu.set_defaults(run=run_gpu, repetitions=20)
    peers.add(verbs.add_parser("peers", help="fastload against every other loader, which --setup installs, on the same images and cores"))
    verdict.add(
        verbs.add_parser("verdict", help="the profiler's verdict on trainings whose limit is known; goes on where it was broken off")
    )
    add_pages(verbs)
    for verb in verbs.choices.values():
        verb.add_argument("--results", type=Path, default=row.RESULTS, help="folder of the .jsonl files")
    return out


def add_pages(verbs: Any) -> None:
    """What is made of the results, and pages that are generated."""
    drawn = verbs.add_parser("plot", help="draw NAME.png and NAME.svg: the last machine and commit in NAME.jsonl")
    drawn.add_argument("names", nargs="*", help="benchmarks; default: all")
    drawn.set_defaults(run=run_plot)
    listed = verbs.add_parser("table", help="put the tables of the results into Markdown files")
    listed.add_argument("files", nargs="+", type=Path, help="with <!-- benchmarks: NAME --> markers")
    listed.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    listed.set_defaults(run=run_table)
    page = verbs.add_parser("ops", help="print docs/ops.md: every op, and how far its pixels are from torchvision's")
    page.set_defaults(run=run_ops)
    listed = verbs.add_parser("pipelines", help="print docs/pipelines.md: which public pipelines run natively, and why the others do not")
    listed.set_defaults(run=run_pipelines)
    asked = verbs.add_parser("backends", help="print docs/backends.md: what each backend that is installed can run")
    asked.set_defaults(run=run_backends)
    compared = verbs.add_parser("parity", help="print docs/parity.md: how far each backend's pixels are from the reference's")
    compared.set_defaults(run=run_parity)


def add_data(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--data", help="folder of classes; without it, generated images")
    verb.add_argument("--name", help="what to call the data in the results; default: the folder's name")


def add_loader(verb: argparse.ArgumentParser) -> None:
    add_data(verb)
    verb.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="workers, and cores for all of a loader")
    verb.add_argument("--outputs", nargs="+", default=list(loader.OUTPUTS), help="uint8, float32 (normalised), hot (that recipe's)")
    verb.add_argument("--batch-size", type=int, default=64)
    verb.set_defaults(run=run_loader)


def add_dali(verb: argparse.ArgumentParser) -> None:
    add_data(verb)
    verb.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="threads, and cores for all of a loader")
    verb.add_argument(
        "--outputs", nargs="+", default=list(dali_backends.OUTPUTS), choices=dali_backends.OUTPUTS, help="policy: RandAugment, float32"
    )
    verb.set_defaults(run=run_dali)


def add_decode(verb: argparse.ArgumentParser) -> None:
    add_data(verb)
    verb.add_argument("--size", type=int, default=decode.Settings.size, help="side of the output, px")
    verb.add_argument("--step", type=int, default=decode.Settings.step, help="MCUs per entry of the seek index, 0: rows only")
    verb.set_defaults(run=run_decode)


def add_on_gpu(verb: argparse.ArgumentParser) -> None:
    add_data(verb)
    verb.add_argument("--table", required=True, help="scaling, rates, peers, step, train_resnet50_mild, train_resnet18_hot, …")
    verb.add_argument("--limit", type=float, default=420, help="s after which no further variant is begun")
    verb.set_defaults(run=run_on_gpu)


def add_train(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--seeds", type=int, default=5, help="trainings of each pipeline")
    verb.add_argument("--epochs", type=int, default=24)
    verb.add_argument("--train-images", type=int, default=1000)
    verb.add_argument("--test-images", type=int, default=5000)
    verb.set_defaults(run=run_train)


@contextmanager
def images_of(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The folder to measure on, and what to call it."""
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        folder = given.data or make_images(Path(scratch) / "images")
        yield folder, given.name or (Path(folder).resolve().name if given.data else "fastload's demo images")


def run_loader(given: argparse.Namespace) -> None:
    settings = loader.Settings(tuple(given.workers), tuple(given.outputs), given.batch_size, repetitions=given.repetitions)
    note_peers()
    with images_of(given) as (folder, name), progress("loader", loader.epochs(settings), "epochs") as advance:
        show(loader.run(folder, name, settings, advance), given)


def run_storage(given: argparse.Namespace) -> None:
    settings = storage.Settings(tuple(given.workers), repetitions=given.repetitions)
    with images_of(given) as (folder, name), progress("storage", settings.turns, "epochs") as advance:
        show(storage.run(folder, name, settings, advance), given)


def run_ffcv(given: argparse.Namespace) -> None:
    settings = ffcv.Settings(tuple(given.workers), tuple(given.files), repetitions=given.repetitions)
    with images_of(given) as (folder, name), progress("ffcv", settings.turns, "epochs") as advance:
        show(ffcv.run(folder, name, settings, advance), given)


def run_convert(given: argparse.Namespace) -> None:
    settings = convert.Settings(given.workers, given.repetitions)
    with images_of(given) as (folder, name), progress("convert", settings.turns, "turns") as advance:
        show(convert.run(folder, name, settings, advance), given)


def run_dali(given: argparse.Namespace) -> None:
    settings = dali_backends.Settings(tuple(given.workers), tuple(given.outputs), repetitions=given.repetitions)
    with images_of(given) as (folder, name), progress("dali", dali_backends.epochs(settings), "epochs") as advance:
        show(dali_backends.run(folder, name, settings, advance), given)


def run_decode(given: argparse.Namespace) -> None:
    settings = decode.Settings(given.size, given.step, given.repetitions)
    settings.check()  # before images are made
    with images_of(given) as (folder, name):
        show(decode.run(folder, name, settings, lambda total: progress("decode", total, "passes")), given)


def run_augment(given: argparse.Namespace) -> None:
    note_peers()
    with images_of(given) as (folder, name), progress("augment", augment.turns(given.repetitions), "turns") as advance:
        show(augment.run(folder, name, given.repetitions, advance), given)


def run_dropin(given: argparse.Namespace) -> None:
    from benchmarks import dropin  # needs torchvision

    settings = dropin.Settings(given.workers, repetitions=given.repetitions)
    with images_of(given) as (folder, name), progress("dropin", dropin.turns(settings), "turns") as advance:
        show(dropin.run(folder, name, settings, advance), given)


def run_train(given: argparse.Namespace) -> None:
    from benchmarks import train  # needs torchvision

    settings = train.Settings(given.seeds, given.epochs, given.train_images, given.test_images)
    with progress("train", settings.seeds * len(train.PIPELINES), "trainings") as advance:
        show(train.run(settings, advance), given)


def run_on_gpu(given: argparse.Namespace) -> None:
    from benchmarks import gpu_tables

    gpu_tables.check(given.table)  # before images are made
    kept = None if given.no_save else given.results
    with images_of(given) as (folder, name):
        settings = gpu_tables.Settings(limit=given.limit)
        found = gpu_tables.run(given.table, folder, name, settings, kept, lambda text: print(text, file=sys.stderr, flush=True))
    if found:  # and kept, one by one
        print("\n".join(map(row.line, found)) if given.json else table.every(found))
    if given.table == "step" and found and found[0].median:
        print(gpu_tables.rates_toml(found[0]))


def run_gpu(given: argparse.Namespace) -> None:
    keep = bool if given.no_save else lambda rows: row.save(given.results / "gpu.jsonl", rows)
    show(device.run(given.repetitions, lambda: chain(device_augment.cases(), device_decode.cases()), keep), given)


def run_plot(given: argparse.Namespace) -> None:
    for path in [given.results / f"{name}.jsonl" for name in given.names] or sorted(given.results.glob("*.jsonl")):
        for written in plot.draw(row.latest(row.read(path)), path.with_suffix("")):
            print(written)


def run_table(given: argparse.Namespace) -> bool:
    changed = [path for path in given.files if table.update(path, given.results, check=given.check)]
    for path in changed:
        print(f"{path}: {'out of date' if given.check else 'updated'}")
    return bool(given.check and changed)


def run_ops(given: argparse.Namespace) -> None:
    from benchmarks import ops  # needs torchvision

    print(ops.page(), end="")


def run_pipelines(given: argparse.Namespace) -> None:
    from benchmarks import pipelines  # needs torchvision and timm

    print(pipelines.page(), end="")


def note_peers() -> None:
    if "dali" not in loader.present():
        print(f"benchmarks: {dali.MISSING}", file=sys.stderr)


def run_backends(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="fastload-backends-") as scratch:
        print(backends.page(Path(scratch)), end="")


def run_parity(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="fastload-parity-") as scratch, progress("parity", parity.count(), "cases") as advance:
        print(parity.page(Path(scratch), advance), end="")


def make_images(folder: Path) -> str:
    with progress("making images", MADE) as advance:
        demo_images.make_folder(folder, MADE, workers=machine.usable_cores(), on_done=advance)
    return str(folder)


def show(found: Sequence[row.Row], given: argparse.Namespace) -> None:
    if not given.no_save:
        row.save(given.results / f"{found[0].benchmark}.jsonl", found)
    print("\n".join(map(row.line, found)) if given.json else table.every(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
