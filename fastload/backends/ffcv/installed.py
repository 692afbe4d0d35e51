"""Whether FFCV can be used here, as far as that is known without importing it."""

import ctypes
import importlib.util
from pathlib import Path

from fastload.system.distributions import version_of
from fastload.system.machine import FFCV, INSTALL_FFCV

NEEDS = ("ffcv", "numba")


def problem() -> str:
    """Why FFCV cannot be used here, and what mends it; "" if it can, as far as that is known
    without importing it.
    """
    for name in NEEDS:
        if (version := version_of(name)) is None:
            return f"{name} is not installed; {INSTALL_FFCV}"
        if name == "ffcv" and version != FFCV:
            return f"ffcv is {version}, want {FFCV}; {INSTALL_FFCV}"
    return ""


def unloadable() -> str:
    """Why ffcv's own library cannot be loaded, as where OpenCV or TurboJPEG has gone, and what
    mends it; "" if it can. Imports no ffcv.
    """
    spec = importlib.util.find_spec("ffcv")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for library in sorted(Path(folder).glob("_libffcv*.so")):
            try:
                ctypes.CDLL(str(library))
            except OSError as error:
                return (
                    f"ffcv is installed and its library cannot be loaded ({error}); {INSTALL_FFCV}"
                )
    return ""
