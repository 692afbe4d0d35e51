"""Conditions on samples, like `width >= 224 and label in ("cat", "dog")`: a small part of Python's
grammar, never run as Python.

What is written is parsed (`ast`), every node is one of a short list, and the answer is computed by
Arrow on the columns of the index.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload.errors import UsageError
from fastload.sources.arrow import import_arrow

NUMBERS = ("label", "height", "width", "size", "shard")
TEXTS = ("key", "format", "class_name")
LONGEST = 10_000  # characters
COMPARE = {
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal",
    ast.Gt: "greater", ast.GtE: "greater_equal",
}  # fmt: skip
MEMBER = (ast.In, ast.NotIn)  # codespell:ignore notin
ARITHMETIC = {
    ast.Add: "add_checked", ast.Sub: "subtract_checked", ast.Mult: "multiply_checked",
    ast.Div: "divide",
}  # fmt: skip
FUNCTIONS = {"startswith": "starts_with", "endswith": "ends_with", "contains": "match_substring"}
HAS = f"have {', '.join((*NUMBERS, *TEXTS))}"


def mask(
    where: str, classes: Sequence[str], batches: Sequence[Any], condition: str
) -> NDArray[np.bool_]:
    """bool [K]: for which of the rows of these record batches it holds. Raises UsageError."""
    answer = _Evaluator(where, classes, batches, condition).answer()
    held: NDArray[np.bool_] = answer.to_numpy(zero_copy_only=False)
    return held


class _Evaluator:
    """A condition over some rows of an index."""

    def __init__(
        self, where: str, classes: Sequence[str], batches: Sequence[Any], condition: str
    ) -> None:
        self.pa = import_arrow(where)
        import pyarrow.compute as pc

        self.pc, self.condition, self.classes = pc, condition, list(classes)
        self.table = self.pa.Table.from_batches(batches)

    def answer(self) -> Any:
        """A boolean array over all rows."""
        if len(self.condition) > LONGEST:
            raise UsageError(
                f"where: has {len(self.condition)} characters, want at most {LONGEST}; shorten it"
            )
        try:
            truth = self._truth(ast.parse(self.condition.strip(), mode="eval").body)
        except self.pa.ArrowException as error:
            raise UsageError(
                f"where: {self.condition!r} cannot be computed ({' '.join(str(error).split())}); "
                "compare numbers with numbers"
            ) from error
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(
                f"where: {self.condition!r} is no condition ({error}); write it like: width >= 224 "
                "and label in (1, 2)"
            ) from error
        return truth.combine_chunks() if hasattr(truth, "combine_chunks") else truth

    def _truth(self, node: ast.expr) -> Any:
        if isinstance(node, ast.BoolOp):
            join = self.pc.and_ if isinstance(node.op, ast.And) else self.pc.or_
            truth = self._truth(node.values[0])
            for value in node.values[1:]:
                truth = join(truth, self._truth(value))
            return truth
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.pc.invert(self._truth(node.operand))
        if isinstance(node, ast.Compare):
            truth, left = None, node.left
            for op, right in zip(node.ops, node.comparators, strict=True):
                each = self._compare(op, left, right)
                truth, left = (each if truth is None else self.pc.and_(truth, each)), right
            return truth
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self._refused(node, "is no condition")

    def _compare(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Any:
        if isinstance(op, MEMBER):
            return self._member(left, right, negate=not isinstance(op, ast.In))
        if type(op) not in COMPARE:
            raise self._refused(right, "is compared in a way that is not known")
        one, other = self._paired(left, right), self._paired(right, left)
        if not any(isinstance(value, self.pa.ChunkedArray) for value in (one, other)):
            raise self._refused(left, "names no column")
        self._same_kind(one, other, left)
        compare: Callable[[Any, Any], Any] = getattr(self.pc, COMPARE[type(op)])
        return compare(one, other)

    def _member(self, left: ast.expr, right: ast.expr, *, negate: bool) -> Any:
        if not isinstance(right, (ast.Tuple, ast.List, ast.Set)) or not isinstance(left, ast.Name):
            raise self._refused(right, "is no list, want: NAME in (VALUE, VALUE)")
        column = self._column(left)
        values = [self._constant(element, left) for element in right.elts]
        for value in values:
            self._same_kind(column, value, left)
        truth = self.pc.is_in(column, value_set=self.pa.array(values, column.type))
        return self.pc.invert(truth) if negate else truth

    def _call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in FUNCTIONS or len(node.args) != 2 or node.keywords:
            raise self._refused(node, f"is not known, want {', '.join(FUNCTIONS)} of (NAME, TEXT)")
        column, text = node.args
        if not (
            isinstance(column, ast.Name)
            and column.id in TEXTS
            and isinstance(text, ast.Constant)
            and type(text.value) is str
        ):
            raise self._refused(node, f"takes one of {', '.join(TEXTS)} and a text")
        return getattr(self.pc, FUNCTIONS[name])(self._column(column), text.value)

    def _paired(self, node: ast.expr, other: ast.expr) -> Any:
        """A value; a class's name becomes its number where it is compared with label."""
        return self._constant(node, other) if isinstance(node, ast.Constant) else self._value(node)

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self._column(node)
        if isinstance(node, ast.Constant):
            return self._constant(node, node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.pc.negate_checked(self._number(node.operand))
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            one, other = self._number(node.left), self._number(node.right)
            if isinstance(node.op, ast.Div):
                one, other = self.pc.cast(one, "double"), self.pc.cast(other, "double")
            compute: Callable[[Any, Any], Any] = getattr(self.pc, ARITHMETIC[type(node.op)])
            return compute(one, other)
        raise self._refused(node, "is not allowed")

    def _number(self, node: ast.expr) -> Any:
        value = self._value(node)
        if self._is_text(value):
            raise self._refused(node, "is text, want a number")
        return value

    def _column(self, node: ast.Name) -> Any:
        if node.id == "class_name":
            names = self.pa.array(self.classes, self.pa.string())
            return self.pc.take(names, self.table.column("label"))
        if node.id not in (*NUMBERS, *TEXTS):
            raise self._refused(node, f"is no column ({HAS})")
        column = self.table.column(node.id)
        return (
            column.cast("string")
            if node.id == "format"
            else column.cast("int64")
            if node.id in NUMBERS
            else column
        )

    def _constant(self, node: ast.expr, beside: ast.expr) -> Any:
        if not _is_plain(node):
            raise self._refused(node, "is no value")
        value = ast.literal_eval(node)
        if type(value) is str and isinstance(beside, ast.Name) and beside.id == "label":
            if value not in self.classes:
                raise UsageError(
                    f"where: {value!r} is no class (have {_some(self.classes)}); correct the name"
                )
            value = self.classes.index(value)
        if type(value) not in (int, float, str) or (
            type(value) is int and not -(1 << 63) <= value < 1 << 63
        ):
            raise self._refused(node, "is no number and no text")
        return self.pa.scalar(value)

    def _is_text(self, value: Any) -> bool:
        return bool(self.pa.types.is_string(value.type))

    def _same_kind(self, one: Any, other: Any, node: ast.expr) -> None:
        if self._is_text(one) != self._is_text(other):
            raise self._refused(
                node,
                "is compared with something of another kind, want numbers with numbers and texts "
                "with texts",
            )

    def _refused(self, node: ast.AST, why: str) -> UsageError:
        text = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        return UsageError(f"where: {text} {why}; see docs/convert.md")


def _is_plain(node: ast.expr) -> bool:
    """Whether this is a constant, or one with a minus."""
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
