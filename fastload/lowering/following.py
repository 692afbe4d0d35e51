"""What a user's own class or function makes of an image: its source is followed, not run.

What it holds is read where Python would read it. Each call on an image is either one that has a
meaning here, or followed into; everything else is refused. So what is found is proved.
"""

import ast
import inspect
import itertools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import NamedTuple, cast

import torch

from fastload.lowering import calculating, columns, holding
from fastload.lowering.codes import library
from fastload.lowering.columns import Column, Files, Opened, followable
from fastload.lowering.expressions import Env, Expressions
from fastload.lowering.lookup import MISSING, find_attribute
from fastload.lowering.names import altered
from fastload.lowering.pictures import Chance, Picture, UnclearError, joined
from fastload.lowering.reach import changed
from fastload.lowering.sets import Own, OwnDict
from fastload.lowering.written import definition

Apply = Callable[[object, object], object]  # what a transform makes of a value
MOST = 5000  # statements and expressions
DEEPEST = 24  # calls inside calls
# A `yield` makes a function another thing, also behind its `return`.
LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class _Bind(NamedTuple):
    """What a loop gives its variable."""

    target: ast.expr
    value: object


Todo = list[ast.stmt | _Bind]


class Follower:
    """One look at a transform. apply: for transforms that a user's code calls."""

    def __init__(self, apply: Apply) -> None:
        self.apply = apply
        self.steps = self.depth = 0
        self.files: Files | None = None  # of a data set that is followed
        self.frozen = 0  # above 0: in a part of an expression that runs by chance

    def follow(self, transform: object, value: object) -> object:
        """What an object of the user's makes of a value: pictures.

        Raises UnclearError.
        """
        function, first = _entry(transform)
        return self.call(function, [*first, value], {})

    def call(self, function: FunctionType, values: list[object], named: Env) -> object:
        """Raises UnclearError."""
        if library(function.__globals__.get("__name__")) and not self._inherited(function):
            raise UnclearError(f"it calls {holding.shown(function)}")
        if function.__code__.co_flags & LATER:
            raise UnclearError("it gives its values one by one")
        node = definition(function)
        if node is None:
            raise UnclearError("its source cannot be read")
        env = holding.bound(function, node.args, values, named)
        self.depth += 1
        if self.depth > DEEPEST:
            raise RecursionError
        try:
            if isinstance(node, ast.Lambda):
                return _Frame(self, function, env).value(node.body)
            return _Frame(self, function, env).run(list(node.body))
        finally:
            self.depth -= 1

    def _inherited(self, function: FunctionType) -> bool:
        """Whether a library's function is what a user's data set inherits."""
        return self.files is not None and followable(function)

    def count(self) -> None:
        self.steps += 1
        if self.steps > MOST:
            raise UnclearError("it does too much to follow")


def _entry(transform: object) -> tuple[FunctionType, list[object]]:
    """The function that a call of an object runs, and what it gets before the image."""
    if type(transform) is FunctionType:
        return transform, []
    if type(transform) is MethodType and type(transform.__func__) is FunctionType:
        return transform.__func__, [transform.__self__]
    kind = type(transform)
    if not holding.is_plain(transform):
        raise UnclearError("it finds its attributes in its own way")
    call = find_attribute(kind, "__call__")[0]
    if isinstance(transform, torch.nn.Module) and call is vars(torch.nn.Module)["__call__"]:
        _check_module(transform)
        call = find_attribute(kind, "forward")[0]
    if type(call) is not FunctionType or kind.__module__.partition(".")[0] in holding.FOREIGN:
        raise UnclearError("")
    return call, [transform]


def _check_module(module: torch.nn.Module) -> None:
    """Raise UnclearError unless its call is one of its `forward`."""
    why = [*altered(module), *changed(torch.nn.Module)]
    own = vars(torch.nn.Module)
    why += [
        f"it has its own {name}"
        for name in ("_wrapped_call_impl", "_call_impl", "_compiled_call_impl")
        if find_attribute(type(module), name)[0] is not own.get(name, MISSING)
    ]
    if vars(module).get("_compiled_call_impl") is not None:
        why.append("it is compiled")
    if why:
        raise UnclearError("; ".join(why))


class _Frame(Expressions):
    """Its statements."""

    is_branch = False  # one of two ways to set values, not all of the function

    def run(self, body: list[ast.stmt]) -> object:
        """What the function returns."""
        return self._rest(list(body))

    def _rest(self, todo: Todo) -> object:
        while todo:
            self.follower.count()
            now = todo.pop(0)
            if isinstance(now, _Bind):
                self._assign(now.target, now.value)
            elif isinstance(now, ast.Return):
                return None if now.value is None else self.value(now.value)
            elif isinstance(now, ast.If):
                asked = self.value(now.test)
                if isinstance(asked, Column):
                    self._chosen(asked, now)
                    continue
                test = calculating.truth(asked)
                if isinstance(test, Chance) and self.is_branch:  # the rest is not at hand
                    raise UnclearError("it draws which value it sets")
                if isinstance(test, Chance):
                    return self._both(test, [*now.body, *todo], [*now.orelse, *todo])
                todo = [*(now.body if test else now.orelse), *todo]
            elif isinstance(now, ast.For) and not now.orelse:
                items = holding.items(self.value(now.iter))
                turns: list[Todo] = [[_Bind(now.target, item), *now.body] for item in items]
                todo = [*itertools.chain.from_iterable(turns), *todo]
            elif isinstance(now, ast.With):
                todo = [*self._with(now), *now.body, *todo]
            else:
                self._simple(now)
        return None

    def _with(self, now: ast.With) -> Todo:
        """What a block of files binds. They are closed where nothing is read any more."""
        binds: Todo = []
        for part in now.items:
            value = self.value(part.context_expr)
            if not isinstance(value, Opened):
                raise UnclearError(f"it has `{ast.unparse(now).splitlines()[0][:60]}`")
            if part.optional_vars is not None:
                binds.append(_Bind(part.optional_vars, value))
        return binds

    def _chosen(self, test: Column, now: ast.If) -> None:
        """Both branches, which set variables to values of each sample, and do nothing else."""
        inside = (part for each in (*now.body, *now.orelse) for part in ast.walk(each))
        plain = (ast.Assign, ast.AugAssign, ast.If, ast.Pass)
        ways: list[Env] = []
        if any(isinstance(each, (Own, OwnDict)) for each in self.env.values()) or any(
            isinstance(part, ast.stmt) and not isinstance(part, plain) for part in inside
        ):
            raise UnclearError(f"it does more than to set values by `{ast.unparse(now.test)[:50]}`")
        for body in (now.body, now.orelse):
            frame = _Frame(self.follower, self.function, dict(self.env))
            frame.is_branch = True
            frame._rest(list(body))
            ways.append(frame.env)
        for name in dict.fromkeys([*ways[0], *ways[1]]):
            yes, no = (env.get(name, MISSING) for env in ways)
            self.env[name] = yes if yes is no else columns.chosen(test, yes, no)

    def _both(self, test: Chance, yes: Todo, no: Todo) -> object:
        if self.lent:
            raise UnclearError("it takes a list, and draws what to do")
        other = _Frame(self.follower, self.function, holding.forked(self.env))
        return _one_of(test, self._rest(yes), other._rest(no))

    def _simple(self, now: ast.stmt) -> None:
        if isinstance(now, ast.Expr):
            if not isinstance(now.value, ast.Constant):
                self.value(now.value)
        elif isinstance(now, ast.Assign):
            value = self.value(now.value)
            for target in now.targets:
                self._assign(target, value)
        elif isinstance(now, ast.AugAssign) and isinstance(now.target, ast.Name):
            value = self.value(ast.BinOp(ast.Name(now.target.id), now.op, now.value))
            if isinstance(value, Picture):  # in place, which other names of it would see
                raise UnclearError(f"it has `{ast.unparse(now)[:60]}`")
            self._assign(now.target, value)
        elif isinstance(now, ast.AnnAssign) and now.value is not None:
            self._assign(now.target, self.value(now.value))
        elif not isinstance(now, ast.Pass):
            raise UnclearError(f"it has `{ast.unparse(now).splitlines()[0][:60]}`")


def _one_of(chance: Chance, yes: object, no: object) -> object:
    """As `joined`; of several values one may differ, since natively each picture draws by itself.

    Raises UnclearError.
    """
    if type(yes) is not type(no) or not isinstance(yes, (tuple, dict)):
        return joined(chance, yes, no)
    ones, others = (
        (list(each.values()), list(each)) if isinstance(each, dict) else (list(each), [])
        for each in (yes, cast("dict[str, object] | tuple[object, ...]", no))
    )
    differ = [not columns.is_same(*pair) for pair in zip(ones[0], others[0], strict=False)]
    if len(ones[0]) != len(others[0]) or ones[1] != others[1] or sum(differ) > 1:
        raise UnclearError("it makes different things by chance")
    parts = [
        joined(chance, one, other) if differs else one
        for one, other, differs in zip(ones[0], others[0], differ, strict=True)
    ]
    return dict(zip(ones[1], parts, strict=True)) if isinstance(yes, dict) else tuple(parts)
