"""The shape of the code: one direction of imports, no circles, small files and functions."""

import ast
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import TREE, needs_checkout
from tests.unit.python_files import code_lines, read

ROOT, PACKAGE, pytestmark = TREE, TREE / "fastload", needs_checkout
# The one place of this order. Lower layers first; what is in a layer imports from its own folder
# and from layers before its own.
LAYERS = (
    ("errors",),
    ("_native", "attach"),
    ("system",),
    ("files", "spec"),
    ("rng", "measure", "remote"),
    ("draws",),
    ("transforms", "sources"),
    ("progressive",),
    ("order",),
    ("state",),
    ("plan",),
    ("backends",),
    ("joint",),
    ("engine",),
    ("dataset",),
    ("image",),
    ("detection",),
    ("lowering",),
    ("loader", "mixes"),
    ("metrics",),
    ("recipes",),
    ("profiler", "conversion", "demo_images", "sheets"),
    ("parity", "forecast"),
    ("extending",),
    ("cli",),
    ("__init__", "__main__"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Imports that close a circle, and why that is right.
CIRCLES = {
    ("fastload.transforms.base", "fastload.transforms.pil"): (
        "an op that is called on an image finds its pixels then"
    ),
}
# The same of kernels/: what is in a folder includes from its own and from those before it.
KERNEL_LAYERS = [
    *("base", "simd", "body", "pixels", "augment", "jpeg", "png", "webp", "parquet"),
    *("gpu", "engine", "bind", "fuzz", "test_modules"),
]
MOST_LINES, MOST_FUNCTION_LINES = 300, 40
# Longer than that since lines have at most 100 characters, and still to be split; nothing is added.
STILL_LONG = set((ROOT / "tests/unit/still_long.txt").read_text().split())


@cache
def modules() -> dict[str, Path]:
    """Every module by its name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    assert len(found) > 30
    return found


def layer(name: str) -> str:
    return name.split(".")[1] if "." in name else "__init__"


def imports(path: Path) -> set[str]:
    """Modules of ours that it imports anywhere: at its head, in a function, for types only."""
    names = set()
    for node in read(path).imports:
        if isinstance(node, ast.ImportFrom) and node.module:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {
                name if name in modules() or name == "fastload._native" else node.module
                for name in below
            }
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.split(".")[0] == "fastload" and name != "fastload"}


@cache
def edges() -> dict[str, set[str]]:
    return {name: imports(path) - {name} for name, path in modules().items()}


def circles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """Groups of nodes that reach each other."""
    left = dict(graph)
    while True:  # what nothing is imported by, or what imports nothing, is in no circle
        ends = {name for name, to in left.items() if not to & set(left)}
        if not ends:
            break
        left = {name: to for name, to in left.items() if name not in ends}
    while left:
        name = next(iter(left))
        group = reached(left, name) & {other for other in left if name in reached(left, other)}
        if group:
            yield sorted(group)
        left = {other: to for other, to in left.items() if other not in group | {name}}


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        new = graph.get(todo.pop(), set()) & set(graph) - seen
        seen |= new
        todo += new
    return seen


def test_circles_are_found():
    assert list(
        circles(
            {
                "a": {"b"},
                "b": {"a", "c"},
                "c": set(),
                "d": {"a"},
                "e": {"f"},
                "f": {"g"},
                "g": {"e"},
            }
        )
    ) == [
        ["a", "b"],
        ["e", "f", "g"],
    ]


def test_every_module_has_a_layer():
    assert sorted({layer(name) for name in modules()} - set(LEVEL)) == []


def test_imports_point_one_way():
    wrong = [
        f"{name} imports {other}"
        for name, to in edges().items()
        for other in sorted(to)
        if layer(name) != "__init__"
        and layer(other) != layer(name)
        and LEVEL[layer(other)] >= LEVEL[layer(name)]
    ]
    assert wrong == []


def test_nothing_goes_in_circles():
    graph = {
        name: {other for other in to if (name, other) not in CIRCLES}
        for name, to in edges().items()
    }
    assert list(circles(graph)) == []


def test_benchmarks_go_in_no_circles():
    paths = sorted((ROOT / "benchmarks").rglob("*.py"))
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    assert len(names) > 30
    graph = {}
    for name, path in names.items():
        found = set()
        for node in read(path).imports:
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not node.level, f"{name} imports from .{node.module}; name the whole module"
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        # A package's own file, which says only what it is for, is imported with each of its parts.
        graph[name] = {other for other in found & set(names) if names[other].name != "__init__.py"}
    assert list(circles(graph)) == []


def test_every_exception_is_needed():
    """Without the exceptions there is no circle, so one that closes again goes through them."""
    graph = {
        one: {to for to in others if (one, to) not in CIRCLES} for one, others in edges().items()
    }
    for name, other in CIRCLES:
        assert other in edges()[name]
        assert name in reached(graph, other), f"{name} to {other} closes no circle any more"


def includes(path: Path) -> set[str]:
    """Headers of ours, by their path below kernels/."""
    return set(re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.MULTILINE))


def test_includes_point_one_way_and_in_no_circle():
    kernels = ROOT / "kernels"
    files = {
        str(path.relative_to(kernels)): path
        for kind in ("h", "cpp", "c", "cu", "inc")
        for path in kernels.rglob(f"*.{kind}")
    }
    graph = {name: includes(path) & set(files) for name, path in files.items()}
    assert sorted({name.split("/")[0] for name in graph if "/" in name} - set(KERNEL_LAYERS)) == []
    wrong = [
        f"{name} includes {other}"
        for name, to in graph.items()
        for other in sorted(to)
        if "/" in name
        and KERNEL_LAYERS.index(other.split("/")[0]) > KERNEL_LAYERS.index(name.split("/")[0])
    ]
    assert wrong == []
    assert list(circles(graph)) == []


def head(path: Path) -> str:
    """The comment that a C++ file begins with, as one line."""
    lines = itertools.takewhile(lambda line: line.startswith("//"), path.read_text().splitlines())
    return " ".join(line[2:].strip() for line in lines)


def test_every_kernel_file_says_at_its_head_what_it_is_for():
    """In a sentence at least: something of five words that ends with a full stop."""
    files = [path for kind in ("h", "cpp", "cu") for path in ROOT.glob(f"kernels/**/*.{kind}")]
    silent = [
        str(path.relative_to(ROOT))
        for path in sorted(files)
        if not re.search(r"(\S+ ){4,}\S+\.( |$)", head(path))
    ]
    assert len(files) > 150
    assert silent == []


def test_a_docstring_is_no_code():
    text = 'def f():\n    """One.\n\n    Two.\n    """\n    return 1\n\n'
    function, same = ast.parse(text + "def g():\n    return 1\n").body
    assert code_lines(function) == code_lines(same) == 2


@cache
def too_long() -> set[str]:
    """Files of more than MOST_LINES, functions with more code than MOST_FUNCTION_LINES."""
    folders = ("fastload", "benchmarks", "tests", "fuzz")
    sources = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    kernels = [*ROOT.glob("kernels/**/*.h"), *ROOT.glob("kernels/**/*.c*")]
    texts = {path.relative_to(ROOT): path.read_text() for path in (*sources, *kernels)}
    long = {str(path) for path, text in texts.items() if len(text.splitlines()) > MOST_LINES}
    for path in sources:
        long |= {
            f"{path.relative_to(ROOT)}:{name}"
            for name, lines in read(path).functions
            if lines > MOST_FUNCTION_LINES
        }
    return long


def test_files_and_functions_stay_small():
    assert sorted(too_long() - STILL_LONG) == []


def test_what_has_become_small_is_struck_off():
    assert sorted(STILL_LONG - too_long()) == []


def test_nothing_is_unpickled_or_evaluated():
    banned = {"eval", "exec", "compile", "__import__"}
    calls = []
    for path in modules().values():
        calls += [
            f"{path.relative_to(ROOT)}: {name}" for name in read(path).calls if name in banned
        ]
        for node in read(path).imports:
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            calls += [
                f"{path.relative_to(ROOT)}: {name}"
                for name in names
                if name.split(".")[0] in ("pickle", "marshal", "shelve")
            ]
    assert calls == []
