"""A user's class that only passes the image on to what it holds, as the presets of torchvision's references do."""

from types import FunctionType
from typing import Any

from fastload.lowering.names import LIBRARIES


def _model(self: Any, image: Any) -> Any:
    return self.held(image)


def inner(transform: Any) -> Any:
    """What an object calls with the image, if its whole `__call__` is `return self.NAME(image)`; else None.

    Its code is compared, not run: the same instructions as `_model`, a name that the object itself holds, nothing in between.
    """
    kind: Any = type(transform)
    call = getattr(kind, "__call__", None)  # noqa: B004  it is read, not only asked for
    if type(call) is not FunctionType or call.__module__.split(".")[0] in LIBRARIES or kind.__getattribute__ is not object.__getattribute__:
        return None
    code, model = call.__code__, _model.__code__
    shape = (code.co_code, code.co_argcount, code.co_kwonlyargcount, code.co_flags, len(code.co_names))
    if shape != (model.co_code, model.co_argcount, model.co_kwonlyargcount, model.co_flags, 1) or code.co_freevars:
        return None
    name = code.co_names[0]
    return None if hasattr(kind, name) else getattr(transform, "__dict__", {}).get(name)
