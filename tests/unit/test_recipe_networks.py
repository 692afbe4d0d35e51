"""What a recipe does to a network and its loss, against the definitions they are built by."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from fastload import recipes
from fastload.errors import BackendError, UsageError
from fastload.recipes import model
from fastload.recipes.step import TrainingStep

from .step_helpers import WHY, small

pytest.importorskip("torchvision", reason=f"torchvision {WHY}")
pytest.importorskip("timm", reason=f"timm {WHY}")


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
