"""The steps that make a tensor of an image, such as ToTensor and Normalize, as one native pass.

It writes where the batch will lie, so that there is nothing left to stack.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from torch.utils.data import default_collate, get_worker_info

from fastload import _native
from fastload.attach.stages import timed_as, untimed
from fastload.image.lazy import plain
from fastload.lowering.chain import lower_parts
from fastload.lowering.names import Reasons, altered, classes, type_name
from fastload.spec import Array, Pixels
from fastload.transforms import Op, ToImage
from fastload.transforms.kinds import Values

Step = Callable[[Any], Any]
Facts = list[object]
LEVELS = 256
# One pixel of each level. It is square, so that strides tell the order of a tensor's dimensions.
RAMP = np.arange(LEVELS, dtype=np.uint8).repeat(3).reshape(16, 16, 3)
PICTURE = Image.fromarray(RAMP)


class Made(NamedTuple):
    """What some steps make of every RGB image."""

    kind: type[torch.Tensor]
    table: Array  # float32 [3, 256], the value of each level of a channel
    channels_last: bool  # in memory; the shape is [3, height, width]
    stacked_last: bool  # the same of what PyTorch stacks of them in the main process


class Room:
    """Memory of the batch under way, and the endings that write there."""

    def __init__(self) -> None:
        self.endings: list[Ending] = []
        self.count, self.position = 0, 0
        self.batch: torch.Tensor | None = None
        self.images: list[torch.Tensor | None] = []

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "endings": []}  # another process has its own

    def begin(self, count: int) -> None:
        """Of a batch of so many samples; 0: every image has memory of its own."""
        self.count, self.position, self.batch, self.images = count, 0, None, [None] * count

    def image(self, made: Made, height: int, width: int) -> torch.Tensor | None:
        """Where the image of the sample at `position` goes; None where the batch has no room for
        one like it.
        """
        if not self.position < self.count or self.images[self.position] is not None:
            return None
        if self.batch is None:
            self.batch = _memory((self.count, 3, height, width), made)
        if self.batch.shape[2:] != (height, width):
            return None
        image = self.batch[self.position].as_subclass(made.kind)
        self.images[self.position] = image
        return image

    def taken(self, samples: object) -> torch.Tensor | None:
        """The batch, if it is what stacking the first items of these pairs makes."""
        batch, images = self.batch, self.images
        self.begin(0)
        if batch is None or type(samples) is not list or len(samples) != len(images):
            return None
        if any(type(sample) is not tuple or len(sample) != 2 for sample in samples):
            return None
        others = [
            (position, sample[0])
            for position, (sample, image) in enumerate(zip(samples, images, strict=True))
            if sample[0] is not image
        ]
        kind = next(type(image) for image in images if image is not None)
        if not all(_alike(image, kind, batch) for _, image in others):
            return None
        for position, image in others:
            batch[position].copy_(image)
        return batch


class Ending:
    """Some steps of a transform, in their place."""

    def __init__(self, steps: Sequence[Step], made: Made, room: Room | None) -> None:
        """room: None: each image has memory of its own."""
        self.steps, self.made, self.room = tuple(steps), made, room
        self._facts = facts(self.steps)
        # An array's tensor may lie in memory in another way than that of Pillow's image
        arrays = type(steps[0]) in (*classes("ToTensor"), *classes("ToImage"))
        self.of_arrays = _made(list(steps), RAMP) if arrays else None
        self._planes = _native.StoreRecords(channels_last=False, table=made.table)
        self._pixels = _native.StoreRecords(channels_last=True, table=made.table)

    def holds(self) -> bool:
        """Whether the steps make what they made: numbers of theirs may be changed in place."""
        now = _made(list(self.steps))
        return now is not None and (
            (now.kind, *now[2:]) == (self.made.kind, *self.made[2:])
            and np.array_equal(now.table, self.made.table, equal_nan=True)
        )

    def __call__(self, image: Any) -> Any:
        # A step of the user's before these may have changed their numbers for this image
        pixels = self._of(image) if same(self._facts, facts(self.steps)) else None
        if pixels is None:
            for step in self.steps:
                image = step(image)
            return image
        height, width, _ = pixels.shape
        made = (self.of_arrays if type(image) is np.ndarray else None) or self.made
        out = self.room.image(made, height, width) if self.room else None
        if out is None:
            out = _memory((1, 3, height, width), made, alone=True)[0].as_subclass(made.kind)
        if out.is_contiguous():
            _native.store(pixels, self._planes, out.numpy(), "best")
        else:
            _native.store(pixels, self._pixels, out.permute(1, 2, 0).numpy(), "best")
        return out

    def _of(self, image: Any) -> Pixels | None:
        """uint8 [height, width, 3] of an image that the steps take; None for any other."""
        if isinstance(image, Image.Image):
            known = plain(image) in (Image.Image, JpegImageFile)
            return np.asarray(image) if known and image.mode == "RGB" and all(image.size) else None
        if not self.of_arrays or type(image) is not np.ndarray or image.dtype != np.uint8:
            return None
        fits = image.ndim == 3 and image.shape[2] == 3 and image.size
        return np.ascontiguousarray(image) if fits else None


def facts(steps: Iterable[object]) -> Facts:
    """What steps are made of, and what tells of objects in them that are changed in place."""
    out: Facts = [torch.get_default_dtype()]
    for step in steps:
        out.append(step)
        for value in getattr(step, "__dict__", {}).values():
            kind = type(value)
            if kind in (list, tuple):
                out += value
                continue
            out.append(value)
            if kind in (dict, OrderedDict):
                out.append(len(value))
            elif kind is torch.Tensor:
                out.append(value._version)
            elif kind is np.ndarray:
                out.append(value.tobytes())
    return out


def same(kept: Facts, now: Facts) -> bool:
    return len(kept) == len(now) and all(map(_is, kept, now))


def _is(one: object, other: object) -> bool:
    return one is other or (
        type(one) is type(other) and type(one) in (int, float, str, bytes) and one == other
    )


def divided(transform: object, room: Room) -> tuple[object, tuple[str, ...]]:
    """The transform with an Ending in it, and the names of the steps that this stands for; the
    same object and no names where there is nothing to gain.
    """
    if type(transform) not in classes("Compose") or altered(transform):
        return transform, ()
    chain: Any = transform
    members = list(chain.transforms)
    steps: list[Any] = list(map(untimed, members))  # a profiler may time each
    first, last = _found(steps)
    made = _made(steps[first:last]) if first < last else None
    if made is None:
        return transform, ()
    # In a batch's memory only the library's own steps follow, which keep no image.
    behind = [lower_parts(step, own=False) for step in steps[last:]]
    is_room = all(ops and not reasons for ops, reasons in behind)
    ending = Ending(steps[first:last], made, room if is_room else None)
    room.endings.append(ending)
    copy = object.__new__(type(chain))
    copy.__dict__.update(vars(chain))
    here = timed_as(members[first], ending)
    copy.__dict__["transforms"] = [*members[:first], here, *members[last:]]
    return copy, tuple(type_name(step).rpartition(".")[2] for step in steps[first:last])


def makes_tensor(chain: Any) -> bool:
    """Whether a Compose has steps that may be an ending, if they make what one makes."""
    try:
        first, last = _found(list(chain.transforms))
    except Exception:  # noqa: BLE001  a program may have put anything into its objects
        return False
    return first < last


def is_apart(chain: Any) -> bool:
    """Whether steps that change values stand apart from the one that makes a tensor, as where a
    Resize follows ToImage.
    """
    try:
        steps = list(chain.transforms)
        return any(values for _, _, values in _lowered(steps)[_found(steps)[1] :])
    except Exception:  # noqa: BLE001  likewise
        return False


def _lowered(steps: list[object]) -> list[tuple[tuple[Op, ...], Reasons, bool]]:
    """Of each step its ops, or why there are none, and whether they change values only."""
    lowered = [lower_parts(step, own=False) for step in steps]
    return [
        (ops, why, not why and all(isinstance(op, Values) for op in ops)) for ops, why in lowered
    ]


def _found(steps: list[object]) -> tuple[int, int]:
    """Where the steps begin and end that make a tensor of an image and values of its values."""
    lowered = _lowered(steps)
    values = [only for _, _, only in lowered]
    for first, (ops, why, _) in enumerate(lowered):
        if not why and ops and isinstance(ops[0], ToImage) and values[first]:
            return first, next((n for n in range(first, len(steps)) if not values[n]), len(steps))
    return 0, 0


def _made(steps: list[Any], image: Any = PICTURE) -> Made | None:
    """By what the steps themselves make of all levels; None where that is nothing native."""
    try:
        for step in steps:
            image = step(image)
        stacked = default_collate([image, image])
    except Exception:  # noqa: BLE001  they will raise it of the user's images
        return None
    if not isinstance(image, torch.Tensor) or image.shape != (3, 16, 16):
        return None
    last = not image.is_contiguous()
    if type(stacked) is not torch.Tensor or image.dtype != torch.float32:
        return None
    if last and not image.permute(1, 2, 0).is_contiguous():
        return None
    table = image.as_subclass(torch.Tensor).reshape(3, LEVELS).numpy().copy()
    return Made(type(image), table, last, not stacked.is_contiguous())


def _memory(shape: tuple[int, ...], made: Made, *, alone: bool = False) -> torch.Tensor:
    """As PyTorch's default_collate takes it: in a worker process, shared memory."""
    if not alone and get_worker_info() is not None:
        size = math.prod(shape) * torch.float32.itemsize
        storage = torch.UntypedStorage._new_shared(size)  # type: ignore[no-untyped-call]
        return torch.empty(0, dtype=torch.float32, device="cpu").set_(storage).view(shape)
    last = made.channels_last if alone else made.stacked_last
    order = torch.channels_last if last else torch.contiguous_format
    return torch.empty(shape, dtype=torch.float32, device="cpu", memory_format=order)


def _alike(image: object, kind: type, batch: torch.Tensor) -> bool:
    """Whether PyTorch would stack it with the others."""
    return (
        type(image) is kind
        and isinstance(image, torch.Tensor)
        and image.shape == batch.shape[1:]
        and image.dtype == batch.dtype
        and image.device == batch.device
        and image.layout == torch.strided
        and not image.requires_grad
    )
