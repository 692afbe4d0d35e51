"""A recipe's training step against the definitions it is built by, on the CPU with small images and
networks.
"""

import math
import sys
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from fastload import recipes
from fastload.errors import BackendError, UsageError
from fastload.recipes import model, optimizer
from fastload.recipes.schema import Sam
from fastload.recipes.step import TrainingStep

WHY = "is not installed (pip install 'fastload-torch[recipes]')"
pytest.importorskip("torchvision", reason=f"torchvision {WHY}")
pytest.importorskip("timm", reason=f"timm {WHY}")


def batch(classes: int = 10, height: int = 32, width: int = 40) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(3, 3, height, width, generator=generator),
        torch.tensor([1, 2, classes - 1]),
    ]


def small(name: str, network: str | None = "test_resnet", **changes: object) -> TrainingStep:
    torch.manual_seed(0)
    recipe = recipes.load(name)
    recipe = replace(recipe, training=replace(recipe.training, **changes))
    return TrainingStep(
        recipe,
        classes=10,
        device="cpu",
        model=network,
        images=recipe.training.global_batch_size * 4,
    )


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


def test_where_blurpool_goes():
    how = recipes.load("hot").training.blurpool
    network = model.plain("resnet50", 10)
    model.blur(network, how)
    names = [name for name, part in network.named_modules() if type(part).__name__ == "BlurPool2d"]
    convolutions = [
        f"layer{stage}.0.{where}.0" for stage in (2, 3, 4) for where in ("conv2", "downsample.0")
    ]
    assert names == ["maxpool.1", *convolutions]  # not the first convolution: it has 3 channels
    assert network.eval()(torch.zeros(1, 3, 32, 40)).shape == (1, 10)
    impulse = torch.zeros(1, 1, 5, 7)
    impulse[0, 0, 2, 3] = 16
    assert network.maxpool[1](impulse)[0, 0].tolist() == [
        [0, 0, 0, 0],
        [0, 2, 2, 0],
        [0, 0, 0, 0],
    ]  # every second of 1 2 1, 2 4 2, 1 2 1
    edge = torch.full((1, 1, 4, 4), 16.0)
    assert network.maxpool[1](edge)[0, 0].tolist() == [[9, 12], [12, 16]]  # black beyond the border


def test_blurring_after_the_convolution_keeps_sizes_too():
    network = model.plain("resnet18", 10)
    model.blur(
        network,
        replace(recipes.load("hot").training.blurpool, blur_first=False, replace_maxpools=False),
    )
    assert [type(part).__name__ for part in network.layer2[0].conv1] == ["Conv2d", "BlurPool2d"]
    assert network.layer2(torch.zeros(1, 64, 9, 12)).shape == (1, 128, 5, 6)


def test_stochastic_depth_is_composers():
    how = recipes.load("hot").training.stochastic_depth
    assert model.rates(how, 16) == pytest.approx([0.1 * block / 16 for block in range(1, 17)])
    images = torch.rand(4000, 1, 1, 1) + 1
    drop = model.DropSample(0.25)
    out = drop(images)
    kept = out != 0
    assert torch.equal(out[kept], images[kept])  # not scaled
    assert kept.float().mean() == pytest.approx(0.75, abs=0.03)
    torch.testing.assert_close(drop.eval()(images), images * 0.75)
    network = small("hot").model
    assert [type(block.bn2[1]).__name__ for block in network.layer4] == ["DropSample"]
    assert network.layer3[0].bn3[1].rate == pytest.approx(0.075)


def test_timms_drop_path_begins_with_none():
    how = recipes.load("timm-a1").training.stochastic_depth
    assert model.rates(how, 3) == pytest.approx([0, 0.025, 0.05])
    assert model.rates(replace(how, drop_distribution="uniform"), 2) == [0.05, 0.05]


def test_start_values():
    network = small("hot").model
    assert network.fc.bias.tolist() == [pytest.approx(-math.log(1000))] * 10
    weight = network.layer3[0].bn1.weight.detach().numpy()
    assert 0 <= weight.min() < 0.1 < 0.9 < weight.max() <= 1
    convolution = network.layer4[0].conv2.weight.detach()
    assert convolution.std() == pytest.approx(np.sqrt(2 / (9 * 96)), rel=0.02)  # Kaiming: fan in


@pytest.mark.parametrize(
    ("name", "smoothing"), [("mild", 0.08), ("nvidia-baseline", 0.1), ("timm-a1", 0.1)]
)
def test_losses(name, smoothing):
    step = small(name)
    outputs = torch.randn(4, 10, generator=torch.Generator().manual_seed(1))
    hard = torch.tensor([3, 0, 9, 9])
    soft = nn.functional.one_hot(hard, 10) * (1 - smoothing) + smoothing / 10
    if name == "nvidia-baseline":
        want = -(soft * torch.log_softmax(outputs, 1)).sum() / 4
    else:
        terms = soft * nn.functional.logsigmoid(outputs) + (1 - soft) * nn.functional.logsigmoid(
            -outputs
        )
        want = (
            -terms.sum() / 4 if name == "mild" else -terms.mean()
        )  # Composer sums the classes, timm does not
    torch.testing.assert_close(step.loss(outputs, hard), want)
    torch.testing.assert_close(
        step.loss(outputs, soft), want
    )  # the loader's labels are smoothed already


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


def test_networks_of_both_libraries_and_of_neither():
    assert model.plain("resnet10t", 7).num_classes == 7  # timm's
    with pytest.raises(UsageError) as caught:
        model.plain("resnet51", 10)
    assert (
        str(caught.value)
        == "step: model 'resnet51' is unknown (want one of torchvision's or timm's); is resnet50 "
        "meant?"
    )
    with pytest.raises(UsageError) as caught:
        TrainingStep(recipes.load("hot"), 10, "cpu", "squeezenet1_1")
    assert str(caught.value) == (
        "step: model 'squeezenet1_1' has no residual blocks for stochastic depth (want Bottleneck "
        "or BasicBlock); give a ResNet"
    )


@pytest.mark.parametrize("name", ["torchvision", "timm"])
def test_a_library_that_is_missing(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BackendError) as caught:
        small("hot")
    assert (
        str(caught.value)
        == f"step: a real training step needs {name} (not installed); pip install "
        "'fastload-torch[recipes]'"
    )
