"""What a function of the program's is, as its source says: the source's tree, and the proof that it
is this function's, by compiling it.
"""

import ast
import functools
import linecache
from importlib.abc import InspectLoader
from types import CodeType, FunctionType

Definition = ast.FunctionDef | ast.Lambda
_known: dict[tuple[str, CodeType], Definition] = {}


def definition(function: FunctionType) -> Definition | None:
    """The tree of its `def` or `lambda`; None where no source is at hand, or another one.

    The source is compiled as a whole. It is the function's if that gives the very code that the
    function has: instructions, names, constants and the first line.
    """
    code = function.__code__
    key = code.co_filename, code
    if key not in _known:
        lines = linecache.getlines(code.co_filename, function.__globals__)
        tree, compiled = _compiled("".join(lines), code.co_filename)
        found = _nodes(tree, code) if code in compiled else []
        if len({ast.dump(node) for node in found}) != 1:  # none, or several lambdas in one line
            return None
        _known[key] = found[0]
    return _known[key]


@functools.lru_cache(maxsize=8)
def _compiled(text: str, filename: str) -> tuple[ast.Module, frozenset[CodeType]]:
    """The tree of a source, and the code of every function in it. Nothing of it is run."""
    try:
        tree = ast.parse(text)
        whole = InspectLoader.source_to_code(text, filename)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], []), frozenset()
    found, todo = set[CodeType](), [whole]
    while todo:
        inner = [part for part in todo.pop().co_consts if isinstance(part, CodeType)]
        found.update(inner)
        todo += inner
    return tree, frozenset(found)


def _nodes(tree: ast.Module, code: CodeType) -> list[Definition]:
    found: list[Definition] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            name, first = "<lambda>", node.lineno
        elif isinstance(node, ast.FunctionDef):
            name = node.name
            first = min(node.lineno, *(part.lineno for part in node.decorator_list), node.lineno)
        else:
            continue
        if (name, first) == (code.co_name, code.co_firstlineno):
            found.append(node)
    return found
