"""What calls mean that users' functions make: Pillow's on an image, and random numbers."""

import ast
import random
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType

import numpy as np
import torch

from fastload import transforms
from fastload.lowering import reach
from fastload.lowering.codes import codes
from fastload.lowering.holding import items
from fastload.lowering.names import classes
from fastload.lowering.pictures import Picture, UnclearError, Uniform
from fastload.lowering.sets import Own, Stack, put, stacked
from fastload.transforms import Op
from fastload.transforms.arithmetic import Arithmetic
from fastload.transforms.blur import PillowBlur

Values = Sequence[object]
Named = dict[str, object]
# As they are when fastload is imported: a program may put others in their place.
_UNIT = (random.random, np.random.rand, np.random.random, np.random.random_sample)
_BETWEEN = (random.uniform, np.random.uniform)
_TORCHS, _STACK = torch.rand, torch.stack
ARITHMETIC = ("add", "sub", "mul", "div")
IN_PLACE = tuple(f"{name}_" for name in ARITHMETIC)
_OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_OF_ONE: dict[str, Op] = {
    "autocontrast": transforms.RandomAutocontrast(1.0),
    "equalize": transforms.RandomEqualize(1.0),
    "invert": transforms.RandomInvert(1.0),
    "solarize": transforms.RandomSolarize(128, 1.0),
}
_FUNCTIONAL: dict[str, Op] = {
    "hflip": transforms.RandomHorizontalFlip(1.0),
    "vflip": transforms.RandomVerticalFlip(1.0),
    "pil_to_tensor": transforms.PILToTensor(),
    "to_tensor": transforms.ToTensor(),
}


class Blur:
    """An ImageFilter.GaussianBlur."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high


def drawn(function: object, values: Values, named: Named) -> Uniform | None:
    """The number that a call draws; None for any other call."""
    if any(function is known for known in _UNIT) and not values and not named:
        return Uniform(0.0, 1.0)
    if any(function is known for known in _BETWEEN) and len(values) == 2 and not named:
        low, high = map(number, values)
        return Uniform(low, high)
    if function is _TORCHS and list(values) in ([], [1]) and not named:
        return Uniform(0.0, 1.0, in_tensor=True)
    return None


def blur(function: object, values: Values, named: Named) -> Blur | None:
    """The filter that `ImageFilter.GaussianBlur(radius)` is; None for any other call."""
    module = sys.modules.get("PIL.ImageFilter")
    if not isinstance(function, type) or function is not getattr(module, "GaussianBlur", None):
        return None
    for name in ("__init__", "filter"):
        _check(vars(function).get(name), "PIL.ImageFilter", f"GaussianBlur.{name}")
    given = [*values, *named.values()]
    if len(given) > 1 or set(named) - {"radius"}:
        raise UnclearError("it calls GaussianBlur with other arguments than a radius")
    radius = given[0] if given else 2
    if isinstance(radius, Uniform) and radius.in_tensor:
        raise UnclearError("it blurs by a tensor")
    low, high = radius.take() if isinstance(radius, Uniform) else (number(radius),) * 2
    if not 0 <= low <= high:
        raise UnclearError(f"it blurs by {low} to {high} px")
    return Blur(low, high)


def of_image_ops(function: object, values: Values, named: Named) -> Picture | None:
    """What a function of PIL.ImageOps makes of a picture; None for any other call."""
    name = function.__name__ if isinstance(function, FunctionType) else ""
    if name not in _OF_ONE or function is not getattr(sys.modules.get("PIL.ImageOps"), name, None):
        return None
    _check(function, "PIL.ImageOps", name)
    op = _OF_ONE[name]
    if isinstance(op, transforms.RandomSolarize):
        arguments = {**dict(zip(("image", "threshold"), values, strict=False)), **named}
        op = transforms.RandomSolarize(number(arguments.pop("threshold", 128)), 1.0)
        values, named = list(arguments.values()), {}
    if named or len(values) != 1 or not isinstance(values[0], Picture):
        raise UnclearError(f"it calls ImageOps.{name} with more than an image")
    return pillows(values[0], name).then([op])


def of_functional(function: object, values: Values, named: Named) -> Picture | None:
    """What a function of torchvision.transforms.functional makes of a picture, where its transform
    of the first API is nothing else; None for any other call.
    """
    name = function.__name__ if isinstance(function, FunctionType) else ""
    home = "torchvision.transforms.functional"
    if name not in _FUNCTIONAL or function is not getattr(sys.modules.get(home), name, None):
        return None
    _check(function, home, name)
    if named or len(values) != 1 or not isinstance(values[0], Picture):
        raise UnclearError(f"it calls functional.{name} with more than an image")
    if name == "to_tensor" and torch.get_default_dtype() != torch.float32:
        raise UnclearError(f"to_tensor makes {torch.get_default_dtype()}")
    return pillows(values[0], name).then([_FUNCTIONAL[name]])


def convert(picture: Picture, values: Values, named: Named) -> Picture:
    mode = values[0] if len(values) == 1 and not named else None
    if mode not in ("RGB", "L"):
        raise UnclearError("it converts to another mode than 'RGB' or 'L'")
    _check_method("convert")
    pillows(picture, "convert")
    return picture.rgb() if mode == "RGB" else picture.then([transforms.Grayscale(1)])


def filtered(picture: Picture, values: Values, named: Named) -> Picture:
    if len(values) != 1 or named or not isinstance(values[0], Blur):
        raise UnclearError("it filters by another filter than ImageFilter.GaussianBlur")
    _check_method("filter")
    return pillows(picture, "filter").then([PillowBlur((values[0].low, values[0].high))])


def of_torch(function: object, values: Values, named: Named) -> Stack | None:
    """What torch.stack makes of a list of pictures; None for any other call."""
    if function is not _STACK:
        return None
    first = dict(named).pop("dim", values[1] if len(values) == 2 else 0)
    if not 1 <= len(values) <= 2 or set(named) - {"dim"} or first != 0:
        raise UnclearError("it stacks along another dimension than the first")
    return stacked(items(values[0]))


def made(function: object, values: Values, named: Named) -> object:
    """A transform of torchvision's that is made of plain values; None for any other call."""
    if not isinstance(function, type) or function not in classes(function.__name__):
        return None
    plain = (bool, int, float, str, type(None))
    if any(type(value) not in plain for value in (*values, *named.values())):
        raise UnclearError("")
    if changed := reach.changed(function):
        raise UnclearError("; ".join(changed))
    try:
        out: object = function(*values, **named)
    except Exception as error:  # noqa: BLE001  as it would be raised when the transform is called
        raise UnclearError(f"it raises {type(error).__name__}") from None
    return out


def _of_tensor(name: str, picture: Picture, values: Values, named: Named) -> Picture:
    """Arithmetic of a tensor and a number."""
    if not picture.is_tensor or named or len(values) != 1:
        raise UnclearError(f"it calls {name} of an image, or with more than a number")
    plain = name.rstrip("_")
    if values[0] is picture and plain == "add":
        return picture.then([Arithmetic("mul", 2)])  # the same number, without rounding
    return picture.then([Arithmetic(plain, number(values[0]))])


def calculated(op: type[ast.operator], left: object, right: object) -> Picture:
    """A sum, difference, product or quotient with a picture."""
    name = _OPERATORS.get(op, "")
    if isinstance(left, Picture) and name:
        return _of_tensor(name, left, [right], {})
    if isinstance(right, Picture) and name in ("add", "mul"):
        return _of_tensor(name, right, [left], {})
    if isinstance(right, Picture) and name == "sub" and right.is_tensor:
        return right.then([Arithmetic("rsub", number(left))])
    raise UnclearError("it calculates with an image")


OF_IMAGES = (of_image_ops, of_functional, of_torch)
METHODS: dict[str, Callable[[Picture, Values, Named], Picture]] = {
    "convert": convert,
    "filter": filtered,
    **{name: partial(_of_tensor, name) for name in (*ARITHMETIC, *IN_PLACE)},
}


def of_a_value(of: object, name: str, values: Values, named: Named) -> object:
    """What a method of a picture, a draw or a list makes. Raises UnclearError."""
    if isinstance(of, Picture):
        return METHODS[name](of, values, named)
    if isinstance(of, Uniform) and name == "item" and not values and not named:
        return of.item()
    if isinstance(of, Own) and name == "append" and len(values) == 1 and not named:
        return put(of, None, values[0])  # type: ignore[func-returns-value]
    raise UnclearError("")


def pillows(picture: Picture, name: str) -> Picture:
    """The same. Raises UnclearError where it is a tensor, or has one channel."""
    if picture.is_tensor:
        raise UnclearError(f"it calls {name} of a tensor")
    return picture


def number(value: object) -> float:
    """Raises UnclearError for anything else."""
    if type(value) is int or type(value) is float:
        return value
    raise UnclearError(f"it calculates with a {type(value).__name__}")


def _check_method(name: str) -> None:
    """Raise UnclearError for a method of Pillow's images that was patched."""
    image = sys.modules["PIL.Image"].Image
    _check(vars(image).get(name), "PIL.Image", f"Image.{name}")


def _check(value: object, module: str, name: str) -> None:
    """Raise UnclearError for a function that is not as its library's file has it."""
    if not isinstance(value, FunctionType) or codes(module) is None:
        raise UnclearError(f"it calls {module}.{name}, whose code cannot be read")
    if not reach.is_function(value, module, name):
        raise UnclearError(f"it calls {module}.{name}, which was patched")
    if changed := reach.changed(value):
        raise UnclearError("; ".join(changed))
