"""A recipe's optimiser, its learning rate step by step, and sharpness-aware minimisation."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from fastload.recipes.model import library
from fastload.recipes.settings import Optimizer, Sam, Schedule
from fastload.spec import Json


def make(model: nn.Module, how: Optimizer) -> torch.optim.Optimizer:
    """torch's or timm's, with the peak learning rate.

    Raises BackendError where timm is missing and needed.
    """
    groups = _groups(model, how)
    if how.name == "SGD":
        return torch.optim.SGD(
            groups,
            how.learning_rate,
            how.momentum,
            how.dampening,
            weight_decay=how.weight_decay,
            nesterov=how.nesterov,
        )
    if how.name == "AdamW":
        return torch.optim.AdamW(groups, how.learning_rate, weight_decay=how.weight_decay)
    timm = library("timm.optim")
    optimizer: torch.optim.Optimizer
    if how.name == "DecoupledSGDW":
        # timm decays by rate * decay, Composer by rate / peak * decay: decay / peak makes the same.
        optimizer = timm.SGDW(
            groups, how.learning_rate, how.momentum, how.dampening, nesterov=how.nesterov
        )
    elif how.name == "LAMB":
        optimizer = timm.Lamb(groups, how.learning_rate)
    else:
        optimizer = timm.Lars(
            groups, how.learning_rate, how.momentum, how.dampening, nesterov=how.nesterov
        )
    return optimizer


def _groups(model: nn.Module, how: Optimizer) -> list[Json]:
    """The parameters that decay, and those that do not."""
    decay = how.weight_decay
    if how.name == "DecoupledSGDW":
        decay = decay / how.learning_rate if how.learning_rate else 0.0
    norm = {
        id(p)
        for module in model.modules()
        if isinstance(module, nn.modules.batchnorm._NormBase)
        for p in module.parameters()
    }

    def free(name: str, parameter: nn.Parameter) -> bool:
        if how.no_decay == "nothing":
            return False
        return id(parameter) in norm or (how.no_decay == "norm_and_bias" and name.endswith(".bias"))

    split: tuple[list[nn.Parameter], list[nn.Parameter]] = ([], [])
    for name, parameter in model.named_parameters():
        split[free(name, parameter)].append(parameter)
    return [
        {"params": part, "weight_decay": value}
        for part, value in zip(split, (decay, 0.0), strict=True)
        if part
    ]


def share(schedule: Schedule, peak: float, epochs: int, epoch: float) -> float:
    """The learning rate as a share of `peak`, after `epoch` epochs, which are a fraction within
    one.

    Source of the cosine with a linear warm-up: Composer 0.7.1, optim/scheduler.py.
    """
    epoch = epoch if schedule.per_step else math.floor(epoch)
    if epoch < schedule.warmup_epochs:
        start = schedule.warmup_start
        ahead = not schedule.per_step and not start  # a whole epoch at 0 trains nothing
        return min(1.0, start + (1 - start) * (epoch + ahead) / schedule.warmup_epochs)
    last = schedule.final_rate / peak if peak else 0.0
    done = min(1.0, (epoch - schedule.warmup_epochs) / max(epochs - schedule.warmup_epochs, 1e-9))
    left = {"cosine": (1 + math.cos(math.pi * done)) / 2, "linear": 1 - done, "constant": 1.0}[
        schedule.name
    ]
    return last + (1 - last) * left


@contextmanager
def ascended(parameters: Iterable[nn.Parameter], sam: Sam) -> Iterator[bool]:
    """Inside, the weights are moved by `rho` against their gradients, which are gone; behind, they
    are what they were, to the bit.

    A gradient may be scaled by any number. One that is not finite changes nothing and stays: False,
    and float16's scaler then leaves the step out.
    """
    moved = [p for p in parameters if p.grad is not None]
    with torch.no_grad():
        gradients = [p.grad for p in moved if p.grad is not None]
        norm = torch.linalg.vector_norm(
            torch.stack([torch.linalg.vector_norm(g.float()) for g in gradients])
        )
        if not torch.isfinite(norm):
            yield False
            return
        before = [p.detach().clone() for p in moved]
        for parameter, gradient in zip(moved, gradients, strict=True):
            parameter.add_(gradient * (sam.rho / (norm + sam.epsilon)))
            parameter.grad = None
    try:
        yield True
    finally:
        with torch.no_grad():
            for parameter, value in zip(moved, before, strict=True):
                parameter.copy_(value)
