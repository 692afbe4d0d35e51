"""A recipe's training step, run for real: one call is one step, from a batch to changed weights."""

from contextlib import nullcontext
from typing import Any

import torch
from torch import nn

from fastload.errors import UsageError
from fastload.recipes import model as models
from fastload.recipes import optimizer as optimizers
from fastload.recipes.schema import Recipe
from fastload.spec import Json

IMAGENET = 1_281_167  # training images
PRECISIONS = {"amp_fp16": torch.float16, "amp_bf16": torch.bfloat16}


class TrainingStep:
    """What a recipe does with a batch: forward, loss, backward, SAM's second pass, optimiser,
    learning rate, EMA.

    recipe:  what `fastload.recipes.load` gives
    classes: outputs of the network
    device:  "cuda" or "cpu"; on the CPU amp_fp16 is bfloat16, since float16 has no fast kernels
        there
    model:   the name of another of torchvision's or timm's networks; None: the recipe's
    images:  in an epoch, which with the recipe's batch size says how many steps the learning rate
        takes for one

    A batch is [images float [N, 3, H, W], labels int64 [N] or, mixed and smoothed as
    `DataLoader(mix=recipe.mix())` gives them, float [N, classes]]. Labels that are numbers are
    smoothed here, but not mixed. For several GPUs put DistributedDataParallel(step.model) into
    `step.model`.

    Raises BackendError where torchvision or timm is missing, UsageError for a model that is unknown
    or does not suit the recipe.
    """

    def __init__(
        self,
        recipe: Recipe,
        classes: int = 1000,
        device: str = "cuda",
        model: str | None = None,
        images: int = IMAGENET,
    ) -> None:
        training = recipe.training
        self.training = training
        self.classes = classes
        self.device = device
        self.name = model or training.model
        self.layout = torch.channels_last if training.channels_last else torch.contiguous_format
        network = models.build(training, classes, model).to(device)
        # torch's type annotations do not know memory_format.
        self.model: nn.Module = network.to(memory_format=self.layout)  # type: ignore[call-overload]
        self.optimizer = optimizers.make(self.model, training.optimizer)
        self.dtype = PRECISIONS.get(training.precision)
        if device == "cpu" and self.dtype is torch.float16:
            self.dtype = torch.bfloat16
        self.scaler = torch.amp.grad_scaler.GradScaler(device, enabled=self.dtype is torch.float16)
        self.average = self._average()
        self.steps_per_epoch = max(1, images // training.global_batch_size)
        self.steps = 0  # done
        self._binary = self._make_binary()

    def __call__(self, batch: Any) -> torch.Tensor:
        """One step; the loss, detached: float32 []."""
        images, labels = batch
        self.set_rate()
        loss = self._gradients(images, labels)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.steps += 1
        ema = self.training.ema
        if self.average is not None and ema and self.steps % ema.update_interval_batches == 0:
            self.average.update_parameters(self._bare())
        return loss

    def describe(self) -> str:
        """What is in it, in words."""
        training = self.training
        parts = {
            f"SAM every {training.sam.interval} steps" if training.sam else "": training.sam,
            "EMA": training.ema,
            "BlurPool": training.blurpool,
            "stochastic depth": training.stochastic_depth,
        }
        precision = str(self.dtype or torch.float32).removeprefix("torch.")
        words = (
            self.name,
            f"{training.optimizer.name} in {precision}",
            training.loss.name.replace("_", " "),
        )
        return ", ".join((*words, *(text for text, there in parts.items() if there)))

    @property
    def doubled(self) -> bool:
        """Whether the next step computes two gradients."""
        sam = self.training.sam
        return sam is not None and (self.steps + 1) % sam.interval == 0

    @property
    def evaluated(self) -> nn.Module:
        """The network to evaluate: its moving average, where the recipe has one."""
        return self.average.module if self.average is not None else self._bare()

    def set_rate(self) -> float:
        """Give the optimiser the learning rate of the step that comes; returns it."""
        training = self.training
        peak, epoch = training.optimizer.learning_rate, self.steps / self.steps_per_epoch
        rate = peak * optimizers.share(training.schedule, peak, training.epochs, epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """outputs float [N, classes]; labels as the batch has them. float32 []."""
        if self._binary is not None:
            loss: torch.Tensor = self._binary(outputs.float(), labels)
            return loss
        smoothing = 0.0 if labels.is_floating_point() else self.training.loss.label_smoothing
        return nn.functional.cross_entropy(outputs.float(), labels, label_smoothing=smoothing)

    def to_device(self, batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
        images, labels = batch
        images = images.to(self.device, non_blocking=True).contiguous(memory_format=self.layout)
        return images, labels.to(self.device, non_blocking=True)

    def state_dict(self) -> Json:
        """Everything that changes from step to step."""
        return {"steps": self.steps} | {
            name: part.state_dict() for name, part in self._parts().items()
        }

    def load_state_dict(self, state: Json) -> None:
        """Raises UsageError for the state of a step with other parts."""
        want = sorted(self.state_dict())
        if sorted(state) != want:
            raise UsageError(
                f"step: the state has {', '.join(sorted(state))} (want {', '.join(want)}); give a "
                "state of the same recipe"
            )
        self.steps = int(state["steps"])
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> Json:
        """What has a state of its own, by name."""
        average = {} if self.average is None else {"average": self.average}
        return {"model": self._bare(), "optimizer": self.optimizer, "scaler": self.scaler} | average

    def _gradients(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Leaves the gradients, scaled for float16, in the weights; the loss, detached."""
        sam = self.training.sam
        if sam is None or not self.doubled:
            return self._backward(images, labels)
        alone = (
            self.model.no_sync()
            if isinstance(self.model, nn.parallel.DistributedDataParallel)
            else nullcontext()
        )
        with alone:  # ranks climb by their own gradients, as Composer's do
            first = self._backward(images, labels)
        with optimizers.ascended(self.model.parameters(), sam) as moved:
            return self._backward(images, labels) if moved else first

    def _backward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with torch.autocast(self.device, dtype=self.dtype, enabled=self.dtype is not None):
            outputs = self.model(images)
        loss = self.loss(outputs, labels)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _make_binary(self) -> Any:
        how = self.training.loss
        if how.name != "binary_cross_entropy":
            return None
        return models.library("timm.loss").BinaryCrossEntropy(
            how.label_smoothing, sum_classes=how.sum_classes
        )

    def _average(self) -> torch.optim.swa_utils.AveragedModel | None:
        """Weights and buffers; it begins as the network's start values, so that the first update is
        an average already.
        """
        ema = self.training.ema
        if ema is None:
            return None
        decay = 2 ** (-ema.update_interval_batches / ema.half_life_batches)
        update = torch.optim.swa_utils.get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
        average = torch.optim.swa_utils.AveragedModel(
            self.model, multi_avg_fn=update, use_buffers=True
        )
        average.update_parameters(self.model)
        return average

    def _bare(self) -> nn.Module:
        inner = self.model
        return inner.module if isinstance(inner, nn.parallel.DistributedDataParallel) else inner
