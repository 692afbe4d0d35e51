"""A program's own v2 transform that pads images up to a size, as PadIfSmaller of torchvision's
references does.

Its code is not compared with anybody's. It may only name what cannot draw, has no numbers above 4,
and is tried on small images: it pads them with one colour, by what its `make_params` says.
"""

import builtins
import dis
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from fastload.joint.padding import asked
from fastload.joint.picture import Fill
from fastload.lowering import codes

METHODS = ("make_params", "transform")
HELD = ("size", "fill")  # all that it holds, beside what torch.nn.Module does
BUILTINS = ("max", "min", "any", "dict", "list", "type", "int", "len")
MODULES = ("torchvision.transforms.v2", "torchvision.transforms.v2.functional")
# Attributes of those modules, of torchvision's helpers and of the transform itself
ATTRIBUTES = (
    "size", "fill", "functional", "pad", "_utils", "_geometry", "utils", "query_size", "query_chw",
    "_get_fill", "_convert_fill_arg", "get",
)  # fmt: skip
# What a class has of Python's
DUNDERS = (
    "__init__", "__module__", "__qualname__", "__doc__", "__annotations__", "__firstlineno__",
    "__static_attributes__",
)  # fmt: skip
# So what it does to small images, it does to large ones: no number of px tells them apart
NUMBERS = (0, 1, 2, 3, 4)
MOST = 4096  # px of padding that is tried


def fill_of(transform: Any) -> Fill | None:
    """What it fills images with, if it is such a transform, else None."""
    kind, base = type(transform), _base()
    if base is None or kind.__bases__ != (base,) or not _is_plain(transform, kind):
        return None
    try:
        found = {fill for size in _sizes(transform) for fill in _tried(transform, size)}
    except Exception:  # noqa: BLE001  it is the program's code
        return None
    return found.pop() if len(found) == 1 else None


def mask_fill_of(transform: Any) -> int | None:
    """What such a transform fills masks with; None: nothing that is the same on all that are
    tried, so that its own code has to move them.
    """
    try:
        found = {fill for size in _sizes(transform) for fill in _tried_mask(transform, size)}
    except Exception:  # noqa: BLE001  it is the program's code
        return None
    return found.pop() if len(found) == 1 else None


def _base() -> type | None:
    found: type | None = getattr(sys.modules.get("torchvision.transforms.v2"), "Transform", None)
    return found


def _is_plain(transform: Any, kind: type) -> bool:
    """Whether its code names nothing else, and it holds nothing else."""
    own, methods = set(vars(kind)) - set(DUNDERS), [vars(kind).get(name) for name in METHODS]
    held = {name for name in vars(transform) if not name.startswith("_") and name != "training"}
    return (
        own == set(METHODS)
        and held == set(HELD)
        and all(isinstance(method, FunctionType) and _names_little(method) for method in methods)
    )


def _names_little(function: FunctionType) -> bool:
    """Whether each name is a builtin, one of torchvision's modules, or one of ATTRIBUTES."""
    if function.__closure__ or any(number not in NUMBERS for number in _numbers(function)):
        return False
    for name in codes.names(function.__code__):
        held = function.__globals__.get(name)
        module = isinstance(held, ModuleType) and held.__name__ in MODULES
        builtin = held is None and name in BUILTINS and hasattr(builtins, name)
        if not (module or builtin or (held is None and name in ATTRIBUTES)):
            return False
    return True


def _numbers(function: FunctionType) -> Iterator[float]:
    """In its code, in that of its inner functions, in tuples, and as defaults."""
    held: list[object] = [function.__code__, function.__defaults__, function.__kwdefaults__]
    while held:
        one = held.pop()
        if isinstance(one, CodeType):
            held += one.co_consts
            # Since Python 3.14 small ones are only in instructions
            held += [at.arg for at in dis.get_instructions(one) if at.opname == "LOAD_SMALL_INT"]
        elif isinstance(one, tuple | frozenset):
            held += one
        elif isinstance(one, dict):
            held += one.values()
        elif isinstance(one, int | float):
            yield one


def _sizes(transform: Any) -> Sequence[tuple[int, int]]:
    """Images that lack height, width, both and nothing. Raises ValueError where these are large."""
    size = int(transform.size)
    if not 1 <= size <= MOST:
        raise ValueError(size)
    return ((1, 1), (1, size + 3), (size + 2, 1), (size + 1, size + 4))


def _tried(transform: Any, size: tuple[int, int]) -> Sequence[Fill]:
    """The colour of its padding; nothing where it pads nothing. Raises whatever it does, and
    ValueError where it does something else.
    """
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional

    image = tv_tensors.Image(_values(3, size))
    padding, corner, made = _padded(transform, image)
    if not any(padding):
        return []
    fill = [int(value) for value in corner]
    if not torch.equal(made, functional.pad(image, padding, fill=[float(one) for one in fill])):
        raise ValueError(padding)
    return [(fill[0], fill[1], fill[2])]


def _tried_mask(transform: Any, size: tuple[int, int]) -> Sequence[int]:
    """The same of a mask of classes."""
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional

    mask = tv_tensors.Mask(_values(1, size))
    padding, corner, made = _padded(transform, mask)
    if not any(padding):
        return []
    fill = int(corner[0])
    if not torch.equal(made, functional.pad(mask, padding, fill=fill)):
        raise ValueError(padding)
    return [fill]


def _values(channels: int, size: tuple[int, int]) -> torch.Tensor:
    """uint8 [channels, H, W], whose neighbours differ."""
    count = channels * size[0] * size[1]
    values = torch.arange(251, dtype=torch.uint8).repeat(count // 251 + 1)[:count]
    return values.reshape(channels, *size)


def _padded(transform: Any, image: torch.Tensor) -> tuple[list[int], torch.Tensor, torch.Tensor]:
    """How far it pads, the px in a corner of its padding, and what it makes. Raises whatever it
    does, and ValueError where that is no padding.
    """
    params = asked(transform, (image.shape[1], image.shape[2]))
    padding = [int(side) for side in params["padding"]]
    if len(padding) != 4 or min(padding) < 0 or max(padding) > MOST:
        raise ValueError(padding)
    made = transform.transform(image, params)
    if type(made) is not type(image) or not (any(padding) or torch.equal(made, image)):
        raise ValueError(params)
    left, top, *_ = padding
    return padding, made[:, 0, 0] if top or left else made[:, -1, -1], made
