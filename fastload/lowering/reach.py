"""Whether library code that native code stands in for is what the library's files define, and nobody's patch.

Looked at is what a call can reach: by the names that its code mentions, in its class, in its globals, in the modules
and registries among these, and in Pillow's image. A call's code is followed through torchvision, timm, Pillow and
PyTorch's loader; what it calls in torch, NumPy and Python is taken as it is.
"""

import builtins
import sys
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from PIL import Image, JpegImagePlugin

from fastload.lowering.codes import codes, is_defined, is_library, library, names
from fastload.lowering.lookup import (
    MISSING,
    cells,
    concerns_libraries,
    facts,
    found,
    inner_function,
    is_class,
    is_method,
    same,
    shown,
    spaces,
)  # fmt: skip

Reasons = list[str]
Key = tuple[int, Any]
Called = tuple[FunctionType, type | None]  # a function, and the class of the object whose method it is
# What runs of an object: by Python, by PyTorch's loader.
ENTRIES = (
    "__call__", "__getitem__", "__getitems__", "__getattr__", "__getattribute__", "__iter__", "__len__", "fetch",
    "forward", "transform",
)  # fmt: skip
JPEGS = frozenset(("__init__", "_open", "draft", "load", "load_prepare", "load_read", "load_end", "__array_interface__"))
BUILT = ("__init__", "__new__", "__call__", "__torch_function__")  # of classes that the code makes objects of
MODULES = ("__call__", "_wrapped_call_impl", "_call_impl", "__getattr__")  # all that counts of torch.nn.Module
HOME = "torch.nn.modules.module"


class Step:
    """What one function, class or registry mentions: where it is held now, what it leads to, what is not as in its file."""

    def __init__(self) -> None:
        self.spaces: dict[Key, tuple[dict[Any, Any], Any, Any]] = {}  # where it was found, by what name, what
        self.methods: dict[Key, tuple[type, str, Any]] = {}
        self.functions: dict[FunctionType, tuple[Any, ...]] = {}
        self.registries: dict[int, tuple[str, dict[Any, Any], int]] = {}
        self.next: list[Called] = []
        self.differences: list[tuple[type | None, str, str, Any]] = []  # class, method's name, qualified name, what is there

    @classmethod
    def of(cls, root: type | FunctionType) -> "Step":
        step = cls()
        if isinstance(root, type):
            step._in_class(root, ENTRIES)
        else:
            step._reached(root, str(root.__globals__.get("__name__")), root.__qualname__, None)
        return step

    @classmethod
    def of_call(cls, function: FunctionType, kind: type | None) -> "Step":
        """kind: of the object whose method it is."""
        step = cls()
        step._names(function, kind)
        return step

    @classmethod
    def of_registry(cls, name: str, registry: dict[Any, Any]) -> "Step":
        step = cls()
        step._registry(name, registry)
        return step

    def _names(self, function: FunctionType, kind: type | None) -> None:
        """Everything that the code of a function mentions."""
        mentioned = names(function.__code__)
        if kind is not None:
            self._in_class(kind, mentioned)
        for module, space in spaces(function, mentioned):
            for name in mentioned & space.keys():
                self._global(module, space, name, mentioned)
        for name in mentioned - function.__globals__.keys():
            if name in vars(builtins):
                self._builtin(function.__globals__, name)
        if function.__globals__ is vars(Image) and function.__name__ == "open":
            mentioned |= JPEGS
            self._jpegs()
        self._in_class(JpegImagePlugin.JpegImageFile, mentioned)

    def _jpegs(self) -> None:
        """What Pillow opens and decodes JPEGs with."""
        opener, decoder = Image.OPEN.get("JPEG", (None,))[0], Image.DECODERS.get("jpeg", MISSING)
        self.spaces[id(Image.OPEN), "JPEG"] = (Image.OPEN, "JPEG", Image.OPEN.get("JPEG"))
        self.spaces[id(Image.DECODERS), "jpeg"] = (Image.DECODERS, "jpeg", decoder)
        self._reached(opener, JpegImagePlugin.__name__, "jpeg_factory", None)
        if decoder is not MISSING:
            self._differs("PIL.Image.DECODERS[jpeg]", decoder)

    def _global(self, module: str, space: dict[str, Any], name: str, mentioned: frozenset[str]) -> None:
        value = space[name]
        if (id(space), name) not in self.spaces:
            self.spaces[id(space), name] = (space, name, value)
            if isinstance(value, dict):
                self._registry(f"{module}.{name}", value)
            elif not isinstance(value, (type, ModuleType)):
                self._reached(value, module, name, None)
            elif isinstance(value, type) and not is_class(value, module, name):
                self._differs(f"{module}.{name}", value)
        if isinstance(value, type) and library(value.__module__):
            self._in_class(value, mentioned.union(BUILT))

    def _builtin(self, space: dict[str, Any], name: str) -> None:
        value = vars(builtins)[name]
        self.spaces[id(space), name] = (space, name, MISSING)
        self.spaces[id(vars(builtins)), name] = (vars(builtins), name, value)
        if callable(value) and not isinstance(value, (BuiltinFunctionType, type)):
            self._differs(f"builtins.{name}", value)

    def _registry(self, name: str, registry: dict[Any, Any]) -> None:
        """A dict by which functions are chosen: by name, by type, or by a function that such a dict is for."""
        self.registries[id(registry)] = (name, registry, len(registry))
        if registry is Image.OPEN:  # whose other formats are Pillow's natively too
            return
        for key, held in list(registry.items()):
            functions = [one for one in (held if isinstance(held, tuple) else (held,)) if isinstance(one, FunctionType)]
            for value in functions if concerns_libraries(key) else ():
                self.spaces[id(registry), key] = (registry, key, held)
                which = key.__name__ if isinstance(key, type) else key
                if is_library(value):
                    self._see(value, None)
                else:
                    self._differs(f"{name}[{which}]", value)

    def _in_class(self, kind: type, mentioned: Any) -> None:
        for name in mentioned:
            if (id(kind), name) in self.methods:
                continue
            value, home = found(kind, name)
            if home is not None and home.__module__ == HOME and name not in MODULES:
                continue
            if home is None and name not in ENTRIES:
                continue
            self.methods[id(kind), name] = (kind, name, value)
            if home not in (None, object):
                self._method(kind, home, name, value)

    def _method(self, kind: type, home: Any, name: str, value: Any) -> None:
        function = inner_function(value)
        where = f"{home.__qualname__}.{name}"
        if isinstance(function, FunctionType):
            if is_method(function, kind, home, name):
                self._see(function, kind)
            else:
                self.differences.append((kind, name, f"{home.__module__}.{where}", function))
        elif where in (codes(home.__module__) or {} if library(home.__module__) else {}):
            self._differs(f"{home.__module__}.{where}", value)

    def _reached(self, value: Any, module: str, name: str, kind: type | None) -> None:
        """Something that is not a class, as the file of `module` must define it by this name."""
        function = inner_function(value)
        if isinstance(function, FunctionType):
            if is_defined(function, module, name):
                self._see(function, kind)
            else:
                self._differs(f"{module}.{name}", function)
        elif name in (codes(module) or {}):
            self._differs(f"{module}.{name}", value)

    def _see(self, function: FunctionType, kind: type | None) -> None:
        if function in self.functions:
            return
        self.functions[function] = facts(function)
        if not library(function.__globals__.get("__name__")):
            return
        self.next.append((function, kind))
        for inner in (getattr(function, "__wrapped__", None), *cells(function)):
            if isinstance(inner, FunctionType):
                home = str(inner.__globals__.get("__name__"))
                self._reached(inner, home, inner.__qualname__, kind)

    def _differs(self, name: str, value: Any) -> None:
        self.differences.append((None, "", name, value))


class Known:
    """Everything that has been looked at in this process, each place once."""

    def __init__(self) -> None:
        self.reasons: dict[Any, Reasons] = {}  # by class or function
        self.steps: dict[Any, Step] = {}
        self.spaces: dict[Key, tuple[dict[Any, Any], Any, Any]] = {}
        self.methods: dict[Key, tuple[type, str, Any]] = {}
        self.functions: dict[FunctionType, tuple[Any, ...]] = {}
        self.registries: dict[int, tuple[str, dict[Any, Any], int]] = {}

    def find(self, root: type | FunctionType) -> Reasons:
        """Why a call of it is not what its library's files say: every step that it leads to is made, once for all."""
        first = self._step(root, lambda: Step.of(root))
        reached, seen, todo = [first], set[Called](), list(first.next)
        kernels = set[tuple[int, FunctionType]]()
        while todo:
            call = todo.pop()
            if call not in seen:
                seen.add(call)
                reached.append(self._step(call, partial(Step.of_call, *call)))
                todo += reached[-1].next
            if todo:
                continue
            registries = {number: held for step in reached for number, held in step.registries.items()}
            for number, (name, registry, _) in registries.items():
                for key in {function for function, _ in seen if function in registry}:
                    if (number, key) not in kernels:
                        kernels.add((number, key))
                        make = partial(Step.of_registry, f"{name}[{key.__qualname__}]", registry[key])
                        reached.append(self._step((number, key), make))
                        todo += reached[-1].next
        found = dict.fromkeys(_reason(root, *difference) for step in reached for difference in step.differences)
        return list(found)

    def _step(self, key: Any, make: Callable[[], Step]) -> Step:
        if key not in self.steps:
            step = self.steps[key] = make()
            self.spaces |= step.spaces
            self.methods |= step.methods
            self.functions |= step.functions
            self.registries |= step.registries
        return self.steps[key]

    def still(self) -> bool:
        """Whether everything is in its place, as it was; below 1 ms."""
        return (
            all(space.get(name, MISSING) is value for space, name, value in list(self.spaces.values()))
            and all(found(kind, name)[0] is value for kind, name, value in list(self.methods.values()))
            and all(len(registry) == count for _, registry, count in list(self.registries.values()))
            and all(same(held, facts(function)) for function, held in list(self.functions.items()))
        )


def _reason(root: type | FunctionType, kind: type | None, method: str, name: str, value: Any) -> str:
    if kind is root:
        return f"{shown(root)} has its own {method}"
    return f"{shown(root)} calls {name}, which is {shown(value)}"


_process = [Known()]  # one, which threads read and replace


def refresh() -> None:
    """Forget what has been found, if anything of it was patched since. To be called before `changed` is asked."""
    if not _process[0].still():
        _process[0] = Known()


def changed(of: type | FunctionType) -> Reasons:
    """Why a call of it is not what its library's files say."""
    known = _process[0]
    if of not in known.reasons:
        known.reasons[of] = known.find(of)
    return known.reasons[of]


def unread() -> list[str]:
    """Modules that were to be compared, and whose files cannot be read."""
    homes = {str(function.__globals__.get("__name__")) for function in list(_process[0].functions)}
    return sorted(name for name in homes if library(name) and codes(name) is None)


def is_whole(value: Any) -> bool:
    """Whether it is a function of a library's, inner ones too, that calls what the library's files say."""
    return isinstance(value, FunctionType) and is_library(value) and not changed(value)


def is_function(value: Any, module: str, name: str) -> bool:
    """Whether it is the function that the module's file defines; where that cannot be read, the one that has its name."""
    space = vars(sys.modules[module])
    if codes(module) is None:
        return value is space.get(name)
    return type(value) is FunctionType and value.__globals__ is space and is_defined(value, module, name)
