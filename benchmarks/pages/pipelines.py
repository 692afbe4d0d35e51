"""`python -m benchmarks pipelines`: the page docs/pipelines.md, which public pipelines run
natively, and why the others do not.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.utils.data
from PIL import Image
from timm.data.dataset import ImageDataset
from torchvision import datasets

import fastload
from benchmarks.pages import pipelines_newer_user as newer
from benchmarks.pages import pipelines_user as user
from benchmarks.pages.pipelines_parts import Pipeline
from benchmarks.pages.pipelines_table import PIPELINES
from benchmarks.pages.wrapping import wrapped
from benchmarks.report import row
from benchmarks.report.table import footnote
from fastload.loader import tiers
from fastload.lowering.arrays import ARRAYS
from fastload.lowering.folders import FILES

HEAD = """# Pipelines

Public training and evaluation pipelines, as `fastload.DataLoader` takes them with one import
changed. Four columns say what they gain:

- *tier*. **1**: the native engine. **2** and **3**: PyTorch's own engine, with the same batches.
  `loader.explain()` says which one a loader is in, what that gains, and what would lift it.
- *runs natively*. **all**: threads of the native engine, with the pixels that torchvision and timm
  give on PIL images for the same draws (tests/lowering/test_pipelines.py). Else what stands here is
  native in PyTorch's workers: [the decoding](images.md#in-a-dataloader) of the JPEGs that the
  pipeline opens, and in tier 2 its last steps.
- *times PyTorch*: images/s by those of PyTorch's own loader, with as many workers and the same
  data, and the 95 % interval. Below the table stands how it was measured
  (`python -m benchmarks gains`).
- *why not all*: what `loader.explain()` says.

Generated: `python -m benchmarks pipelines`.

| pipeline | source | px | tier | runs natively | times PyTorch | why not all |
|---|---|---|---|---|---|---|
"""
MEASURED = (
    "fastload has seen the folder once, in its first epoch, and collected its "
    "[seek index](how-decoding-works.md). {facts}"
)
READ = """
## Data sets that are read natively

"""
DATA_SETS = (
    "{datasets}; besides `torch.utils.data.Subset` (also from `random_split`) and "
    "`ConcatDataset` of them with one transform, `fastload.open`, and "
    "`fastload.from_huggingface`. These classes themselves, with the library's own methods, "
    "loader and no `target_transform`."
)
NOTES = """

**A data set class of your own**, also one that extends `ImageFolder`, is read from the source of
its `__getitem__` and `__len__`. It may look the sample up in lists, arrays, tuples, dictionaries
and pandas' tables (`iloc`, `loc`, `df["column"]`, rows and their columns). It may make its path of
texts, numbers and the sample's number (`os.path.join`, f-strings, `%`, methods of texts,
`pathlib`), and open it (`Image.open(…).convert("RGB")`, torchvision's loaders). It may call
transforms, and return the image or its views with any numbers and texts of the sample beside them:
labels, scores, the path, the sample's number, also as `torch.tensor(…)`, in tuples, lists and
dictionaries. It may calculate these and choose them by each other (`1 if "dog" in name else 0`).
What else it does leaves it to PyTorch's engine, and `loader.explain()` says what that is.

timm's `create_loader`: give what it returns to `fastload.accelerate`; its `PrefetchLoader` stays
around the loader, and normalises and erases on the device as before. timm passes over files that
cannot be decoded; fastload ends the epoch with the file's name.

Transforms of torchvision (both APIs) and timm that have an op: see [ops.md](ops.md); also
`Compose`, `Sequential`, lists, `Identity`, `RGB`, `ToPureTensor`, `RandomApply`, `RandomChoice` and
`RandomOrder`.

Functions, `Lambda` and classes of one's own are followed where every step of their source has a
meaning: other transforms, lists, dictionaries and stacks of views, loops over them,
`convert("RGB")`, Pillow's blur, `ImageOps`, torchvision's functions of flips and tensors, sums and
products of a tensor and numbers, `super()` of a transform, and uniform numbers of `random`, NumPy
and torch, also in an `if`. All else stays with PyTorch's engine, and the last column has the first
step that has no meaning ([how](internals/lowering.md)).
"""
MADE = 4  # images
NONE = "–"
NO_REASON = ("tier ", "seek index: ")  # what begins so in `explain()`
IN_MEMORY = ("CIFAR10", "MNIST")  # data sets of arrays


def page() -> str:
    """docs/pipelines.md."""
    measured = row.latest(row.read(row.RESULTS / "gains.jsonl"))
    gains = {one.settings["pipeline"]: times(one) for one in measured if one.reference}
    with tempfile.TemporaryDirectory(prefix="fastload-pipelines-") as scratch:
        make_folder(Path(scratch))
        lines = "".join(
            line(pipeline, *explain(pipeline, scratch), gains.get(pipeline.name, NONE))
            for pipeline in PIPELINES
        )
    named = sorted({*ARRAYS, *(name for finders in FILES.values() for name in finders)})
    listed = ", ".join(f"`{name}`" for name in named if name != "ImageDataset")
    named_all = f"torchvision's {listed}, timm's `ImageDataset` of a folder"
    said = (MEASURED.format(facts=footnote(measured)), ranges()) if measured else ()
    how = "".join(f"\n{wrapped(paragraph)}\n" for paragraph in said)
    return HEAD + lines + how + READ + wrapped(DATA_SETS.format(datasets=named_all)) + NOTES


def ranges() -> str:
    """The table's rates, by tier: as `DataLoader.explain` says them."""
    said = "; ".join(
        f"tier {tier}: {gain.range}"
        + (f", {gain.middle} in the middle" if gain.pipelines > 1 else "")
        + f" ({gain.pipelines} measured)"
        for tier, gain in sorted(tiers.GAINS.items())
    )
    small = "; ".join(f"tier {tier}: {gain.range}" for tier, gain in tiers.GAINS_IN_MEMORY.items())
    return f"From the lowest to the highest: {said}. Images of CIFAR's size are apart ({small})."


def times(one: row.Row) -> str:
    return f"{one.ratio:.2f} ({one.ratio_low:.2f} to {one.ratio_high:.2f})"


def line(pipeline: Pipeline, runs: str, reasons: list[str], gain: str) -> str:
    why = "; ".join(reason.replace("|", "\\|") for reason in reasons)
    cells = (pipeline.name, pipeline.source, pipeline.size, tier(runs), runs, gain, why)
    return "| " + " | ".join(map(str, cells)) + " |\n"


def tier(runs: str) -> str:
    """As `DataLoader.explain` counts them."""
    if runs == "**all**":
        return "1"
    return NONE if runs == NONE else "3" if runs == "decoding" else "2"


def explain(pipeline: Pipeline, folder: str) -> tuple[str, list[str]]:
    """What runs natively, and why not all of it.

    Raises AssertionError if neither PyTorch nor the native engine runs it.
    """
    first, *lines = (
        fastload.DataLoader(dataset(pipeline, folder, pipeline.size), MADE).explain().splitlines()
    )
    if first.startswith("backend native"):
        return "**all**", []
    if not first.startswith("PyTorch's own engine"):
        raise AssertionError(first)
    last = first.partition(" native ")[2].rstrip(":")
    parts = ["decoding"] * (pipeline.data not in IN_MEMORY) + [last] * bool(last)
    reasons = [text.strip() for text in lines]
    return ", ".join(parts) or NONE, [text for text in reasons if not text.startswith(NO_REASON)]


def make_folder(root: Path) -> None:
    rng = np.random.default_rng(0)
    for number in range(MADE):
        path = root / f"class{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (40 + number, 60 - number, 3), np.uint8)).save(path)


def dataset(pipeline: Pipeline, folder: str, size: int) -> Any:
    """The data set that the pipeline's script uses, over the images in `folder`."""
    return DATA[pipeline.data](folder, pipeline.make(size))


def in_memory(kind: str, *shape: int) -> Callable[[str, Any], Any]:
    """A data set of torchvision that holds arrays, without its files."""

    def make(_: str, transform: Any) -> Any:
        images = np.random.default_rng(0).integers(0, 256, (MADE, *shape), np.uint8)
        out = getattr(datasets, kind).__new__(getattr(datasets, kind))
        labels: Any = list(range(MADE))
        out.data, out.targets = (
            (images, labels)
            if len(shape) == 3
            else (torch.from_numpy(images), torch.tensor(labels))
        )
        out.root, out.transform, out.target_transform, out.transforms = "", transform, None, None
        return out

    return make


def segmentation(_: str, transform: Any) -> Any:
    out = datasets.VOCSegmentation.__new__(datasets.VOCSegmentation)
    out.transforms, out.images = transform, []
    return out


def subset(folder: str, transform: Any) -> Any:
    return torch.utils.data.Subset(datasets.ImageFolder(folder, transform), range(MADE - 1))


DATA: dict[str, Callable[[str, Any], Any]] = {
    "CIFAR10": in_memory("CIFAR10", 32, 32, 3),
    "ImageDataset": lambda folder, transform: ImageDataset(folder, transform=transform),
    "ImageFolder": datasets.ImageFolder,
    "MNIST": in_memory("MNIST", 28, 28),
    "MultiCropFolder": user.MultiCropFolder,
    "Subset": subset,
    "VOCSegmentation": segmentation,
    **{
        kind.__name__: kind
        for kind in (
            newer.ByOpenCV,
            newer.ByTorchvision,
            newer.ForTrainer,
            newer.FromBytes,
            newer.FromTable,
            newer.SixteenBits,
            newer.ThroughOpenCV,
            newer.WithBoxes,
        )
    },
}
