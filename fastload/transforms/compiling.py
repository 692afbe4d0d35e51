"""Users' functions on one image as machine code, by Numba where it is installed: native threads
call it without Python.
"""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OK, RAISED, OTHER_SHAPE = 0, 1, 2  # what the code returns; augment/program.h


@dataclass(frozen=True)
class Compiled:
    """A function's machine code."""

    call: Callable[..., Any]  # from Python: the same code, and its exceptions
    # Of `int32 (uint8 *image, int64 height, width, channels, const double *u, int64 count)`
    address: int
    result: str  # its type, as Numba writes it: "none" where it works in place
    owner: object  # keeps the code


def compiled(function: Callable[..., object], parameters: int, boundscheck: bool) -> Compiled | str:
    """The code of function(image) or function(image, u); or, in one line, why there is none."""
    if importlib.util.find_spec("numba") is None:
        return "Numba is not installed (pip install numba)"
    numba = importlib.import_module("numba")

    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT is set"
    types = (numba.types.Array(numba.uint8, 3, "C"), numba.types.Array(numba.float64, 1, "C"))[
        :parameters
    ]
    try:
        inner = numba.njit(types, boundscheck=boundscheck)(function)
        result = inner.nopython_signatures[0].return_type
        if not wanted(result):
            return Compiled(inner, 0, str(result), inner)
        outer = numba.cfunc(_signature(numba))(_outer(numba, inner, parameters, str(result)))
    except Exception as error:  # noqa: BLE001  whatever Numba cannot do is a reason
        return f"Numba cannot compile it: {first_line(error)}"
    return Compiled(inner, outer.address, str(result), outer)


def wanted(result: object) -> bool:
    """Whether a function with this type of result can be an op: nothing, or uint8 [height, width,
    channels].
    """
    return str(result) == "none" or str(result).startswith("array(uint8, 3d, ")


def first_line(error: Exception) -> str:
    """What Numba says, without the name of the step that failed."""
    said = [line.strip() for line in str(error).splitlines()]
    return next(
        (line for line in said if line and not line.startswith("Failed in ")), type(error).__name__
    )


def _signature(numba: Any) -> object:
    pointers = (numba.types.CPointer(numba.uint8), numba.types.CPointer(numba.float64))
    return numba.int32(pointers[0], numba.int64, numba.int64, numba.int64, pointers[1], numba.int64)


def _outer(numba: Any, inner: Any, parameters: int, result: str) -> Callable[..., int]:
    """What the native threads call.

    An exception must end here: beyond, Numba would print it and go on.
    """
    carray = numba.carray

    def without(image: object, u: object) -> object:
        return inner(image)

    run = inner if parameters == 2 else numba.njit(without)

    def change(data: Any, height: int, width: int, channels: int, uniforms: Any, count: int) -> int:
        try:
            run(carray(data, (height, width, channels)), carray(uniforms, (count,)))
        except Exception:  # noqa: BLE001
            return RAISED
        return OK

    def replace(
        data: Any, height: int, width: int, channels: int, uniforms: Any, count: int
    ) -> int:
        try:
            image = carray(data, (height, width, channels))
            pixels = run(image, carray(uniforms, (count,)))
            if pixels.shape != image.shape:
                return OTHER_SHAPE
            image[:] = pixels
        except Exception:  # noqa: BLE001
            return RAISED
        return OK

    return change if result == "none" else replace
