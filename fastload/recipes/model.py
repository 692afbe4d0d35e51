"""A recipe's network: torchvision's or timm's, with the recipe's start values, BlurPool and
stochastic depth put in.
"""

import difflib
import importlib
from typing import Any

import torch
from torch import nn

from fastload.errors import BackendError, UsageError
from fastload.recipes.schema import Training
from fastload.recipes.settings import BlurPool, Init, StochasticDepth

BLOCKS = ("Bottleneck", "BasicBlock")  # residual blocks, as torchvision and timm call them


def build(training: Training, classes: int, name: str | None = None) -> nn.Module:
    """The network on the CPU in float32. name: another than the recipe's.

    Raises BackendError where torchvision or timm is missing, UsageError for a model that neither
    knows or that has no place for what the recipe puts in.
    """
    name = name or training.model
    model = plain(name, classes)
    if training.init:
        initialise(model, training.init)
    if training.stochastic_depth:
        _drop(model, training.stochastic_depth, name)
    if training.blurpool:
        blur(model, training.blurpool)
    return model


def library(name: str) -> Any:
    """torchvision or timm, imported now:

    `import fastload` shall not wait for them. Raises BackendError.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BackendError(
            f"step: a real training step needs {name} (not installed); pip install "
            "'fastload-torch[recipes]'"
        ) from error


def plain(name: str, classes: int) -> nn.Module:
    """torchvision's model of that name, else timm's; random weights."""
    torchvision, timm = library("torchvision"), library("timm")
    known = torchvision.models.list_models(torchvision.models)
    if name in known:
        ours: nn.Module = torchvision.models.get_model(name, num_classes=classes)
        return ours
    if timm.is_model(name):
        built: nn.Module = timm.create_model(name, num_classes=classes)
        return built
    near = difflib.get_close_matches(name, known, 1)
    hint = (
        f"is {near[0]} meant?"
        if near
        else "see torchvision.models.list_models() and timm.list_models()"
    )
    raise UsageError(
        f"step: model {name!r} is unknown (want one of torchvision's or timm's); {hint}"
    )


def initialise(model: nn.Module, init: Init) -> None:
    """Start values as Composer's:

    Kaiming's normal distribution, batch norm's weights from 0..1. Source: Composer 0.7.1,
    initializers.
    """
    classifier = None
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight)
            classifier = module if isinstance(module, nn.Linear) else classifier
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0, 1)
            nn.init.zeros_(module.bias)
    if init.classifier_bias and classifier is not None and classifier.bias is not None:
        nn.init.constant_(classifier.bias, init.classifier_bias)


def blur(model: nn.Module, how: BlurPool) -> None:
    """3 x 3 binomial blur, with a border of zeros, wherever the network subsamples.

    Source: Composer 0.7.1, algorithms/blurpool.
    """
    layer = library("timm.layers").BlurPool2d
    for path, module in list(model.named_modules()):
        if (
            isinstance(module, nn.Conv2d)
            and how.replace_convs
            and max(module.stride) > 1
            and module.in_channels >= how.min_channels
        ):
            _replace(model, path, _blurred(module, layer, first=how.blur_first))
        elif isinstance(module, nn.MaxPool2d) and how.replace_maxpools and _one(module.stride) > 1:
            dense = nn.MaxPool2d(
                module.kernel_size, 1, module.padding, module.dilation, ceil_mode=module.ceil_mode
            )
            _replace(
                model,
                path,
                nn.Sequential(dense, layer(None, 3, _one(module.stride), pad_mode="constant")),
            )


def _blurred(convolution: nn.Conv2d, layer: Any, *, first: bool) -> nn.Sequential:
    """Blurred before the strided convolution, at its input's size; or after, when the blur takes
    over the stride.
    """
    if first:
        return nn.Sequential(layer(convolution.in_channels, 3, 1, pad_mode="constant"), convolution)
    stride = _one(convolution.stride)
    convolution.stride = (1, 1)
    return nn.Sequential(
        convolution, layer(convolution.out_channels, 3, stride, pad_mode="constant")
    )


class DropSample(nn.Module):
    """Leaves the residual out for a share of the samples; all are kept, and scaled, in evaluation.

    images float [N, C, H, W] to the same. Source: Composer 0.7.1, algorithms/stochastic_depth,
    "sample": nothing is scaled in training, unlike torchvision's StochasticDepth and timm's
    DropPath.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.drop = library("timm.layers").DropPath(rate, scale_by_keep=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        kept: torch.Tensor = self.drop(images) if self.training else images * (1 - self.rate)
        return kept

    def extra_repr(self) -> str:
        return f"rate={self.rate:g}"


def rates(how: StochasticDepth, blocks: int) -> list[float]:
    """The share of samples that each block drops, first to last.

    "drop_path", timm's, begins with none.
    """
    if how.drop_distribution == "uniform":
        return [how.drop_rate] * blocks
    if how.method == "drop_path":
        return [how.drop_rate * block / max(1, blocks - 1) for block in range(blocks)]
    return [how.drop_rate * (block + 1) / blocks for block in range(blocks)]


def _drop(model: nn.Module, how: StochasticDepth, name: str) -> None:
    """Put behind each residual branch's last normalisation, before the sum."""
    blocks = [module for module in model.modules() if type(module).__name__ in BLOCKS]
    if not blocks:
        raise UsageError(
            f"step: model {name!r} has no residual blocks for stochastic depth (want "
            f"{' or '.join(BLOCKS)}); give a ResNet"
        )
    for block, rate in zip(blocks, rates(how, len(blocks)), strict=True):
        last = "bn3" if hasattr(block, "bn3") else "bn2"
        drop = (
            library("timm.layers").DropPath(rate) if how.method == "drop_path" else DropSample(rate)
        )
        setattr(block, last, nn.Sequential(getattr(block, last), drop))


def _replace(model: nn.Module, path: str, module: nn.Module) -> None:
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, module)


def _one(stride: Any) -> int:
    """A side's stride: all of these networks' are square."""
    return int(stride[0] if isinstance(stride, tuple) else stride)
