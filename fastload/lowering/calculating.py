"""What users' functions calculate: plain numbers, numbers that are drawn, and chances."""

import ast
import operator
from collections.abc import Callable

import torch

from fastload.lowering import columns
from fastload.lowering.columns import Column
from fastload.lowering.lookup import MISSING, find_attribute
from fastload.lowering.meanings import number
from fastload.lowering.pictures import Chance, Picture, UnclearError, Uniform

BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
ORDERS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
ASKED = ("__bool__", "__len__")  # Python asks these whether an object is true
ATOMS = (bool, int, float, str, type(None))


def truth(value: object) -> bool | Chance:
    """What an `if` sees. Raises UnclearError."""
    if isinstance(value, Chance):
        return value.take()
    if type(value) in (*ATOMS, list, tuple, dict):
        return bool(value)
    asks = any(find_attribute(type(value), name)[0] is not MISSING for name in ASKED)
    if not asks and not isinstance(value, (Picture, Uniform, Chance, Column)):
        return True
    raise UnclearError(f"it asks whether a {type(value).__qualname__} is true")


def binary(op: ast.operator, left: object, right: object) -> object:
    if isinstance(op, ast.Add) and type(left) is tuple and type(right) is tuple:
        return (*left, *right)
    if type(op) not in BINARY:
        raise UnclearError(f"it calculates by {type(op).__name__}")
    if isinstance(left, Uniform) or isinstance(right, Uniform):
        return _moved(op, left, right)
    try:
        return BINARY[type(op)](number(left), number(right))
    except (ArithmeticError, ValueError):
        raise UnclearError("it calculates what is no number") from None


def _moved(op: ast.operator, left: object, right: object) -> Uniform:
    if isinstance(left, Uniform) and not isinstance(right, Uniform):
        by = number(right)
        if isinstance(op, ast.Div) and by:
            return left.moved(1 / by, 0.0)
        factor, added = {ast.Add: (1.0, by), ast.Sub: (1.0, -by), ast.Mult: (by, 0.0)}.get(
            type(op), (None, 0.0)
        )  # fmt: skip
        if factor is not None:
            return left.moved(factor, added)
    if isinstance(right, Uniform) and not isinstance(left, Uniform):
        by = number(left)
        if isinstance(op, (ast.Add, ast.Mult)):
            return _moved(op, right, left)
        if isinstance(op, ast.Sub):
            return right.moved(-1.0, by)
    raise UnclearError("it calculates with random numbers")


def unary(op: ast.unaryop, value: object) -> object:
    if isinstance(value, Column) and isinstance(op, (ast.Not, ast.USub)):
        return columns.mapped(operator.not_ if isinstance(op, ast.Not) else operator.neg, [value])
    if isinstance(op, ast.Not):
        return value.negated() if isinstance(value, Chance) else not truth(value)
    if isinstance(op, ast.USub):
        return -number(value)
    raise UnclearError(f"it calculates by {type(op).__name__}")


def compared(op: ast.cmpop, left: object, right: object) -> object:
    if isinstance(op, (ast.Is, ast.IsNot)):
        if left is not None and right is not None:
            raise UnclearError("it compares identities")
        return _is_none(right if left is None else left) is isinstance(op, ast.Is)
    if isinstance(left, Column) or isinstance(right, Column):
        return columns.asked(type(op).__name__, left, right)
    if type(op) not in ORDERS:
        raise UnclearError(f"it compares by {type(op).__name__}")
    order = ORDERS[type(op)]
    if isinstance(left, Uniform) or isinstance(right, Uniform):
        return _chance(op, left, right)
    if type(left) not in ATOMS or type(right) not in ATOMS:
        raise UnclearError("it compares what are no numbers")
    try:
        return order(left, right)  # type: ignore[arg-type]  # any atoms: Python says what it thinks
    except TypeError:
        raise UnclearError("it compares what has no order") from None


def _is_none(value: object) -> bool:
    """Of a value of each sample, only where the answer is the same for all."""
    if not isinstance(value, Column):
        return value is None
    rows: object = value.rows
    if isinstance(rows, torch.Tensor):
        return False
    answers = {row is None for row in value.rows}
    if len(answers) > 1:
        raise UnclearError("it asks which samples have a value that is None")
    return answers == {True}


def _chance(op: ast.cmpop, left: object, right: object) -> Chance:
    """A drawn number is below another. Equal it is never: 2 ** -53 counts as nothing."""
    if isinstance(op, (ast.Eq, ast.NotEq)):
        raise UnclearError("it asks whether a random number is another")
    if isinstance(left, Uniform):
        below, bound, drawn = isinstance(op, (ast.Lt, ast.LtE)), right, left
    elif isinstance(right, Uniform):
        below, bound, drawn = isinstance(op, (ast.Gt, ast.GtE)), left, right
    chance = drawn.below(number(bound))
    return chance if below else chance.negated()
