"""Facts of the machine and the libraries, kept beside every result."""

import os
import platform

import PIL
import torch

from fastload.spec import Json
from fastload.system.machine import cpu_model, usable_cores


def facts() -> Json:
    """What a reader needs to compare two reports; null where unknown."""
    return {
        "cpu": cpu_model(),
        "usable_cores": usable_cores(),
        "load_average_1_min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "pillow": PIL.__version__,
    }
