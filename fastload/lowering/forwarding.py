"""A user's class that only passes the image on to what it holds, as the presets of torchvision's
references do.
"""

import inspect
from collections.abc import Callable
from types import FunctionType

from fastload.lowering.names import LIBRARIES

# A function that is none of these takes its arguments one by one and returns what it returns.
OTHER = (
    inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
)  # fmt: skip


class _Model:
    """What an object that only passes an image on looks like."""

    held: Callable[[object], object]

    def __call__(self, image: object) -> object:
        return self.held(image)


class _JointModel:
    """The same of an image and its target."""

    held: Callable[[object, object], object]

    def __call__(self, image: object, target: object) -> object:
        return self.held(image, target)


def inner(transform: object, *, joint: bool = False) -> object:
    """What an object calls with the image, if its whole `__call__` is `return self.NAME(image)`,
    and with joint `return self.NAME(image, target)`; else None.

    Its code is compared, not run: the same instructions as `_Model`, a name that the object itself
    holds, nothing in between.
    """
    kind = type(transform)
    call: object = getattr(kind, "__call__", None)  # noqa: B004  it is read, not only asked for
    looks = getattr(kind, "__getattribute__", None)
    if type(call) is not FunctionType or looks is not object.__getattribute__:
        return None
    if str(call.__module__).split(".")[0] in LIBRARIES:  # torchvision's Lambda, say, which is known
        return None
    model = (_JointModel if joint else _Model).__call__.__code__
    code = call.__code__
    shape = (code.co_code, code.co_argcount, code.co_kwonlyargcount, len(code.co_names))
    if (
        shape != (model.co_code, model.co_argcount, model.co_kwonlyargcount, 1)
        or code.co_freevars
        or code.co_flags & OTHER
    ):
        return None
    name = code.co_names[0]
    return None if hasattr(kind, name) else getattr(transform, "__dict__", {}).get(name)
