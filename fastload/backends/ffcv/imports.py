"""Importing ffcv without what that does to the program: it sets torch's and Numba's threads to one, and warns."""

import contextlib
import importlib
import warnings
from collections.abc import Iterator

import torch

from fastload.backends import ffcv
from fastload.errors import BackendError
from fastload.machine import INSTALL_FFCV


def load() -> None:
    """Import ffcv. Raises BackendError with what mends it."""
    if why := ffcv.problem():
        raise BackendError(f"backend ffcv: {why}")
    try:
        with threads_kept(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module("ffcv.loader")
    except (ImportError, OSError) as error:
        raise BackendError(f"backend ffcv: ffcv is installed and cannot be imported ({error}); {INSTALL_FFCV}") from error


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
