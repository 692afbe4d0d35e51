"""What `.ci/check_objects.py` compares: object files by their place, but for Python's own."""

import importlib.util
from pathlib import Path

from tests.conftest import TREE, needs_checkout

pytestmark = needs_checkout
_spec = importlib.util.spec_from_file_location("check_objects", TREE / ".ci" / "check_objects.py")


def checks():
    module = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(module)
    return module


def build(folder: Path, count: int = 120, bound: bytes = b"") -> Path:
    """A folder as CMake leaves it, with so many objects of the engine and one of the binding."""
    for number in range(count):
        path = folder / "CMakeFiles" / "fastload_engine.dir" / f"{number}.cpp.o"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%d" % number)
    own = folder / "CMakeFiles" / "_native.dir" / "job.cpp.o"
    own.parent.mkdir(parents=True)
    own.write_bytes(bound)
    return folder


def test_builds_differ_in_what_has_pythons_headers_alone(tmp_path):
    check = checks()
    first, other = build(tmp_path / "a", bound=b"1"), build(tmp_path / "b", bound=b"2")
    found = {"a": check.objects(first), "b": check.objects(other)}
    assert len(found["a"]) == 120
    assert check.problems(found) == []


def test_what_differs_is_named(tmp_path, monkeypatch):
    check = checks()
    first, other = build(tmp_path / "a"), build(tmp_path / "b")
    place = "CMakeFiles/fastload_engine.dir/7.cpp.o"
    (other / place).write_bytes(b"other code")
    monkeypatch.setattr(check, "digest", Path.read_bytes)  # these are no ELF files
    found = {"a": check.objects(first), "b": check.objects(other)}
    assert check.problems(found) == [f"b: 1 objects are not a's, such as {place}"]
    (other / place).unlink()
    found["b"] = check.objects(other)
    assert check.problems(found) == [f"b: 1 objects are not a's, such as {place}"]


def test_a_folder_without_objects_proves_nothing(tmp_path):
    check = checks()
    found = {name: check.objects(build(tmp_path / name, 3)) for name in "ab"}
    assert check.problems(found) == ["a: objects (got 3, want at least 100)"]
