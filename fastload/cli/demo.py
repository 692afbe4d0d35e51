"""`fastload demo`: the main job from end to end on generated pictures: load, compare with PyTorch, convert, profile."""

import os
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fastload.cli import output

if TYPE_CHECKING:
    from fastload.profiler import Report
    from fastload.recipes.rates import Rate

IMAGES, QUICK_IMAGES = 2000, 300
CLASSES = 20
BATCH, TURNS = 64, 8  # images at most; batches per worker at least
SIZE = 224  # px
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's
TORCH, FOLDER, SHARDS = "PyTorch DataLoader", "fastload, same folder", "fastload, shards"
PROFILE_SECONDS = 8.0
INSTALL = 'pip install "fastload-torch[recipes]"'
PAD = " " * 9  # under the word VERDICT
CLEARLY = 1.05  # ratios nearer to 1 are noise, after one epoch each

Say = Callable[..., None]


@dataclass(frozen=True)
class Loading:
    """Two epochs of one loader, images/s."""

    variant: str
    first: float  # with the start of the workers; the first loader also fills the page cache
    second: float


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    images: Annotated[int | None, typer.Option(min=CLASSES, metavar="N", help=f"Pictures to make; default {IMAGES}.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to keep them; default: fastload/demo in your cache folder.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="For either loader; default one per usable core.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help=f"Only {QUICK_IMAGES} pictures, half a minute in all.")] = False,
    assume: Annotated[str, typer.Option(metavar="GPU", help="GPU to assume in the profile: a100, h100 or h200.")] = "h200",
    json_to: output.JsonTo = None,
) -> None:
    """Show on this machine, with made-up pictures, what fastload does. Takes minutes, needs no GPU and no download."""
    from fastload.machine import usable_cores
    from fastload.recipes import rates

    begin, rate = time.perf_counter(), rates.rate(assume)
    count, cores = images or (QUICK_IMAGES if quick else IMAGES), usable_cores()
    workers = workers or cores
    batch = batch_size(count, workers)
    where, say = (out or cache_folder()).absolute(), _speaker(json_to)
    say(f"fastload demo: {count:,} ImageNet-like pictures, {workers} workers, {cores} cores, batches of {batch} at {SIZE} px\n")
    folder = _make(where, count, cores, say)
    found = compare(str(folder), count, workers, batch, say)
    shards = _convert(folder, where / f"shards-{count}", workers, say)
    found.append(_load_shards(str(shards), count, workers, batch))
    say(_loading_table(found))
    report = _profile(str(shards), workers, rate)
    say(_profile_text(report, rate.gpu))
    say(Text(f"\n{verdict(found)}", style="bold"))
    say(_farewell(where, shards, time.perf_counter() - begin))
    result = {
        "images": count, "workers": workers, "usable_cores": cores, "batch_size": batch, "size_px": SIZE,
        "folder": str(folder), "shards": str(shards), "loading_img_per_s": [asdict(row) for row in found],
        "ratio_folder": _ratio(found, FOLDER), "ratio_shards": _ratio(found, SHARDS), "verdict": verdict(found),
        "profile": report.to_json(), "demo_s": time.perf_counter() - begin,
    }  # fmt: skip
    output.emit(result, json_to)


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/fastload/demo, by default in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fastload" / "demo"


def batch_size(count: int, workers: int) -> int:
    """PyTorch's workers take whole batches, fastload's threads share them: with few batches the comparison would be unfair."""
    return max(1, min(BATCH, count // (TURNS * workers)))


def _speaker(json_to: str | None) -> Say:
    """Prints step by step; nothing where stdout is for JSON."""

    def say(text: str | Any) -> None:
        if json_to != "-":
            output.results.print(Text(text) if isinstance(text, str) else text)

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
    """Two epochs each with PyTorch's loader and with fastload's, taking turns; without torchvision fastload's alone."""
    import torch

    import fastload

    common: dict[str, Any] = {"batch_size": batch, "shuffle": True, "num_workers": workers}
    plain: dict[str, Any] = {"seek_index": "use"}  # both epochs alike, and nothing is left in the cache
    try:
        from torchvision import datasets, transforms
    except ImportError:
        say(f"PyTorch    torchvision is not installed, so there is nothing to compare with; {INSTALL}")
        return _epochs({FOLDER: fastload.DataLoader(fastload.open(folder, ops()), **plain, **common)}, count)
    crop = [transforms.RandomResizedCrop(SIZE), transforms.RandomHorizontalFlip()]
    dataset = datasets.ImageFolder(folder, transforms.Compose([*crop, transforms.ToTensor(), transforms.Normalize(MEAN, STD)]))
    loaders = {
        TORCH: torch.utils.data.DataLoader(dataset, persistent_workers=True, **common),  # first: it forks before there are threads
        FOLDER: fastload.DataLoader(dataset, **plain, **common),
    }
    return _epochs(loaders, count)


def ops() -> list[Any]:
    """The transform of the comparison, in fastload's own ops."""
    from fastload import transforms

    return [transforms.RandomResizedCrop(SIZE), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]


def _epochs(loaders: dict[str, Any], count: int) -> list[Loading]:
    rates: dict[str, list[float]] = {name: [] for name in loaders}
    with output.progress("loading", 2 * count * len(loaders)) as advance:
        for _ in range(2):
            for name, loader in loaders.items():
                rates[name].append(_epoch(loader, advance))
    return [Loading(name, *found) for name, found in rates.items()]


def _epoch(loader: Iterable[Any], advance: Callable[..., None]) -> float:
    begin, done = time.perf_counter(), 0
    for images, _ in loader:
        done += len(images)
        advance(len(images))
    return done / (time.perf_counter() - begin)


def _convert(folder: Path, target: Path, workers: int, say: Say) -> Path:
    from fastload.conversion import job
    from fastload.conversion.units import human

    begin = time.perf_counter()
    prepared = job.prepare(str(folder), str(target), job.Options(workers=workers, overwrite=True))
    with output.meter("converting", len(prepared.reader)) as advance:
        summary = job.run(prepared, advance)
    seconds = time.perf_counter() - begin
    shards = f"{summary.shards} shard{'s' * (summary.shards != 1)}"
    say(f"Converted  {human(summary.bytes)} in {shards}, {summary.samples / seconds:,.0f} images/s, each image checked\n")
    return target


def _load_shards(shards: str, count: int, workers: int, batch: int) -> Loading:
    import fastload

    loader = fastload.DataLoader(fastload.open(shards, ops()), batch_size=batch, shuffle=True, num_workers=workers)
    return _epochs({SHARDS: loader}, count)[0]


def _profile(data: str, workers: int, rate: "Rate") -> "Report":
    from fastload import recipes
    from fastload.profiler import job

    work = job.Job(recipes.load("hot"), data, rate.images_per_s, rate.describe(), workers=workers, seconds=PROFILE_SECONDS)
    with output.progress("profiling recipe hot", None, "runs") as advance:
        return job.run(work, advance)


# --- what is said about them ---


def _ratio(found: list[Loading], variant: str) -> float | None:
    """Of second epochs, to PyTorch's; None without torchvision."""
    second = {row.variant: row.second for row in found}
    return second[variant] / second[TORCH] if TORCH in second else None


def _loading_table(found: list[Loading]) -> Any:
    def times(row: Loading) -> str:
        ratio = _ratio(found, row.variant)
        return "" if ratio is None else f"{ratio:.2f}x"

    rows = [(row.variant, f"{row.first:,.0f}", f"{row.second:,.0f}", times(row)) for row in found]
    return output.table(("images/s", "first epoch, with start-up", "second epoch", "ratio"), rows)


def _profile_text(report: "Report", gpu: str) -> Text:
    """The profile's first part, the verdict and what was assumed, wrapped to the terminal."""
    first, *rest = str(report).split("\n\n")[0].split("\n")
    width = output.results.width if output.results.is_terminal else 100
    lines = [line for long in rest for line in textwrap.wrap(long.strip(), width, initial_indent=PAD, subsequent_indent=PAD)]
    title = f"\nProfile of recipe hot, as if one {gpu} trained on this machine's cores\n"
    return Text.assemble(title, (first, "bold"), "\n", "\n".join(lines))


def verdict(found: list[Loading]) -> str:
    """One line, from second epochs; a loss is called one."""
    second = {row.variant: row.second for row in found}
    ours, ratio = second[FOLDER], _ratio(found, FOLDER)
    if ratio is None:
        return f"fastload loads {ours:,.0f} images/s here; install torchvision to compare it with PyTorch."
    rates = f"{ours:,.0f} against {second[TORCH]:,.0f} images/s, the same folder"
    if ratio > CLEARLY:
        return f"fastload loads {ratio:.1f} times as fast as PyTorch's DataLoader here ({rates})."
    return f"fastload is {'slower' if ratio < 1 / CLEARLY else 'no faster'} than PyTorch's DataLoader here ({rates})."


def _farewell(where: Path, shards: Path, seconds: float) -> str:
    return (
        f"Took {seconds:.0f} s. {where} may be deleted at any time.\n\n"
        "Next   in your script    from fastload import DataLoader\n"
        "       your images       fastload convert SRC DST\n"
        f"       the whole profile fastload profile --assume h200 --data {shards}"
    )
