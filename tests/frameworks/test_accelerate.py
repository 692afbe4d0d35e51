"""Accelerate: what `prepare` makes of a loader, and the same with fastload inside."""

import pytest
import torch

import fastload

from .helpers import CLASSES, FIXED, made, needs, network

needs("accelerate")

import accelerate  # noqa: E402
from accelerate.data_loader import (  # noqa: E402
    DataLoaderShard,
    prepare_data_loader,
    skip_first_batches,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def labels(loader):
    return [batch[1].tolist() for batch in loader]


def prepared(kind, folder, ranks=1, rank=0):
    """A loader as prepare makes it, with fastload inside unless the kind is torch."""
    given = (
        {"put_on_device": True} if ranks == 1 else {"num_processes": ranks, "process_index": rank}
    )
    loader = prepare_data_loader(
        made(kind, folder, shuffle=True, num_workers=1), torch.device("cpu"), **given
    )
    return loader if kind == "torch" else fastload.accelerate(loader)


def test_an_accelerators_loop(folder):
    accelerator = accelerate.Accelerator(cpu=True)
    model = network()
    theirs = made("native", folder, shuffle=True, num_workers=1)
    model, optimizer, ours = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), lr=0.1), theirs
    )
    assert fastload.accelerate(ours, seed=3) is ours
    assert type(ours) is DataLoaderShard
    assert ours in accelerator._dataloaders
    assert ours.explain().startswith("backend native, 1 threads")
    for _ in range(2):
        seen = []
        for images, target in ours:
            assert images.shape[1:] == (3, 16, 16)
            seen += accelerator.gather_for_metrics(target).tolist()
            with accelerator.accumulate(model):
                accelerator.backward(torch.nn.functional.cross_entropy(model(images), target))
                optimizer.step()
                optimizer.zero_grad()
        assert [seen.count(label) for label in range(CLASSES)] == [14, 13, 13]
        assert ours.end_of_dataloader


@pytest.mark.parametrize("kind", ["own", "native"])
@pytest.mark.parametrize(("ranks", "rank"), [(1, 0), (2, 0), (2, 1)])
def test_the_order_is_that_of_pytorchs_loader(kind, folder, ranks, rank):
    def run(one):
        torch.manual_seed(5)
        loader = prepared(one, folder, ranks, rank)
        return [len(loader), *(labels(loader) for _ in range(2))]

    assert run(kind) == run("torch")


@pytest.mark.parametrize("kind", ["own", "native"])
def test_skipped_batches(kind, folder):
    loader = made(kind, folder, FIXED)
    skipped = skip_first_batches(
        fastload.accelerate(prepare_data_loader(loader, torch.device("cpu"), put_on_device=True)), 2
    )
    assert labels(skipped) == labels(loader)[2:]
    assert labels(fastload.accelerate(skipped)) == labels(loader)[2:]
