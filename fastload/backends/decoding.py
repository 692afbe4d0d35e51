"""JPEG decoding on the GPU as the engine sees it; `gpu_decode` does it, where this build has it."""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any, Protocol

import torch

from fastload import _native
from fastload.plan import Plan
from fastload.spec import Ints

if TYPE_CHECKING:  # which imports this
    from fastload.backends import native

MODULE = "fastload.backends.gpu_decode"


class Decoder(Protocol):
    """Of one GPU. A batch is prepared after its records are drawn and before it is started; `run` passes over what was taken."""

    def prepare(self, job: _native.Job, drawn: "list[native.Drawn]", pictures: "tuple[native.Picture, ...]") -> list[Any]:
        """Of each picture, what goes to the GPU. Does not wait."""

    def launch(self, prepared: Any, host: torch.Tensor, images: torch.Tensor, stream: torch.cuda.Stream) -> Any:
        """Crops uint8 [N, H, W, 3] to `images`, on the stream, which is the current one; those of the CPU are in `host`."""

    def upload(self, host: torch.Tensor, images: torch.Tensor, places: Ints) -> None:
        """Copy rows that the CPU has made again."""


def unsupported(plan: Plan) -> list[str]:
    """Why the plan's JPEGs cannot be decoded on the GPU."""
    if importlib.util.find_spec(MODULE) is None:
        return ["JPEG decoding on the GPU is not in this build; leave decode out"]
    found = getattr(importlib.import_module(MODULE), "unsupported", None)
    return [] if found is None else list(found(plan))


def make(device: torch.device) -> Decoder:
    found: Decoder = importlib.import_module(MODULE).GpuDecode(device)
    return found


def recall(job: _native.Job, launched: list[Any]) -> Ints:
    """Places that did not come out right, given back to the job: its next `run` makes them. Waits for the GPU."""
    found: Ints = importlib.import_module(MODULE).recall(job, launched)
    return found
