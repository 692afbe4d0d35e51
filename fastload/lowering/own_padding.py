"""A program's own v2 transform that pads images up to a size, as PadIfSmaller of torchvision's
references does.

Its code is not compared with anybody's. It may only name what cannot draw, and it is tried on small
images: it pads them with one colour, by what its `make_params` says.
"""

import builtins
import sys
from collections.abc import Sequence
from types import FunctionType, ModuleType
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
    if function.__closure__:
        return False
    for name in codes.names(function.__code__):
        held = function.__globals__.get(name)
        module = isinstance(held, ModuleType) and held.__name__ in MODULES
        builtin = held is None and name in BUILTINS and hasattr(builtins, name)
        if not (module or builtin or (held is None and name in ATTRIBUTES)):
            return False
    return True


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

    params = asked(transform, size)
    padding = [int(side) for side in params["padding"]]
    if len(padding) != 4 or min(padding) < 0 or max(padding) > MOST:
        raise ValueError(padding)
    count = 3 * size[0] * size[1]
    values = torch.arange(251, dtype=torch.uint8).repeat(count // 251 + 1)[:count]
    image = tv_tensors.Image(values.reshape(3, *size))
    made = transform.transform(image, params)
    if not any(padding):
        if not torch.equal(made, image):
            raise ValueError(params)
        return []
    left, top, *_ = padding
    corner = made[:, 0, 0] if top or left else made[:, -1, -1]
    fill = [int(value) for value in corner]
    want = functional.pad(image, padding, fill=[float(value) for value in fill])
    if not torch.equal(made, want):
        raise ValueError(params)
    return [(fill[0], fill[1], fill[2])]
