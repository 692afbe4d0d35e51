"""`super()` in a user's class that extends a transform of a library's."""

from collections.abc import Mapping, Sequence
from types import FunctionType, MethodType
from typing import NamedTuple

from fastload.lowering.columns import followable
from fastload.lowering.holding import is_plain, outer
from fastload.lowering.pictures import UnclearError

CALLS = ("__call__", "forward")
# What a class may have of its own though it extends a library's
HARMLESS = {
    *CALLS, "__annotations__", "__dict__", "__doc__", "__firstlineno__", "__init__", "__module__",
    "__qualname__", "__repr__", "__static_attributes__", "__weakref__",
}  # fmt: skip


class Inherited(NamedTuple):
    """A library's call of an image, of an object whose class is the user's."""

    home: type
    of: object

    def twin(self) -> object:
        """An object of the library's own class, in the same state.

        Raises UnclearError where the user's class has more of its own than the call.
        """
        kinds = type(self.of).__mro__
        inner = [vars(kind) for kind in kinds[: kinds.index(self.home)]]
        own = {name for held in inner for name in held}
        if changed := sorted(name for name in own - HARMLESS if hasattr(self.home, name)):
            raise UnclearError(f"it has its own {changed[0]}")
        # A property is found before what the object itself holds by that name
        made = {name for held in inner for name in held if hasattr(type(held[name]), "__set__")}
        if found := sorted(made & vars(self.of).keys()):
            raise UnclearError(f"its class makes {found[0]}")
        out: object = object.__new__(self.home)
        vars(out).update(vars(self.of))
        return out


class Super(NamedTuple):
    """What `super()` gives."""

    kind: type  # whose method asks
    of: object

    @classmethod
    def of_call(
        cls,
        function: FunctionType,
        env: Mapping[str, object],
        values: Sequence[object],
        named: Mapping[str, object],
    ) -> "Super":
        """Raises UnclearError."""
        code = function.__code__
        kind = outer(function, "__class__", {}) if "__class__" in code.co_freevars else None
        one = env.get(code.co_varnames[0]) if code.co_argcount else None
        if values or named or not isinstance(kind, type) or kind not in type(one).__mro__:
            raise UnclearError("it calls super with arguments, or of no class of its own")
        if not is_plain(one):
            raise UnclearError("it finds its attributes in its own way")
        return cls(kind, one)

    def attribute(self, name: str) -> object:
        """Raises UnclearError for all but methods."""
        kinds = type(self.of).__mro__
        for home in kinds[kinds.index(self.kind) + 1 :]:
            if name not in vars(home):
                continue
            theirs = home.__module__.partition(".")[0] in ("torchvision", "timm")
            if theirs and name in CALLS:
                return Inherited(home, self.of)
            function = vars(home)[name]
            if isinstance(function, FunctionType) and (not theirs or followable(function)):
                return MethodType(function, self.of)
            break
        raise UnclearError(f"it calls {name} of super()")
