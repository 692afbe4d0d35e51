"""What a worker sees of its data set, as torch tells it: an object that refuses changes, of a class
that torch has changed.
"""

from dataclasses import dataclass

import pytest
import torch.utils.data
from torch.utils.data._utils.worker import WorkerInfo

from fastload.loader import lazy_images
from fastload.order.seeding import Around
from fastload.state.workers import Shown


@dataclass(frozen=True, slots=True)
class SlottedInfo:
    """As torch's since 2.13."""

    id: int
    num_workers: int
    seed: int
    dataset: object


@pytest.mark.parametrize("kind", [WorkerInfo, SlottedInfo])
def test_a_worker_sees_the_users_data_set(monkeypatch, kind):
    info = kind(id=1, num_workers=2, seed=3, dataset="fastload's")
    monkeypatch.setattr(torch.utils.data, "get_worker_info", lambda: info)
    told = []
    Shown("the user's", told.append)(1)
    assert info.dataset == "the user's"
    assert told == [1]


@pytest.mark.parametrize("kind", [WorkerInfo, SlottedInfo])
def test_a_worker_that_opens_images_lazily_sees_it_too(monkeypatch, kind):
    data = [1, 2, 3]
    info = kind(id=1, num_workers=2, seed=3, dataset=Around(Around(data)))
    monkeypatch.setattr(lazy_images, "get_worker_info", lambda: info)
    monkeypatch.setattr(lazy_images, "_proved", lambda: False)  # this process is no worker
    told = []
    lazy_images.LazyWorker(told.append)(1)
    assert info.dataset is data
    assert told == [1]
