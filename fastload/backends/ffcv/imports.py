"""Importing ffcv without what that does to the program: it sets torch's and Numba's threads to one,
and warns.
"""

import contextlib
import functools
import importlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from fastload.backends.ffcv import installed as ffcv_installed
from fastload.errors import BackendError
from fastload.system.machine import INSTALL_FFCV

DEFAULT_LAYERS = ["tbb", "omp", "workqueue"]  # Numba's, most wanted first
LAYERS = ["omp", "workqueue", "tbb"]


def load() -> None:
    """Import ffcv. Raises BackendError with what mends it."""
    if why := ffcv_installed.problem():
        raise BackendError(f"backend ffcv: {why}")
    try:
        ask_for_openmp()
        with threads_kept(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module("ffcv.loader")
    except (ImportError, OSError) as error:
        raise BackendError(
            f"backend ffcv: ffcv is installed and cannot be imported ({error}); {INSTALL_FFCV}"
        ) from error
    check_process()


def check_process() -> None:
    """Raise BackendError in a forked process where OpenMP's threads stayed in its parent:

    Numba would end it.
    """
    import numba

    layer: Any = numba
    if loaded_in() != os.getpid() and layer.threading_layer() == "omp":
        text = "the process was forked when Numba's OpenMP threads ran already"
        raise BackendError(
            f"backend ffcv: {text}; start processes by spawn, or use backend='native'"
        )


@functools.cache
def loaded_in() -> int:
    """The process that imported ffcv first."""
    return os.getpid()


def ask_for_openmp() -> None:
    """Numba's threads are OpenMP's, else its own; TBB's only where somebody chose them, or they run
    already.

    Numba would take TBB's first, where it is installed. At the end of Python it waits for TBB's
    threads (unload_tbb), and where the process was forked meanwhile, as FFCV's writer does, these
    may be gone: the program never ends.
    """
    import numba

    config: Any = numba.config
    chosen = any(
        name in os.environ for name in ("NUMBA_THREADING_LAYER", "NUMBA_THREADING_LAYER_PRIORITY")
    )
    if (
        not chosen
        and config.THREADING_LAYER == "default"
        and list(config.THREADING_LAYER_PRIORITY) == DEFAULT_LAYERS
    ):
        config.THREADING_LAYER_PRIORITY = LAYERS  # nothing happens where a layer runs


@contextlib.contextmanager
def threads_kept() -> Iterator[None]:
    """torch's and Numba's numbers of threads are afterwards what they were."""
    import numba

    before = torch.get_num_threads(), numba.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        numba.set_num_threads(before[1])
