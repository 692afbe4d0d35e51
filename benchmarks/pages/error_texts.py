"""Every error text in the code of fastload/, as a template: found by reading the code, not by
running it.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import fastload
from fastload import errors

PACKAGE = Path(fastload.__file__).parent
CLASSES = tuple(
    name
    for name, kind in vars(errors).items()
    # Those of ALSO are made when they are first asked for.
    if isinstance(kind, type)
    and issubclass(kind, (errors.FastloadError, Warning))
    and name not in errors.ALSO.values()
)
# Functions that make an error of a class
MAKERS = {"sample_error": "SampleError", "misused": "UsageError"}
# The house's form of a text: what was got and wanted, or what to do. Strings of that form are parts
# of errors wherever they stand, such as the reasons and problems that one error collects.
FORM = re.compile(r"; [a-z{]|[(,; ](want|got|wants) ")
# Strings of that form that are none: help of options, style sheets, reports.
NO_ERRORS = re.compile(
    r"(cli/(convert_options|convert_report|demo\w*|doctor\w*|gpus|index|verify|repair)"
    r"|profiler/(headline|tables|page|charts|within|evidence|advice|interference)|recipes/rates"
    r"|show/page|show/sheet|system/notebook|cli/profile_options:Annotated|parity/compare"
    r"|parity/difference|loader/tiers|forecast/(page|lines|notes|formats|compare))\.py$"
)
_NAMED_WHOLE = ("room", "seek", "formats", "pil")  # modules whose constants are named with them


class Text(NamedTuple):
    """One error text."""

    kind: str  # its class, "" where the text is a part that other code puts into an error
    module: str  # path of the file below fastload/
    line: int
    template: str

    @property
    def what(self) -> str:
        return _divided(self.template)[0]

    @property
    def remedy(self) -> str:
        return _divided(self.template)[1]


def _tells(template: str) -> bool:
    """Whether a text has words of its own, besides what is put into it."""
    return len(re.sub(r"\{[^}]*\}", "", _divided(template)[0]).split()) > 1


def _divided(template: str) -> tuple[str, str]:
    """What happened, and what to do: the part after the last semicolon outside of brackets."""
    depth, cut = 0, -1
    for position, character in enumerate(template):
        depth = max(0, depth + (character in "({[") - (character in ")}]"))
        if character == ";" and depth == 0:
            cut = position
    return (template[:cut], template[cut + 1 :].strip()) if cut >= 0 else (template, "")


@cache
def texts() -> list[Text]:
    """By module, then by line."""
    found: dict[tuple[str, str, str], Text] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        for text in sorted(_of_module(path, module), key=lambda text: text.line):
            found.setdefault((text.kind, module, text.template), text)
    return list(found.values())


def raising() -> dict[str, set[str]]:
    """The classes that each module makes errors of, by its path below fastload/; MAKERS' own module
    has no texts.
    """
    out: dict[str, set[str]] = {}
    for path in sorted({*PACKAGE.rglob("*.py")} - {PACKAGE / "errors.py"}):
        if kinds := {kind for kind, _ in _calls(_tree(path))}:
            out[path.relative_to(PACKAGE).as_posix()] = kinds
    return out


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """(class, call) wherever an error is made."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if MAKERS.get(name, name) in CLASSES:
                yield MAKERS.get(name, name), node
            elif name == "warn" and len(node.args) > 1 and isinstance(node.args[1], ast.Name):
                yield node.args[1].id, node


def _of_module(path: Path, module: str) -> Iterator[Text]:
    tree, seen = _tree(path), set[int]()
    constants = _constants(path)
    for kind, call in _calls(tree):
        for node in _strings(call):
            template = _template(node, constants)
            if _tells(template):
                yield Text(kind, module, node.lineno, template)
        seen |= {id(node) for node in ast.walk(call)}
    if NO_ERRORS.search(module):
        return
    seen |= {id(node) for other in _no_texts(tree) for node in ast.walk(other)}
    for node in _strings(tree, seen):
        template = _template(node, constants)
        if FORM.search(template) and _tells(template):
            yield Text("", module, node.lineno, template)


def _no_texts(tree: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, and what is said of options of the command line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("Option", "Argument"):
            yield node
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            yield node  # a constant: its text is put where its name stands


def _strings(tree: ast.AST, seen: set[int] | None = None) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The outermost strings, those of expressions inside of them left out."""
    if seen is not None and id(tree) in seen:
        return
    if isinstance(tree, ast.JoinedStr) or (
        isinstance(tree, ast.Constant) and isinstance(tree.value, str)
    ):
        yield tree
        return
    for child in ast.iter_child_nodes(tree):
        yield from _strings(child, seen)


@cache
def _constants(path: Path) -> dict[str, str]:
    """The texts that names in capitals stand for in a module, also imported ones."""
    out: dict[str, str] = {}
    for node in _tree(path).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fastload"):
            home = PACKAGE.parent.joinpath(*(node.module or "").split("."))
            file = home / "__init__.py" if home.is_dir() else home.with_suffix(".py")
            if file.exists() and any(alias.name.isupper() for alias in node.names):
                known = _constants(file)
                out |= {a.asname or a.name: known[a.name] for a in node.names if a.name in known}
            for alias in node.names:
                if (module := home / f"{alias.name}.py").exists() and alias.name in _NAMED_WHOLE:
                    below = _constants(module).items()
                    out |= {f"{alias.name}.{name}": value for name, value in below}
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, (ast.JoinedStr, ast.Constant))
            and isinstance(getattr(node.value, "value", ""), (str, int))
        ):
            out[node.targets[0].id] = _template(node.value, out)
    return out


def _template(node: ast.AST, constants: dict[str, str]) -> str:
    """The text with a name in braces for what is put into it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part, constants) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        if (name := ast.unparse(node.value)) in constants:
            return constants[name]
        return "{" + _named(node.value) + "}"
    return "{" + _named(node) + "}"


def _named(node: ast.AST) -> str:  # noqa: C901  one case for each kind of expression
    """A short name for an expression: its last attribute, its key, or what it is made from."""
    match node:
        case ast.Name():
            return node.id.strip("_").lower()
        case ast.Attribute(attr="__name__" | "__qualname__"):
            return f"{_named(node.value)} name"
        case ast.Attribute():
            return node.attr.strip("_")
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key
        case ast.Subscript():
            return _named(node.value)
        case ast.Call(func=ast.Attribute(attr="join" | "format"), args=[first, *_]):
            return _named(first)
        case ast.Call(args=[_, *_]):
            return next((_named(a) for a in node.args if not isinstance(a, ast.Constant)), "…")
        case ast.Call(func=ast.Attribute(value=value)):
            return _named(value)
        case ast.BoolOp(values=[first, *_]):
            return _named(first)
        case ast.BinOp(left=first, right=second) | ast.IfExp(body=first, orelse=second):
            return _named(second if isinstance(first, ast.Constant) else first)
        case ast.Starred(value=first) | ast.GeneratorExp(elt=first) | ast.ListComp(elt=first):
            return _named(first)
    return "…"
