"""More faults of tests.life.faults: masks, which Python's threads read, and FFCV's loop."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import fastload
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.conversion import beton_writer, readers
from tests.life.fault_cases import BATCH, OPS, case, ends, loader, stalled, switch, told


def with_masks(folder: Path, **options: Any) -> Any:
    """A loader of the images with a mask each; the masks end in .png."""
    for path in (folder / "images").rglob("*.jpg"):
        mask = folder / "masks" / path.parent.name / f"{path.stem}.png"
        mask.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(path) as image:
            Image.fromarray(np.full(image.size[::-1], int(path.stem), np.uint8)).save(mask)
    data = fastload.open(str(folder / "images"), OPS, masks=str(folder / "masks"))
    return fastload.DataLoader(
        data, BATCH, **{"shuffle": True, "seed": 1, "num_workers": 2} | options
    )


@case(shim=True, match=".png", calls="read")
def stalled_mask(folder: Path) -> str:
    return stalled(folder, with_masks(folder, timeout=3.0))


@case(shim=True, match=".png", calls="read")
def stalled_mask_at_exit(folder: Path) -> str:
    batches = with_masks(folder)
    switch(folder, "stall")

    def run() -> None:
        kept: Any = iter(batches)
        time.sleep(0.5)
        sys.exit(kept is None)

    return ends(run)


@case()
def a_named_pipe_in_a_masks_place(folder: Path) -> str:
    batches = with_masks(folder)
    path = sorted((folder / "masks").rglob("*.png"))[5]
    path.unlink()
    os.mkfifo(path)
    return told(batches) and "no error"


def by_ffcv(folder: Path) -> tuple[Any, Path]:
    """A loader by FFCV, and its file."""
    path = folder / "data.beton"
    beton_writer.run(
        readers.open_reader(str(folder / "images")), str(path), beton_writer.Options(workers=1)
    )
    return loader(path, backend="ffcv"), path


@case()
def a_beton_cut_off_under_ffcv(folder: Path) -> str:
    if ffcv_installed.problem():
        return "needs ffcv"
    batches, path = by_ffcv(folder)
    told(batches)
    os.truncate(path, 9000)
    return told(batches) and "no error"


@case(shim=True, match=".beton", calls="read")
def a_read_that_stalls_under_ffcv_at_exit(folder: Path) -> str:
    if ffcv_installed.problem():
        return "needs ffcv"
    batches, _ = by_ffcv(folder)
    ready = folder / "ready"

    def run() -> None:  # nothing of Numba's outlives a fork
        told(batches)
        switch(folder, "stall")
        kept: Any = iter(batches)
        time.sleep(0.5)
        ready.touch()
        sys.exit(kept is None)

    return ends(run, ready.exists)
