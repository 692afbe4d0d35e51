"""What tests ask of files of Python, each of which is read once."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Its lines without its docstring's: a docstring is no code."""
    first = function.body[0]
    has_docstring = ast.get_docstring(function, clean=False) is not None
    docstring = first.end_lineno - first.lineno + 1 if has_docstring else 0
    return function.end_lineno - function.lineno + 1 - docstring


class Read(NamedTuple):
    """What is asked of a file of Python. Its whole tree would take too much memory to be kept."""

    imports: list[ast.Import | ast.ImportFrom]
    functions: list[tuple[str, int]]  # name, lines of code
    calls: list[str]  # names that are called


@cache
def read(path: Path) -> Read:
    found = Read([], [], [])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.imports.append(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.functions.append((node.name, code_lines(node)))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.calls.append(node.func.id)
    return found
