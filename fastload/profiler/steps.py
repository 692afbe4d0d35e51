"""Training steps to measure against: a real ResNet-50 step, or, without a GPU, the clock playing one."""

import time
from collections.abc import Callable
from typing import Any

import torch

from fastload.errors import BackendError
from fastload.measure import rate
from fastload.profiler.batches import images_in

LEAD = 0.05  # s that the host may run ahead of the emulated GPU: about one real batch of 256, whatever the batch here


class EmulatedStep:
    """A GPU played by the clock, as MLPerf Storage does: it takes no CPU time, and the host runs a little ahead of it."""

    kind = "emulated"
    resident = 1  # batches to keep for the step alone; nothing looks at them

    def __init__(self, rate: float) -> None:
        self.rate = rate  # images/s
        self._free_at = 0.0  # s, time.perf_counter's clock: when the GPU has nothing left to do

    def __call__(self, batch: Any) -> None:
        takes = images_in(batch) / self.rate
        self._free_at = max(time.perf_counter(), self._free_at) + takes
        _sleep_until(self._free_at - max(takes, LEAD))

    def to_device(self, batch: Any) -> Any:
        return batch

    def rate_at(self, scale: float, batch: Any, seconds: float) -> float:
        """Images/s for sides `scale` times as long: a step is taken to cost as much per pixel at every size."""
        return self.rate / scale**2

    def settle(self) -> float:
        """When the GPU will have done everything: exact without waiting, however late the host wakes up."""
        return self._free_at


def _sleep_until(moment: float) -> None:
    left = moment - time.perf_counter()
    if left > 0:
        time.sleep(left)


class ResNetStep:
    """Forward, backward and SGD of torchvision's ResNet-50 in mixed precision, channels last.

    Labels are numbers, or soft as `DataLoader(mix=...)` gives them, smoothed there. loss: cross_entropy or binary_cross_entropy.
    """

    kind = "resnet50"
    resident = 8  # distinct real batches: a repeated one, or zeros, would flatter power and caches

    def __init__(self, classes: int, device: str = "cuda", loss: str = "cross_entropy") -> None:
        try:
            from torchvision.models import resnet50
        except ImportError as error:
            raise BackendError(
                "profile: a real training step needs torchvision (not installed); pip install 'fastload-torch[recipes]', or --step-rate"
            ) from error
        self.device, self.classes = device, classes
        self.model = resnet50(num_classes=classes).to(device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.875, weight_decay=5e-4)
        self.loss: Callable[..., Any] = self._binary if loss == "binary_cross_entropy" else torch.nn.functional.cross_entropy
        self.scaler = torch.amp.grad_scaler.GradScaler(device, enabled=device == "cuda")  # float16 needs it, bfloat16 does not
        self.dtype = torch.float16 if device == "cuda" else torch.bfloat16

    def __call__(self, batch: Any) -> None:
        images, labels = batch
        with torch.autocast(self.device, dtype=self.dtype):
            loss = self.loss(self.model(images), labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def _binary(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Summed over samples and classes, divided by the samples, as in the recipes."""
        soft = labels if labels.is_floating_point() else torch.nn.functional.one_hot(labels, self.classes).float()
        return torch.nn.functional.binary_cross_entropy_with_logits(outputs, soft, reduction="sum") / len(labels)

    def to_device(self, batch: Any) -> Any:
        images, labels = batch
        images = images.to(self.device, non_blocking=True).contiguous(memory_format=torch.channels_last)
        return images, labels.to(self.device, non_blocking=True)

    def rate_at(self, scale: float, batch: Any, seconds: float) -> float:
        """Images/s, measured over `seconds` with `batch`, whose sides are `scale` times as long as at full size."""
        resident = self.to_device(batch)

        def once() -> int:
            self(resident)
            return images_in(batch)

        once(), once()  # the first steps choose kernels and take memory
        return rate(once, seconds, self.settle)

    def settle(self) -> float:
        return synchronise()


def synchronise() -> float:
    """Wait until the GPU, if there is one, has done everything; returns when that was, s."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()
