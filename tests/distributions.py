"""Distributions that tests make: a folder with metadata and modules, as pip leaves them."""

import importlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

TOY = Path(__file__).parent / "toy_package"
Groups = Mapping[str, Mapping[str, str]]  # entry points: group → name → MODULE:OBJECT


def write(
    folder: Path, name: str, groups: Groups, modules: Mapping[str, str] | None = None
) -> Path:
    """What `pip install --target folder` of a distribution would leave there."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, text in (modules or {}).items():
        (folder / f"{module}.py").write_text(text)
    return folder


def write_toy(folder: Path) -> Path:
    """The metadata of tests/toy_package, whose modules stay where they are."""
    text = (TOY / "pyproject.toml").read_text()
    groups: dict[str, dict[str, str]] = {}
    for group, lines in re.findall(r'\[project.entry-points."(.*)"\]\n((?:.+\n)+)', text):
        groups[group] = dict(re.findall(r'(.*) = "(.*)"', lines))
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("toy", "toy_ops"):
        (folder / name).symlink_to(TOY / name)
    return write(folder, "fastload-toy", groups)


def install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make what lies in the folder importable, until the test ends."""
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        monkeypatch.setitem(sys.modules, name, None)  # so that it is forgotten at the test's end
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
