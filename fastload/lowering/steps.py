"""What one function, class or registry of the libraries mentions: a step on the way of a call."""

import builtins
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import NamedTuple

from PIL import Image, JpegImagePlugin

from fastload.lowering.codes import codes, is_defined, is_library, library, names
from fastload.lowering.lookup import (
    MISSING,
    Space,
    cells,
    concerns_libraries,
    facts,
    find_attribute,
    inner_function,
    is_class,
    is_method,
    spaces,
)

Key = tuple[int, object]  # the id of a class or of a space, and a name in it


class Called(NamedTuple):
    function: FunctionType
    kind: type | None  # class of the object whose method it is


class Entry(NamedTuple):
    """What a space held by this name; MISSING: nothing."""

    space: Space
    name: object
    value: object


class Method(NamedTuple):
    """What a class or its bases held by this name; MISSING: nothing."""

    kind: type
    name: str
    value: object


class Registry(NamedTuple):
    """A dict by which functions are chosen."""

    name: str
    entries: Space
    size: int


class Difference(NamedTuple):
    """What is not as in its library's file."""

    kind: type | None  # the class, where it is a method that is called by that name
    method: str
    name: str  # qualified
    value: object  # what is there


# What runs of an object: by Python, by PyTorch's loader.
ENTRIES = (
    "__call__", "__getitem__", "__getitems__", "__getattr__", "__getattribute__", "__iter__",
    "__len__", "fetch", "forward", "transform",
)  # fmt: skip
# Of an image of Pillow's while a JPEG is opened and decoded.
JPEGS = frozenset({
    "__init__", "_open", "draft", "load", "load_prepare", "load_read", "load_end",
    "__array_interface__",
})  # fmt: skip
# Of classes that the code makes objects of.
BUILT = ("__init__", "__new__", "__call__", "__torch_function__")
# All that counts of torch.nn.Module.
MODULES = ("__call__", "_wrapped_call_impl", "_call_impl", "__getattr__")
HOME = "torch.nn.modules.module"


class Step:
    """What one function, class or registry mentions: where it is held now, what it leads to, what
    is not as in its file.
    """

    def __init__(self) -> None:
        self.spaces: dict[Key, Entry] = {}
        self.methods: dict[Key, Method] = {}
        self.functions: dict[FunctionType, tuple[object, ...]] = {}  # and their facts
        self.registries: dict[int, Registry] = {}
        self.next: list[Called] = []
        self.differences: list[Difference] = []

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
    def of_registry(cls, name: str, registry: Space) -> "Step":
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
        self.spaces[id(Image.OPEN), "JPEG"] = Entry(Image.OPEN, "JPEG", Image.OPEN.get("JPEG"))
        self.spaces[id(Image.DECODERS), "jpeg"] = Entry(Image.DECODERS, "jpeg", decoder)
        self._reached(opener, JpegImagePlugin.__name__, "jpeg_factory", None)
        if decoder is not MISSING:
            self._differs("PIL.Image.DECODERS[jpeg]", decoder)

    def _global(self, module: str, space: Space, name: str, mentioned: frozenset[str]) -> None:
        value = space[name]
        if (id(space), name) not in self.spaces:
            self.spaces[id(space), name] = Entry(space, name, value)
            if isinstance(value, dict):
                self._registry(f"{module}.{name}", value)
            elif not isinstance(value, (type, ModuleType)):
                self._reached(value, module, name, None)
            elif isinstance(value, type) and not is_class(value, module, name):
                self._differs(f"{module}.{name}", value)
        if isinstance(value, type) and library(value.__module__):
            self._in_class(value, mentioned.union(BUILT))

    def _builtin(self, space: Space, name: str) -> None:
        value = vars(builtins)[name]
        self.spaces[id(space), name] = Entry(space, name, MISSING)
        self.spaces[id(vars(builtins)), name] = Entry(vars(builtins), name, value)
        if callable(value) and not isinstance(value, (BuiltinFunctionType, type)):
            self._differs(f"builtins.{name}", value)

    def _registry(self, name: str, registry: Space) -> None:
        """A dict by which functions are chosen: by name, by type, or by a function that such a dict
        is for.
        """
        self.registries[id(registry)] = Registry(name, registry, len(registry))
        if registry is Image.OPEN:  # whose other formats are Pillow's natively too
            return
        for key, held in list(registry.items()):
            functions = [
                one
                for one in (held if isinstance(held, tuple) else (held,))
                if isinstance(one, FunctionType)
            ]
            for value in functions if concerns_libraries(key) else ():
                self.spaces[id(registry), key] = Entry(registry, key, held)
                which = key.__name__ if isinstance(key, type) else key
                if is_library(value):
                    self._see(value, None)
                else:
                    self._differs(f"{name}[{which}]", value)

    def _in_class(self, kind: type, mentioned: Iterable[str]) -> None:
        for name in mentioned:
            if (id(kind), name) in self.methods:
                continue
            value, home = find_attribute(kind, name)
            if home is not None and home.__module__ == HOME and name not in MODULES:
                continue
            if home is None and name not in ENTRIES:
                continue
            self.methods[id(kind), name] = Method(kind, name, value)
            if home is not None and home is not object:
                self._method(kind, home, name, value)

    def _method(self, kind: type, home: type, name: str, value: object) -> None:
        function = inner_function(value)
        where = f"{home.__qualname__}.{name}"
        if isinstance(function, FunctionType):
            if is_method(function, kind, home, name):
                self._see(function, kind)
            else:
                qualified = f"{home.__module__}.{where}"
                self.differences.append(Difference(kind, name, qualified, function))
        elif where in (codes(home.__module__) or {} if library(home.__module__) else {}):
            self._differs(f"{home.__module__}.{where}", value)

    def _reached(self, value: object, module: str, name: str, kind: type | None) -> None:
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
        self.next.append(Called(function, kind))
        for inner in (getattr(function, "__wrapped__", None), *cells(function)):
            if isinstance(inner, FunctionType):
                home = str(inner.__globals__.get("__name__"))
                self._reached(inner, home, inner.__qualname__, kind)

    def _differs(self, name: str, value: object) -> None:
        self.differences.append(Difference(None, "", name, value))
