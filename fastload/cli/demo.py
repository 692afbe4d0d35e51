"""`fastload demo`: the main job from end to end on generated pictures: load, compare with PyTorch,
convert, profile.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fastload.cli import output
from fastload.cli.demo_text import (
    FOLDER,
    SHARDS,
    TORCH,
    Loading,
    farewell,
    loading_table,
    profile_text,
    speed_ratio,
    verdict,
)
from fastload.cli.verbs import GPUS, Verb, old_names
from fastload.errors import UsageError
from fastload.files import cache
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.profiler import Report
    from fastload.recipes.rates import Rate

IMAGES, QUICK_IMAGES = 2000, 300
CLASSES = 20
BATCH, TURNS = 64, 8  # images at most; batches per worker at least
SIZE = 224  # px
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's
PROFILE_SECONDS = 8.0
INSTALL = 'pip install "fastload-torch[recipes]"'
INSTALL_SHARDS = 'pip install "fastload-torch[convert]"'

Say = Callable[..., None]
Images = Annotated[
    int | None,
    typer.Option(min=CLASSES, metavar="N", help=f"Pictures to generate; default: {IMAGES}."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Where to keep them; default: fastload/demo in your cache folder.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Of both loaders; default: one per usable core."),
]
Quick = Annotated[
    bool, typer.Option("--quick", help=f"Only {QUICK_IMAGES} pictures, half a minute in all.")
]
Assume = Annotated[
    str,
    typer.Option(
        metavar="GPU", help="GPU to assume in the profile: a100, h100 or h200.", autocompletion=GPUS
    ),
]


def register(app: typer.Typer) -> None:
    app.command("demo", cls=Verb, context_settings=old_names(out="output"))(demo)


def demo(
    images: Images = None,
    out: Out = None,
    workers: Workers = None,
    quick: Quick = False,
    assume: Assume = "h200",
    json_to: output.JsonTo = None,
) -> None:
    """Show on this machine what fastload does, with generated pictures.

    It takes minutes, and needs no GPU and no download.
    """
    from fastload.recipes import rates
    from fastload.system.machine import usable_cores

    begin, cores = time.perf_counter(), usable_cores()
    rate = rates.rate(assume)
    count, workers = images or (QUICK_IMAGES if quick else IMAGES), workers or cores
    batch = batch_size(count, workers)
    where, say = (out or cache_folder()).absolute(), _speaker(json_to)
    say(
        f"fastload demo: {count:,} ImageNet-like pictures, {workers} worker{'s' * (workers != 1)}, "
        f"{cores} core{'s' * (cores != 1)}, batches of {batch} at {SIZE} px\n"
    )
    folder = _make(where, count, cores, say)
    rows = compare(str(folder), count, workers, batch, say)
    shards = _convert(folder, where / f"shards-{count}", workers, say)
    data = shards or folder
    rows += _load_shards(shards, count, workers, batch)
    say(loading_table(rows))
    report = _profile(str(data), workers, rate)
    say(profile_text(report, rate.gpu))
    say(Text(f"\n{verdict(rows)}", style="bold"))
    say(farewell(where, data, time.perf_counter() - begin))
    settings = {
        "images": count, "workers": workers, "usable_cores": cores, "batch_size": batch,
        "size_px": SIZE, "folder": str(folder), "shards": shards and str(shards),
    }  # fmt: skip
    result = {**settings, **_speeds(rows), "profile": report.to_json()}
    output.emit({**result, "demo_s": time.perf_counter() - begin}, json_to)


def _speeds(rows: list[Loading]) -> dict[str, object]:
    return {
        "loading_img_per_s": [asdict(row) for row in rows],
        "ratio_folder": speed_ratio(rows, FOLDER),
        "ratio_shards": speed_ratio(rows, SHARDS),
        "verdict": verdict(rows),
    }


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/fastload/demo, by default in ~/.cache. Raises UsageError without a home."""
    where = cache.path("demo")
    if where.startswith("~"):
        raise UsageError(
            "demo: this user has no home folder to keep pictures in; give a folder with --output"
        )
    return Path(where)


def batch_size(count: int, workers: int) -> int:
    """Images of a batch, so that each worker gets enough batches.

    PyTorch's workers take whole batches, and fastload's threads share them. With few batches the
    comparison would be unfair.
    """
    return max(1, min(BATCH, count // (TURNS * workers)))


def _speaker(json_to: str | None) -> Say:
    """Prints step by step; nothing where stdout is for JSON."""

    def say(text: str | Any) -> None:
        if json_to != "-":
            output.put(Text(text) if isinstance(text, str) else text)

    return say


# --- the steps ---


def _make(where: Path, count: int, workers: int, say: Say) -> Path:
    from fastload import demo_images
    from fastload.conversion.units import human

    folder, begin = where / f"images-{count}", time.perf_counter()
    before = folder.exists()
    with output.progress("making pictures", count) as advance:
        demo_images.make_folder(folder, count, CLASSES, workers=workers, on_done=advance)
    size = sum(path.stat().st_size for path in folder.rglob("*.JPEG"))
    how = "kept from an earlier demo" if before else f"made in {time.perf_counter() - begin:.0f} s"
    say(f"Pictures   {human(size)} in {folder}, {how}")
    return folder


def compare(folder: str, count: int, workers: int, batch: int, say: Say) -> list[Loading]:
    """Two epochs with PyTorch's loader and two with fastload's, in turns.

    Without torchvision only fastload's loader runs.
    """
    import torch

    import fastload

    common: Json = {"batch_size": batch, "shuffle": True, "num_workers": workers}
    # Both epochs alike, and nothing is left in the cache
    plain: Json = {"seek_index": "use"}
    try:
        from torchvision import datasets, transforms
    except ImportError:
        say(
            "PyTorch    torchvision is not installed, so there is nothing to compare with; "
            f"{INSTALL}"
        )
        return _epochs(
            {FOLDER: fastload.DataLoader(fastload.open(folder, ops()), **plain, **common)}, count
        )
    crop = [transforms.RandomResizedCrop(SIZE), transforms.RandomHorizontalFlip()]
    dataset = datasets.ImageFolder(
        folder, transforms.Compose([*crop, transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    )
    loaders = {
        # First: it forks before there are threads.
        TORCH: torch.utils.data.DataLoader(dataset, persistent_workers=True, **common),
        FOLDER: fastload.DataLoader(dataset, **plain, **common),
    }
    return _epochs(loaders, count)


def ops() -> list[Any]:
    """The transform of the comparison, in fastload's own ops."""
    from fastload import transforms

    return [
        transforms.RandomResizedCrop(SIZE),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]


def _epochs(loaders: Json, count: int) -> list[Loading]:
    rates: dict[str, list[float]] = {name: [] for name in loaders}
    with output.progress("loading", 2 * count * len(loaders)) as advance:
        for _ in range(2):
            for name, loader in loaders.items():
                rates[name].append(_epoch(loader, advance))
    return [Loading(name, *images_per_s) for name, images_per_s in rates.items()]


def _epoch(loader: Iterable[Any], advance: Callable[..., None]) -> float:
    begin, done = time.perf_counter(), 0
    for images, _ in loader:
        done += len(images)
        advance(len(images))
    return done / (time.perf_counter() - begin)


def _convert(folder: Path, target: Path, workers: int, say: Say) -> Path | None:
    """Where the shards are; None without pyarrow, which their index needs."""
    if find_spec("pyarrow") is None:
        say(f"Converted  nothing, since pyarrow is not installed; {INSTALL_SHARDS}\n")
        return None
    from fastload.conversion import job
    from fastload.conversion.units import human

    begin = time.perf_counter()
    prepared = job.prepare(str(folder), str(target), job.Options(workers=workers, overwrite=True))
    with output.meter("converting", len(prepared.reader)) as advance:
        summary = job.run(prepared, advance)
    seconds = time.perf_counter() - begin
    shards = f"{summary.shards} shard{'s' * (summary.shards != 1)}"
    say(
        f"Converted  {human(summary.bytes)} in {shards}, {summary.samples / seconds:,.0f} "
        "images/s, each image checked\n"
    )
    return target


def _load_shards(shards: Path | None, count: int, workers: int, batch: int) -> list[Loading]:
    import fastload

    if shards is None:
        return []
    loader = fastload.DataLoader(
        fastload.open(str(shards), ops()), batch_size=batch, shuffle=True, num_workers=workers
    )
    return _epochs({SHARDS: loader}, count)


def _profile(data: str, workers: int, rate: "Rate") -> "Report":
    from fastload import recipes
    from fastload.profiler import job

    work = job.Job(
        recipes.load("hot"),
        data,
        rate.images_per_s,
        rate.describe(),
        workers=workers,
        seconds=PROFILE_SECONDS,
    )
    with output.progress("profiling recipe hot", None, "runs") as advance:
        return job.run(work, advance)


# --- what is said about them ---
