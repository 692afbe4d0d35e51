"""Distributions that tests make: a folder with metadata and modules, as pip leaves them."""

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

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


def install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make what lies in the folder importable, until the test ends."""
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        monkeypatch.setitem(sys.modules, name, None)  # so that it is forgotten at the test's end
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
