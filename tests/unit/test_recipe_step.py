"""A recipe's training step against the definitions it is built by, on the CPU with small images and
networks.
"""

import math
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import nn

from fastload import recipes
from fastload.errors import UsageError
from fastload.recipes import optimizer
from fastload.recipes.settings import Sam

from .step_helpers import WHY, small

pytest.importorskip("torchvision", reason=f"torchvision {WHY}")
pytest.importorskip("timm", reason=f"timm {WHY}")


def batch(classes: int = 10, height: int = 32, width: int = 40) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(3, 3, height, width, generator=generator),
        torch.tensor([1, 2, classes - 1]),
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "network"),
    [
        ("hot", None),
        *(
            (name, "test_resnet")
            for name in ("mild", "medium", "baseline", "nvidia-baseline", "timm-a1", "pytorch-blog")
        ),
    ],
)
def test_a_step_trains(name, network):
    step = small(name, network)
    step.steps = 4  # the fifth: hot's with two gradients, and no longer with a rate of 0
    before = [p.detach().clone() for p in step.model.parameters()]
    loss = step(step.to_device(batch()))
    assert math.isfinite(loss)
    changed = [
        not torch.equal(old, new) for old, new in zip(before, step.model.parameters(), strict=True)
    ]
    assert sum(changed) > 0.7 * len(
        changed
    )  # what stands before a last norm that starts at 0 has to wait
    assert all(torch.isfinite(p).all() and p.grad is None for p in step.model.parameters())
    assert step.model.layer1[0].conv1.weight.is_contiguous(memory_format=step.layout)


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        # Composer: linear over 8 epochs, then half a cosine over the other 28
        (
            "mild",
            {
                0: 0,
                2: 0.25,
                7.5: 0.9375,
                8: 1,
                15: 0.5 + 0.5 * math.cos(math.pi / 4),
                22: 0.5,
                36: 0,
            },
        ),
        # NVIDIA: the same through each epoch, (epoch + 1) / 8 at first
        ("nvidia-baseline", {0: 0.125, 0.9: 0.125, 3: 0.5, 7: 1, 8.9: 1, 49: 0.5, 90: 0}),
        # FFCV: piecewise linear through (0, 1e-4), (2, 1), (88, 0)
        ("ffcv-rn50", {0: 1e-4, 1: 0.50005, 2: 1, 45: 0.5, 88: 0}),
        ("timm-a1", {0: 1e-4, 5: 1, 600: 1e-6 / 5e-3}),
        (
            "pytorch-blog",
            {0: 0.01, 1.5: 0.01 + 0.99 / 5, 5: 1, 302.5: (1 + math.cos(math.pi * 297 / 595)) / 2},
        ),
    ],
)
def test_learning_rates(name, rates):
    training = recipes.load(name).training
    found = {
        epoch: optimizer.share(
            training.schedule, training.optimizer.learning_rate, training.epochs, epoch
        )
        for epoch in rates
    }
    assert found == pytest.approx(rates, abs=1e-12)


def test_the_learning_rate_moves_with_every_step():
    step = small("mild")
    assert step.steps_per_epoch == 4
    rates = []
    for step.steps in range(3):
        rates.append(step.set_rate())
        assert [group["lr"] for group in step.optimizer.param_groups] == [rates[-1]] * len(
            step.optimizer.param_groups
        )
    assert rates == pytest.approx([0, 2.048 / 32, 2.048 / 16])


def test_decoupled_decay_is_composers():
    """w <- w (1 - rate / peak * decay), buffer <- momentum * buffer + gradient, w <- w - rate *
    buffer.
    """
    how = recipes.load("hot").training.optimizer
    layer = nn.Linear(3, 2)
    made = optimizer.make(layer, how)
    (weight, buffer), rates = (
        (layer.weight.detach().double().clone(), torch.zeros(2, 3, dtype=torch.float64)),
        (0.5, 2.048),
    )
    for rate, value in zip(rates, (1.0, -3.0), strict=True):
        layer.weight.grad, layer.bias.grad = torch.full((2, 3), value), torch.zeros(2)
        made.param_groups[0]["lr"] = rate
        made.step()
        buffer = 0.875 * buffer + value
        weight = weight * (1 - rate / 2.048 * 3e-4) - rate * buffer
    torch.testing.assert_close(layer.weight.detach(), weight.float(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("no_decay", "free"), [("nothing", 0), ("norm", 2), ("norm_and_bias", 4)])
def test_what_does_not_decay(no_decay, free):
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2))
    how = replace(recipes.load("nvidia-baseline").training.optimizer, no_decay=no_decay)
    groups = optimizer.make(network, how).param_groups
    assert {group["weight_decay"]: len(group["params"]) for group in groups} == {
        3.05e-5: 6 - free
    } | ({0.0: free} if free else {})


def test_sam_climbs_by_rho_and_comes_back():
    weight = nn.Parameter(torch.tensor([3.0, 4.0]))
    before, sam = weight.detach().clone(), Sam(rho=0.5, interval=5, epsilon=1e-12)
    (weight**2).sum().mul(
        32768
    ).backward()  # as float16's scaler has it: the length of the way is the same
    with optimizer.ascended([weight], sam) as moved:
        assert moved
        assert weight.grad is None
        torch.testing.assert_close(
            weight.detach(), torch.tensor([3.3, 4.4])
        )  # rho along (3, 4) / 5
        (weight**2).sum().backward()
    assert torch.equal(weight.detach(), before)
    torch.testing.assert_close(weight.grad, torch.tensor([6.6, 8.8]))


def test_sam_leaves_gradients_that_are_not_finite_to_the_scaler():
    weight = nn.Parameter(torch.tensor([3.0, 4.0]))
    weight.grad = torch.tensor([1.0, float("inf")])
    with optimizer.ascended([weight], Sam(0.5, 5, 1e-12)) as moved:
        assert not moved
    assert weight.tolist() == [3, 4]
    assert weight.grad.tolist() == [1, float("inf")]


def test_every_fifth_step_of_hot_computes_two_gradients(monkeypatch):
    step, passes = small("hot"), []

    def backward(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        passes.append(step.steps)
        step.model.fc.bias.grad = torch.ones(10)
        return torch.zeros(())

    monkeypatch.setattr(step, "_backward", backward)
    for step.steps in range(11):
        step._gradients(*batch())
    assert passes == [0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 9, 10]


def test_the_average_forgets_by_half_lives():
    step = small("mild")
    start = step.model.fc.weight.detach().clone()
    for parameter in step.model.parameters():
        parameter.data.add_(1.0)
    step.steps = 19
    step(step.to_device(batch()))
    kept = 2 ** (-20 / 100)  # Composer: 20 batches of a half-life of 100
    torch.testing.assert_close(
        step.evaluated.fc.weight, kept * start + (1 - kept) * step.model.fc.weight.detach()
    )
    step(step.to_device(batch()))  # the 21st changes nothing
    assert not torch.equal(step.evaluated.fc.weight, step.model.fc.weight)
    assert small("baseline").average is None


def test_a_step_goes_on_from_its_state():
    first = small("mild")
    first.steps = 19  # the average moves in the first of the two
    first(first.to_device(batch()))
    state = deepcopy(first.state_dict())
    second = small("mild")
    second.load_state_dict(state)
    losses = [step(step.to_device(batch())) for step in (first, second)]
    assert torch.equal(*losses)
    for one, other in ((first.model, second.model), (first.evaluated, second.evaluated)):
        assert all(
            torch.equal(a, b)
            for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True)
        )
    with pytest.raises(UsageError) as caught:
        second.load_state_dict({"steps": 1})
    assert (
        str(caught.value)
        == "step: the state has steps (want average, model, optimizer, scaler, steps); give a "
        "state of the same recipe"
    )
