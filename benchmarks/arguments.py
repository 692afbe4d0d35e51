"""The arguments of every verb of `python -m benchmarks`."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks import more_arguments, runs
from benchmarks.conversion import convert
from benchmarks.dali import backends as dali_backends
from benchmarks.decoding.settings import Settings as DecodeSettings
from benchmarks.ffcv import compare as ffcv
from benchmarks.loaders import limits, loader, overhead
from benchmarks.more_arguments import add_data
from benchmarks.peers import cli as peers
from benchmarks.peers.formats import cli as formats
from benchmarks.peers.remote import cli as remote
from benchmarks.peers.remote import shuffles
from benchmarks.rows import cli as rows
from benchmarks.verdict import cli as verdict

if TYPE_CHECKING:  # what add_subparsers() returns has no public name
    Verbs = argparse._SubParsersAction[argparse.ArgumentParser]
Parser = argparse.ArgumentParser


def add_on_cpu(verbs: "Verbs", measuring: Parser) -> None:
    """Whole loaders, and single images."""
    add_loader(
        verbs.add_parser(
            "loader",
            parents=[measuring],
            help="fastload against PyTorch's DataLoader, on the same cores",
        )
    )
    add_dali(
        verbs.add_parser(
            "dali", parents=[measuring], help="the DALI backends against a pipeline written by hand"
        )
    )
    add_overhead(
        verbs.add_parser(
            "overhead",
            parents=[measuring],
            help="what the loader takes from the training process: CPU time of Python's threads",
        )
    )
    verbs.add_parser(
        "exporting", parents=[measuring], help="what exporters of metrics take from a training"
    ).set_defaults(run=runs.run_exporting)
    add_beside(
        verbs.add_parser(
            "beside",
            parents=[measuring],
            help="a step of small operators beside fastload and beside PyTorch's workers",
        )
    )
    add_decode(
        verbs.add_parser(
            "decode",
            parents=[measuring],
            help="one JPEG to a cropped, resized image on one core, by decoder",
        )
    )


def add_on_stored_files(verbs: "Verbs", measuring: Parser) -> None:
    """What depends on where and how images are stored."""
    add_ffcv(verbs, measuring)
    add_storage(verbs, measuring)
    add_convert(verbs, measuring)


def add_ffcv(verbs: "Verbs", measuring: Parser) -> None:
    beside = verbs.add_parser(
        "ffcv",
        parents=[measuring],
        help="fastload against FFCV's loader on the same .beton files and cores",
    )
    add_data(beside)
    add_workers(beside, (1,))
    beside.add_argument(
        "--files",
        nargs="+",
        default=list(ffcv.FILES),
        choices=ffcv.FILES,
        help="JPEGs as they are, pixels",
    )
    beside.set_defaults(run=runs.run_ffcv)


def add_storage(verbs: "Verbs", measuring: Parser) -> None:
    slow = "fastload against PyTorch's DataLoader on cold and on slow storage"
    stored = verbs.add_parser("storage", parents=[measuring], help=slow)
    add_data(stored)
    add_workers(stored)
    stored.set_defaults(run=runs.run_storage)


def add_convert(verbs: "Verbs", measuring: Parser) -> None:
    converting = verbs.add_parser(
        "convert",
        parents=[measuring],
        help="fastload convert against FFCV's writer and cp; memory of an index",
    )
    add_data(converting)
    converting.add_argument("--workers", type=int, default=1, help="threads; FFCV: processes")
    converting.add_argument(
        "--files",
        type=int,
        default=convert.Settings.files,
        help="names, at least; hard links where there are fewer",
    )
    converting.set_defaults(run=runs.run_convert)


def add_augmentation(verbs: "Verbs", measuring: Parser) -> None:
    """What transforms cost, natively and where the loader falls back."""
    of_ops = "policies and their ops against torchvision, on one core"
    augmenting = verbs.add_parser("augment", parents=[measuring], help=of_ops)
    add_data(augmenting)
    augmenting.set_defaults(run=runs.run_augment)
    for name, run, what in (
        ("dropin", runs.run_dropin, "the cost of the drop-in where it speeds nothing up"),
        ("gains", runs.run_gains, "what it gains: the pipelines of docs/pipelines.md"),
    ):
        dropped = verbs.add_parser(name, parents=[measuring], help=what)
        add_data(dropped)
        dropped.add_argument("--workers", type=int, default=2, help="worker processes or threads")
        dropped.set_defaults(run=run)
    dropped.add_argument("--pipelines", nargs="+", metavar="NAME", help="parts of their names")


def add_training(verbs: "Verbs", showing: Parser, measuring: Parser) -> None:
    """A network's training, and a GPU."""
    add_on_gpu(
        verbs.add_parser(
            "on_gpu",
            parents=[showing],
            help="whole loaders, peers and training on a GPU, a process each",
        )
    )
    add_train(
        verbs.add_parser(
            "train",
            parents=[showing],
            help="a network's accuracy by fastload, by PyTorch and by broken pipelines",
        )
    )
    gpu = verbs.add_parser(
        "gpu", parents=[measuring], help="STORE, AUGMENT, JPEG decoding and copies on the GPU"
    )
    gpu.set_defaults(run=runs.run_gpu)


def add_judged(verbs: "Verbs", measuring: Parser) -> None:
    """Every other loader, the recipes' claims, and the profiler's verdicts."""
    peers.add(
        verbs.add_parser(
            "peers",
            help="fastload against every other loader, which --setup installs, on the same images "
            "and cores",
        )
    )
    far = "fastload and its peers over an emulated link of 50 ms and 1 Gbit/s to a store"
    remote.add(verbs.add_parser("remote", help=far))
    in_place = "data sets of other libraries, opened in place, against their own loaders"
    formats.add(verbs.add_parser("formats", help=in_place))
    mixed = "how well orders mix that read neighbours together, fastload's and its peers'"
    shuffles.add(verbs.add_parser("shuffle", help=mixed))
    many = "what an index of 1 to 1,000 million images costs, at open and in use"
    rows.add(verbs.add_parser("rows", help=many))
    more_arguments.add(verbs, measuring)
    add_limits(
        verbs.add_parser(
            "limits",
            parents=[measuring],
            help="what hot and mild ask of a loader, and what each op of RandAugment costs",
        )
    )
    verdict.add(
        verbs.add_parser(
            "verdict",
            help="the profiler's verdict on trainings whose limit is known; goes on where it was "
            "broken off",
        )
    )


def add_workers(verb: Parser, counts: Sequence[int] = (1, 2), kind: str = "workers") -> None:
    about = f"{kind}, and cores for all of a loader"
    verb.add_argument("--workers", type=int, nargs="+", default=list(counts), help=about)


def add_loader(verb: Parser) -> None:
    add_data(verb)
    add_workers(verb)
    verb.add_argument(
        "--outputs",
        nargs="+",
        default=list(loader.OUTPUTS),
        help="uint8, float32 (normalised), hot (that recipe's)",
    )
    verb.add_argument("--batch-size", type=int, default=64)
    verb.set_defaults(run=runs.run_loader)


def add_overhead(verb: Parser) -> None:
    sizes = list(overhead.Settings.batch_sizes)
    verb.add_argument("--batch-sizes", type=int, nargs="+", default=sizes, help="samples")
    verb.add_argument(
        "--batches",
        type=int,
        default=overhead.Settings.batches,
        help="of one repetition; fewer where they are large",
    )
    verb.set_defaults(run=runs.run_overhead)


def add_beside(verb: Parser) -> None:
    add_data(verb)
    add_workers(verb)
    verb.add_argument("--batch-sizes", type=int, nargs="+", default=[16, 256], help="samples")
    verb.set_defaults(run=runs.run_beside)


def add_dali(verb: Parser) -> None:
    add_data(verb)
    add_workers(verb, kind="threads")
    verb.add_argument(
        "--outputs",
        nargs="+",
        default=list(dali_backends.OUTPUTS),
        choices=dali_backends.OUTPUTS,
        help="policy: RandAugment, float32",
    )
    verb.set_defaults(run=runs.run_dali)


def add_decode(verb: Parser) -> None:
    add_data(verb)
    verb.add_argument(
        "--size", type=int, default=DecodeSettings.size, help="side of the output, px"
    )
    verb.add_argument(
        "--step",
        type=int,
        default=DecodeSettings.step,
        help="MCUs per entry of the seek index, 0: rows only",
    )
    verb.set_defaults(run=runs.run_decode)


def add_limits(verb: Parser) -> None:
    add_data(verb)
    verb.add_argument("--workers", type=int, default=limits.Settings.workers)
    verb.add_argument("--batch-size", type=int, default=limits.Settings.batch_size)
    verb.add_argument(
        "--seconds",
        type=float,
        default=limits.Settings.seconds,
        help="of one run; a profile has 5 times that",
    )
    verb.set_defaults(run=runs.run_limits)


def add_on_gpu(verb: Parser) -> None:
    add_data(verb)
    verb.add_argument(
        "--table",
        required=True,
        help="scaling, rates, peers, step, train_resnet50_mild, train_resnet18_hot, …",
    )
    verb.add_argument(
        "--limit", type=float, default=420, help="s after which no further variant is begun"
    )
    verb.set_defaults(run=runs.run_on_gpu)


def add_train(verb: Parser) -> None:
    verb.add_argument("--seeds", type=int, default=5, help="trainings of each pipeline")
    verb.add_argument("--epochs", type=int, default=24)
    verb.add_argument("--train-images", type=int, default=1000)
    verb.add_argument("--test-images", type=int, default=5000)
    verb.set_defaults(run=runs.run_train)
