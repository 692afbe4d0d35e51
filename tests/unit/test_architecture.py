"""The shape of the code: imports point one way, files and functions stay small."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fastload"
# Lower layers first; a module imports only from its own layer or from those before it.
LAYERS = (
    ("errors", "limits", "machine", "meter", "_native", "attach", "opening", "pace", "processes", "threads"),
    ("backend_facts", "files", "room"), ("spec",), ("rng",), ("transforms", "sources", "samplers", "seeding", "stateful"),
    ("pipeline", "progressive", "progress", "distributed", "placement", "keeping", "packing"),
    ("plan", "reading", "following", "fitting"),
    ("measure", "bad_samples", "devices", "preflight"), ("engine_base",), ("backends",), ("slots", "streams", "sending", "waits"),
    ("uploading",), ("flight",), ("feeding",), ("engine",), ("engine_torch", "ffcv_engine"), ("engines", "dataset", "batches"),
    ("lowering",), ("epochs",), ("state",), ("orders",), ("arguments", "iterators"), ("explaining",),
    ("loader",), ("recipes",), ("profiler", "conversion", "demo_images", "show"), ("parity",), ("cli",), ("__init__", "__main__"),
)  # fmt: skip
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MOST_LINES, MOST_FUNCTION_LINES = 300, 40


def modules() -> list[Path]:
    found = sorted(PACKAGE.rglob("*.py"))
    assert len(found) > 30
    return found


def layer(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(tree: ast.Module) -> set[str]:
    """First parts below `fastload` of everything a module imports when it is imported."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "fastload":
            parts = node.module.split(".")[1:]
            names |= {parts[0]} if parts else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("fastload.")}
    return names


def test_every_module_has_a_layer():
    assert sorted({layer(path) for path in modules()} - set(LEVEL)) == []


def test_imports_point_one_way():
    wrong = []
    for path in modules():
        own = layer(path)
        wrong += [
            f"{path.relative_to(ROOT)} imports fastload.{name}"
            for name in imported(ast.parse(path.read_text()))
            if own != "__init__" and name != own and LEVEL.get(name, -1) >= LEVEL[own]
        ]
    assert wrong == []


def test_files_and_functions_stay_small():
    sources = [*modules(), *ROOT.glob("benchmarks/*.py")]
    kernels = [*ROOT.glob("kernels/**/*.h"), *ROOT.glob("kernels/**/*.c*")]
    long = [str(path.relative_to(ROOT)) for path in (*sources, *kernels) if len(path.read_text().splitlines()) > MOST_LINES]
    for path in sources:
        long += [
            f"{path.relative_to(ROOT)}:{node.name}"
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES
        ]
    assert long == []


def test_nothing_is_unpickled_or_evaluated():
    banned = {"eval", "exec", "compile", "__import__"}
    calls = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in banned:
                calls.append(f"{path.relative_to(ROOT)}: {node.func.id}")
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                calls += [f"{path.relative_to(ROOT)}: {name}" for name in names if name.split(".")[0] in ("pickle", "marshal", "shelve")]
    assert calls == []
