"""Facts of the machine and the libraries, kept beside every result."""

import os
import platform
from typing import Any

import PIL
import torch


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def facts() -> dict[str, Any]:
    """What a reader needs to compare two reports; null where unknown."""
    return {
        "cpu": _cpu_name(),
        "usable_cores": cores(),
        "load_average_1_min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "pillow": PIL.__version__,
    }


def _cpu_name() -> str | None:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
            return next(names, None)
    except OSError:
        return platform.processor() or None
