"""Loaders whose metrics are exported."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fastload
from fastload import transforms as T

Make = Callable[..., "fastload.DataLoader[Any]"]


@pytest.fixture
def make(folder: str) -> Make:
    """A loader of the folder's 40 images, in batches of 8."""

    def made(**more: object) -> "fastload.DataLoader[Any]":
        data = fastload.open(folder, [T.RandomResizedCrop(24), T.ToImage()])
        return fastload.DataLoader(data, **{"batch_size": 8, "num_workers": 1, **more})

    return made


@pytest.fixture(autouse=True)
def no_thread_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """Exporters end all their threads. wandb's own stay."""
    before = set(threading.enumerate())
    yield
    if request.node.get_closest_marker("long"):
        return
    left = {one.name for one in set(threading.enumerate()) - before if one.is_alive()}
    assert not [name for name in left if not name.startswith("fastload-feeder")]
