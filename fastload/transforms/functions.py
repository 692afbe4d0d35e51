"""AUGMENT: users' functions on one image as ops. docs/custom-ops.md is the guide."""

import functools
import importlib
import inspect
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinMethodType, MethodType
from typing import overload

import numpy as np

from fastload import rng
from fastload.errors import OpError, PipelineError
from fastload.spec import Floats, Ints, Pixels, Spec
from fastload.transforms.base import Params
from fastload.transforms.compiling import Compiled, compiled, wanted
from fastload.transforms.programs import CODE, Program, rows

MOST_DRAWS = 1 << 18


@dataclass(frozen=True, repr=False)
class Custom(Program):
    """A function on uint8 [height, width, channels] that changes it in place, or returns another of
    the same shape.

    uniforms: how many of the sample's own random numbers, in [0, 1), it gets as its second
        argument, float64; 0: it has none.
    boundscheck: an index outside an array is an error of the sample. False is for code that is
        known to have none.
    """

    function: Callable[..., object]
    uniforms: int = 0
    boundscheck: bool = True

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __repr__(self) -> str:
        return f"{self.name}(custom, draws={self.uniforms})"

    def problems(self, spec: Spec) -> list[str]:
        problems = _draw_problems(self.uniforms) or _parameter_problems(
            self.function, self.uniforms
        )
        problems += _random_problems(self.function)
        if not problems and isinstance(self.code, Compiled) and not wanted(self.code.result):
            wanted_result = (
                "want nothing (it works in place) or uint8 [height, width, channels]; "
                "end with .astype(np.uint8)"
            )
            problems.append(f"returns {self.code.result}, {wanted_result}")
        return problems

    @functools.cached_property
    def code(self) -> Compiled | str:
        """Its machine code; or why there is none."""
        return compiled(self.function, 2 if self.uniforms else 1, self.boundscheck)

    def draws(self, spec: Spec) -> int:
        return 1 if self.uniforms else 0  # the key that all its numbers come from

    def params(self, u: Floats, sizes: Ints) -> Params:
        key = u * 2.0**32 if self.uniforms else np.zeros((len(sizes), 1))
        return Params(rows(CODE["Custom"], key), sizes)

    def run(self, pixels: Pixels, key: int) -> Pixels:
        """What the function makes of uint8 [height, width, channels], by its machine code if there
        is any. Raises OpError.
        """
        image = np.array(pixels, order="C")
        call = self.code.call if isinstance(self.code, Compiled) else self.function
        try:
            changed = (
                call(image, rng.keyed_uniforms(key, self.uniforms))
                if self.uniforms
                else call(image)
            )
        except Exception as error:
            raise OpError(f"{self.name} raised {type(error).__name__}: {error}") from error
        if changed is None:
            return image
        if not isinstance(changed, np.ndarray) or (changed.dtype, changed.shape) != (
            image.dtype,
            image.shape,
        ):
            got = (
                f"{changed.dtype} {list(changed.shape)}"
                if isinstance(changed, np.ndarray)
                else type(changed).__name__
            )
            raise OpError(f"{self.name} returned {got}, want nothing or uint8 {list(image.shape)}")
        return np.ascontiguousarray(changed)

    def __copy__(self) -> "Custom":
        return self

    def __deepcopy__(self, memo: object) -> "Custom":
        return self

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        """By name, as functions are pickled: the decorated name is the op.

        Raises PipelineError where it has none.
        """
        name = (str(self.function.__module__), str(self.function.__qualname__))
        if _named(*name) is not self:
            problem = (
                f"{'.'.join(name)} is no name of a module, so worker processes of the "
                "torch backend cannot find it"
            )
            raise PipelineError(
                [
                    (
                        f"{self.name}: {problem}; put @custom at the top of a module, or use "
                        "num_workers=0"
                    )
                ]
            )
        return _named, name


@overload
def custom(
    function: Callable[..., object], *, draws: int = 0, boundscheck: bool = True
) -> Custom: ...


@overload
def custom(
    function: None = None, *, draws: int = 0, boundscheck: bool = True
) -> Callable[[Callable[..., object]], Custom]: ...


def custom(
    function: Callable[..., object] | None = None, *, draws: int = 0, boundscheck: bool = True
) -> Custom | Callable[[Callable[..., object]], Custom]:
    """Make an op of AUGMENT out of a function, as a decorator: @custom, or @custom(draws=2).

    Args:
        function: Takes an image, uint8 [height, width, channels], and, if draws is not 0, u:
            float64 [draws], uniform in [0, 1), the same for the same seed, epoch and sample
            whatever else changes. It changes the image in place, or returns another one.
        draws: How many random numbers it gets.
        boundscheck: Whether an index outside an array is an error of the sample. False is for code
            that is known to have none.

    Returns:
        The op; of @custom(...), what makes it.

    Raises:
        PipelineError: `function` cannot be called.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> @T.custom
        ... def darker(image):
        ...     image //= 2
        >>> darker(Image.new("RGB", (120, 90), "white")).getpixel((0, 0))
        (127, 127, 127)
    """
    if function is None:
        return lambda given: custom(given, draws=draws, boundscheck=boundscheck)
    if not callable(function):
        raise PipelineError(
            [f"custom: got {function!r}, want a function; write @custom or @custom(draws=2)"]
        )
    # `py_func`: the function that numba.njit has decorated
    return Custom(getattr(function, "py_func", function), draws, boundscheck)


def _named(module: str, name: str) -> object:
    """What is called so; None if nothing is."""
    try:
        value: object = importlib.import_module(module)
    except (ImportError, ValueError):
        return None
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _draw_problems(draws: object) -> list[str]:
    fits = isinstance(draws, int) and not isinstance(draws, bool) and 0 <= draws <= MOST_DRAWS
    return [] if fits else [f"draws is {draws!r}, want a whole number from 0 to {MOST_DRAWS}"]


def _parameter_problems(function: Callable[..., object], draws: int) -> list[str]:
    try:
        inspect.signature(function).bind(*range(2 if draws else 1))
    except TypeError:
        got, want = inspect.signature(function), "(image, u)" if draws else "(image)"
        return [f"takes {got}, want {want}, since draws is {draws}"]
    except ValueError:  # no signature is known, as of some builtins
        pass
    return []


def _random_problems(function: Callable[..., object]) -> list[str]:
    """Generators that no seed of the loader reaches, as far as the function itself names them."""
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    try:
        found = inspect.getclosurevars(function)
    except (TypeError, ValueError):  # no function of Python's, or a name that is not set yet
        return []
    values = (*found.nonlocals.values(), *found.globals.values())
    if not any(_draws(value, names) for value in values):
        return []
    unseeded = "uses a random generator that the loader's seed does not reach"
    return [f"{unseeded}; use draws=N and the uniforms u"]


def _draws(value: object, names: tuple[str, ...]) -> bool:
    """Whether it is a generator, or has one for a function that has these names."""
    torch = sys.modules.get("torch")
    if value is random or value is np.random or (value is np and "random" in names):
        return True
    if torch is not None and value is torch and any(name.startswith("rand") for name in names):
        return True
    of = value.__self__ if isinstance(value, (BuiltinMethodType, MethodType)) else value
    return isinstance(of, (random.Random, np.random.Generator, np.random.RandomState))
