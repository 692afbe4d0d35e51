"""The expressions of a user's function: what each one is, while the function is followed."""

import ast
from pathlib import PurePath
from types import FunctionType, MethodType, ModuleType
from typing import NamedTuple, Protocol

import torch

from fastload.lowering import (
    calculating,
    columns,
    frames,
    holding,
    inheriting,
    labels,
    meanings,
    sets,
    texts,
)
from fastload.lowering.codes import library
from fastload.lowering.columns import Column, Files, Opened
from fastload.lowering.pictures import Chance, Picture, UnclearError, Uniform, joined
from fastload.lowering.sets import Own, OwnDict

Env = dict[str, object]
FOLLOWED_BUILTINS = {
    one.__name__: one for one in (range, list, tuple, len, float, int, str, open, isinstance, super)
}


_CALCULATE = meanings.ARITHMETIC
# In place of values of the program's, which have other attributes
OURS = (Chance, Column, meanings.Blur, sets.Stack)


class Run(Protocol):
    """The look that a function is followed in."""

    files: Files | None  # of a data set that is followed
    frozen: int  # above 0: in a part of an expression that runs by chance

    def apply(self, transform: object, value: object, /) -> object:
        """What a transform makes of a value."""

    def call(self, function: FunctionType, values: list[object], named: Env) -> object:
        """What a function of the user's returns."""

    def count(self) -> None:
        """Raises UnclearError where there is too much to do."""


class _Method(NamedTuple):
    """A method of a picture or of a list."""

    of: object
    name: str


class Expressions:
    """A function that is followed, with its variables."""

    def __init__(self, run: Run, function: FunctionType, env: Env) -> None:
        self.follower, self.function, self.env = run, function, env
        self.new: object = None  # a tensor that was calculated last, and that nothing else holds
        self.lent = [value for value in env.values() if isinstance(value, (Own, OwnDict))]

    def _assign(self, target: ast.expr, value: object) -> None:
        self.new = None
        if isinstance(target, ast.Name):
            self.env[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            rows = isinstance(value, (Column, frames.Row))
            parts = value.unpacked() if rows else holding.items(value)  # type: ignore[attr-defined]
            if len(parts) != len(target.elts):
                raise UnclearError("it unpacks another number of values")
            for inner, part in zip(target.elts, parts, strict=True):
                self._assign(inner, part)
        elif isinstance(target, ast.Subscript) and not self.follower.frozen:
            into = self.value(target.value)
            if not isinstance(into, OwnDict):
                raise UnclearError(f"it sets `{ast.unparse(target)}`")
            sets.put(into, self.value(target.slice), value)
        else:
            raise UnclearError(f"it sets `{ast.unparse(target)}`")

    def value(self, node: ast.expr) -> object:
        """Of an expression."""
        self.follower.count()
        how = getattr(self, f"_{type(node).__name__.lower()}", None)
        if how is None:
            raise UnclearError(f"it has `{ast.unparse(node)[:60]}`")
        return how(node)

    def _constant(self, node: ast.Constant) -> object:
        return node.value

    def _name(self, node: ast.Name) -> object:
        if node.id in self.env:
            return self.env[node.id]
        return holding.outer(self.function, node.id, FOLLOWED_BUILTINS)

    def _attribute(self, node: ast.Attribute) -> object:
        of = self.value(node.value)
        if any(kind.has(of, node.attr) for kind in (texts, labels)):
            return _Method(of, node.attr)
        if (part := texts.part(of, node.attr)) is not None:
            return part
        if frames.knows(of):
            return frames.attribute(of, node.attr)
        if isinstance(of, OURS):
            raise UnclearError(f"it uses `{ast.unparse(node)[:60]}`")
        if isinstance(of, Picture):
            in_place = node.attr in meanings.IN_PLACE and of is not self.new
            if node.attr not in meanings.METHODS or in_place:
                raise UnclearError(f"it uses `{ast.unparse(node)[:60]}`")
        if isinstance(of, (Picture, Uniform, list, Opened)):
            return _Method(of, node.attr)
        if isinstance(of, inheriting.Super):
            return of.attribute(node.attr)
        return holding.attribute(of, node.attr)

    def _tuple(self, node: ast.Tuple) -> tuple[object, ...]:
        return tuple(self._parts(node.elts))

    def _list(self, node: ast.List) -> list[object]:
        return Own(self._parts(node.elts))

    def _dict(self, node: ast.Dict) -> dict[str, object]:
        out = OwnDict()
        for key, part in zip(node.keys, node.values, strict=True):
            if key is None:
                raise UnclearError(f"it has `{ast.unparse(node)[:60]}`")
            sets.put(out, self.value(key), self.value(part))
        return out

    def _parts(self, nodes: list[ast.expr]) -> list[object]:
        out: list[object] = []
        for node in nodes:
            starred = isinstance(node, ast.Starred)
            value = self.value(node.value if isinstance(node, ast.Starred) else node)
            out += map(sets.kept, holding.items(value) if starred else [value])
        return out

    def _listcomp(self, node: ast.ListComp) -> list[object]:
        first, *more = node.generators
        if more or first.ifs or first.is_async:
            raise UnclearError(f"it has `{ast.unparse(node)[:60]}`")
        out, outside = Own(), dict(self.env)
        for item in holding.items(self.value(first.iter)):
            self._assign(first.target, item)
            out += self._parts([node.elt])
        self.env = outside
        return out

    def _subscript(self, node: ast.Subscript) -> object:
        held, key = self.value(node.value), self.value(node.slice)
        if frames.knows(held):
            return frames.item(held, key)
        if isinstance(held, Column) or isinstance(key, Column):
            return columns.looked_up(held, key)
        return holding.item(held, key)

    def _slice(self, node: ast.Slice) -> slice:
        ends = (node.lower, node.upper, node.step)
        return slice(*(None if end is None else self.value(end) for end in ends))

    def _joinedstr(self, node: ast.JoinedStr) -> object:
        """An f-string."""
        return texts.strung([self._formatted(part) for part in node.values]) if node.values else ""

    def _formatted(self, part: ast.expr) -> tuple[object, str]:
        """What stands in an f-string, and its format."""
        if not isinstance(part, ast.FormattedValue):
            return self.value(part), ""
        how = "" if part.format_spec is None else self.value(part.format_spec)
        if part.conversion not in (-1, ord("s")) or not isinstance(how, str):
            raise UnclearError(f"it has `{ast.unparse(part)[:60]}`")
        value = self.value(part.value)
        return (columns.made(str, [value]) if part.conversion == ord("s") else value), how

    def _binop(self, node: ast.BinOp) -> object:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, Picture) or isinstance(right, Picture):
            self.new = meanings.calculated(type(node.op), left, right)
            return self.new
        if type(left) is str and isinstance(node.op, ast.Mod):
            return texts.percent(left, right)
        if any(isinstance(side, (Column, str, PurePath)) for side in (left, right)):
            return columns.binary(type(node.op).__name__, left, right)
        return calculating.binary(node.op, left, right)

    def _unaryop(self, node: ast.UnaryOp) -> object:
        return calculating.unary(node.op, self.value(node.operand))

    def _boolop(self, node: ast.BoolOp) -> object:
        """Plain values decide one by one; only the last may be a chance."""
        ends = isinstance(node.op, ast.Or)
        for part in node.values[:-1]:
            value = self.value(part)
            if isinstance(value, Chance):
                raise UnclearError(f"it has `{ast.unparse(node)[:60]}`")
            if calculating.truth(value) is ends:
                return value
        return self.value(node.values[-1])

    def _compare(self, node: ast.Compare) -> object:
        if len(node.ops) != 1:
            raise UnclearError(f"it has `{ast.unparse(node)[:60]}`")
        values = self.value(node.left), self.value(node.comparators[0])
        return calculating.compared(node.ops[0], *values)

    def _ifexp(self, node: ast.IfExp) -> object:
        test = self.value(node.test)
        if isinstance(test, Column):
            return columns.chosen(test, self.value(node.body), self.value(node.orelse))
        test = calculating.truth(test)
        if isinstance(test, Chance):
            self.follower.frozen += 1
            try:
                return joined(test, self.value(node.body), self.value(node.orelse))
            finally:
                self.follower.frozen -= 1
        return self.value(node.body if test else node.orelse)

    def _call(self, node: ast.Call) -> object:
        function = self.value(node.func)
        if any(isinstance(each, ast.Starred) for each in node.args):
            raise UnclearError(f"it has `{ast.unparse(node)[:60]}`")
        values = list(map(self.value, node.args))
        if any(keyword.arg is None for keyword in node.keywords):
            raise UnclearError(f"it has `{ast.unparse(node)[:60]}`")
        named = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        try:
            return self._called(function, values, named)
        except UnclearError as error:
            raise error if error.args[0] or error.reasons else UnclearError(_calls(node)) from None

    def _rgb(self, opened: object) -> Picture:
        if self.follower.files is None or not isinstance(opened, Opened) or self.follower.frozen:
            raise UnclearError("")
        return self.follower.files.picture(opened)

    def _of_method(self, function: _Method, values: list[object], named: Env) -> object:
        if isinstance(function.of, list) and self.follower.frozen:
            raise UnclearError("it fills a list by chance")
        if isinstance(function.of, Opened):
            called = function.name, values, named
            if called != ("convert", ["RGB"], {}) or not function.of.is_image:
                raise UnclearError(f"it calls {function.name} of a file")
            return self._rgb(function.of)
        for kind in (texts, labels):
            if kind.has(function.of, function.name):
                return kind.method(function.of, function.name, values, named)
        out = meanings.of_a_value(function.of, function.name, values, named)
        calculated = isinstance(function.of, Picture) and function.name[:3] in _CALCULATE
        self.new = out if calculated else None
        return out

    def _of_builtin(self, function: holding.Builtin, values: list[object], named: Env) -> object:
        if function.function is super:
            return inheriting.Super.of_call(self.function, self.env, values, named)
        if function.function is len and len(values) == 1 and frames.has_length(values[0]):
            return frames.length(values[0])
        return function.call(values, named)

    def _called(self, function: object, values: list[object], named: Env) -> object:
        """Raises UnclearError("") for a call that has no meaning here."""
        if isinstance(function, _Method):
            return self._of_method(function, values, named)
        if (number := labels.called(function, values, named)) is not None:
            return number
        if (of_data := columns.called(function, values, named)) is not None:
            made = isinstance(of_data, Opened) and columns.loads(function)
            return self._rgb(of_data) if made else of_data
        if isinstance(function, holding.Builtin):
            return self._of_builtin(function, values, named)
        if isinstance(function, inheriting.Inherited):
            function = function.twin()
        for meaning in (meanings.drawn, meanings.blur, meanings.made, *meanings.OF_IMAGES):
            if (known := meaning(function, values, named)) is not None:
                return known
        return self._followed(function, values, named)

    def _followed(self, function: object, values: list[object], named: Env) -> object:
        if type(function) is FunctionType and not library(function.__module__):
            return self.follower.call(function, values, named)
        if type(function) is MethodType and type(function.__func__) is FunctionType:
            first = [function.__self__, *values]
            return self.follower.call(function.__func__, first, named)
        odd = (type, ModuleType, list, tuple, torch.nn.ModuleList)  # a chain is one only in Compose
        if isinstance(function, odd) or function is None or named or len(values) != 1:
            raise UnclearError("")
        if isinstance(values[0], Opened) and values[0].is_image:
            raise UnclearError('it transforms an image without convert("RGB")')
        return self.follower.apply(function, values[0])


def _calls(node: ast.Call) -> str:
    return f"it calls `{ast.unparse(node)[:60]}`"
