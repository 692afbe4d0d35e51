"""Numbers, and tensors of numbers, that a data set class of the user's makes of a sample's values:
labels, mostly.
"""

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np
import torch

from fastload.lowering.columns import Column, Index, Values, mapped
from fastload.lowering.holding import Builtin
from fastload.lowering.pictures import UnclearError
from fastload.lowering.sets import Own

NUMBERS = (int, float, np.float32, np.float64, np.int32, np.int64)
DTYPES = {int: torch.int64, float: torch.float64}  # Python's, as torch takes them
CASTS = {"float": torch.float32, "long": torch.int64}  # methods of tensors


class Tensors(Column):
    """A tensor of each sample: what torch.tensor makes of the rows. dtype: None: as it likes."""

    is_plain = False

    def __init__(self, column: Column, dtype: torch.dtype | None) -> None:
        super().__init__(column.rows, numbered=column.numbered)
        self.dtype = dtype


def has(of: object, name: str) -> bool:
    """Whether a tensor of each sample has a method that is called here."""
    return isinstance(of, Tensors) and name in CASTS


def method(of: object, name: str, values: Values, named: Mapping[str, object]) -> Tensors:
    """What `tensor.float()` is. Raises UnclearError where it would be rounded twice."""
    if isinstance(of, Tensors) and not values and not named:
        whole = of.dtype is None and set(map(type, of.rows)) <= {int, np.int64}
        if whole or (name == "float" and of.dtype in (None, torch.float32)):
            return Tensors(of, CASTS[name])
    raise UnclearError(f"it calls {name} of a tensor of numbers")


def called(function: object, values: Values, named: Mapping[str, object]) -> Column | None:
    """What a call with a sample's values is; None for any other call. Raises UnclearError."""
    inner = function.function if isinstance(function, Builtin) else function
    first = values[0] if len(values) == 1 else None
    if inner is torch.tensor or inner is torch.as_tensor:
        parts = cast("Values", first) if type(first) in (list, tuple, Own) else ()
        if any(isinstance(one, Column) for one in parts):
            return _tensors(mapped(_together, parts), dict(named))
        return _tensors(first, dict(named)) if isinstance(first, Column) else None
    if not isinstance(first, Column) or named or not any(inner is kind for kind in NUMBERS):
        return None
    if inner is int and isinstance(first, Index):
        return first
    return mapped(cast("Callable[..., object]", inner), values)


def _together(*row: object) -> tuple[object, ...]:
    return row


def _tensors(column: Column, named: dict[str, object]) -> Tensors | None:
    """None for what else torch.tensor may be asked for."""
    dtype = named.pop("dtype", None)
    if isinstance(dtype, Builtin):
        dtype = next((known for kind, known in DTYPES.items() if kind is dtype.function), dtype)
    known = dtype is None or isinstance(dtype, torch.dtype)
    if named or not known or type(column) is Tensors:
        return None
    return Tensors(column, dtype if isinstance(dtype, torch.dtype) else None)
