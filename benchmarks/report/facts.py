"""What a number is worth nothing without: the machine, the libraries, the commit, the data."""

import datetime as dt
import os
import platform
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import fastload
from fastload import _native
from fastload.cli import doctor
from fastload.system.distributions import version_of
from fastload.system.machine import cpu_model, memory_total, usable_cores

ROOT = Path(__file__).parents[2]
HEADERS = 5000  # files whose size in pixels is looked at


def machine() -> dict[str, Any]:
    """What stays when the software changes."""
    import torch

    return {
        "cpu": cpu_model(),
        "cores_usable": usable_cores(),
        "memory_gib": round(memory_total() / 2**30, 1),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def software() -> dict[str, Any]:
    return {
        "os": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": version_of("torch"),
        "torchvision": version_of("torchvision"),
        "dali": dali_version(),
        "ffcv": version_of("ffcv"),
        "numba": version_of("numba"),
        "pillow": doctor.pillow(),
        "targets": _native.targets(),
        "native": _native.versions(),
    }


def dali_version() -> str | None:
    """The version of the installed DALI; None where there is none."""
    try:
        return str(import_module("nvidia.dali").__version__)
    except ImportError:
        return None


def common() -> dict[str, Any]:
    """The fields that all rows of a run share; call it before measuring."""
    now = dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%d")
    return {
        "machine": machine(),
        "software": software(),
        "date": now,
        "load": round(os.getloadavg()[0], 2),
        **commit(),
    }


def commit() -> dict[str, Any]:
    """The checkout's commit; dirty if anything but results differs from it.

    FASTLOAD_COMMIT names it where there is no .git.
    """
    head = _git("rev-parse", "--verify", "HEAD") or os.environ.get("FASTLOAD_COMMIT")
    changed = _git("status", "--porcelain", "--", ".", ":!benchmarks/results")
    return {"commit": head or f"none, fastload {fastload.__version__}", "dirty": bool(changed)}


def data_set(folder: str, name: str) -> dict[str, Any]:
    """Facts about a folder of classes; sizes in bytes and pixels.

    The path itself is nobody's business.
    """
    paths = [path for path, _ in fastload.open(folder).samples]
    looked_at = paths[:: max(1, len(paths) // HEADERS)]
    return {
        "name": name,
        "images": len(paths),
        "mean_bytes": round(float(np.mean([Path(path).stat().st_size for path in looked_at]))),
        "mean_pixels": round(float(np.mean([_pixels(path) for path in looked_at]))),
    }


def _pixels(path: str) -> int:
    with Image.open(path) as image:
        return int(image.width * image.height)


def _git(*arguments: str) -> str:
    """Output of git here; empty where there is no git, no repository or no commit."""
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
