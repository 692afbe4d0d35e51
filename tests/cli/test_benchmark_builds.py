"""The benchmarks of builds: wheels are unpacked and found, and works say rates of what they did."""

import os
import threading
import zipfile
from pathlib import Path

import pytest

from fastload import _native
from fastload.errors import UsageError
from tests.conftest import PACKAGE

gil = pytest.importorskip("benchmarks.builds.gil")  # not in an installed package
turns = pytest.importorskip("benchmarks.builds.turns")
wheel = pytest.importorskip("benchmarks.builds.wheel")
works = pytest.importorskip("benchmarks.builds.works")


def packed(path: Path, *modules: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in modules:
            archive.writestr(f"fastload/{name}", b"code")
    return path


def test_a_wheels_module_is_found(tmp_path):
    package = wheel.unpacked(packed(tmp_path / "a.whl", "_native.abi3.so"), tmp_path / "out")
    assert wheel.module_of(package) == os.path.realpath(tmp_path / "out/fastload/_native.abi3.so")
    empty = wheel.unpacked(packed(tmp_path / "b.whl", "other.py"), tmp_path / "none")
    with pytest.raises(UsageError, match=r"extension modules \(got 0, want 1\)"):
        wheel.module_of(empty)


def test_what_is_no_wheel_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"is no wheel; \.ci/wheels builds them"):
        wheel.Settings(tmp_path / "absent.whl").check()
    path = packed(tmp_path / "a.whl", "_native.abi3.so")
    with pytest.raises(UsageError, match=r"--repetitions: 0 \(want 1 or more\)"):
        wheel.Settings(path, repetitions=0).check()
    settings = wheel.Settings(path, repetitions=3)
    settings.check()
    assert settings.turns == 2 * len(settings.cases("")) * 4 == 32


def test_a_python_with_a_gil_alone_is_refused(monkeypatch):
    monkeypatch.setattr(gil.sysconfig, "get_config_var", lambda _: 0)
    with pytest.raises(UsageError, match=r"want a free-threaded build\); run it with python3\.13t"):
        gil.Settings().check()
    monkeypatch.setattr(gil.sysconfig, "get_config_var", lambda _: 1)
    gil.Settings().check()
    with pytest.raises(UsageError, match="want 1 or more"):
        gil.Settings(threads=(0, 1)).check()


def test_the_works_of_gil_have_photographs_and_tiny_images():
    cases = gil.Settings(threads=(1, 2)).cases("photographs", "tiny")
    said = [(case.work, case.spec["data"], case.spec.get("threads")) for case in cases]
    assert said == [
        ("transforms", "photographs", 1), ("transforms", "photographs", 2),
        ("loops", "tiny", 1), ("loops", "tiny", 2), ("steps", "tiny", None),
    ]  # fmt: skip
    assert gil.Settings(threads=(1, 2)).turns == 2 * len(cases) * 8


def test_each_case_of_gil_has_all_cores_and_says_its_python(monkeypatch, tmp_path):
    monkeypatch.setattr(gil.sysconfig, "get_config_var", lambda _: 1)
    monkeypatch.setattr(gil, "TINY", 3)
    monkeypatch.setattr(gil.facts, "data_set", lambda *_: {})
    monkeypatch.setattr(gil, "compared", lambda *given: given[2])  # the cases, in place of rows
    cases = gil.run(str(tmp_path), "none", gil.Settings(threads=(2,)))
    usable = sorted(os.sched_getaffinity(0))
    assert [case.work for case in cases] == ["transforms", "loops", "steps"]
    assert [case.unit for case in cases] == ["images/s", "images/s", "steps/s"]
    for case in cases:
        assert case.spec["cores"] == usable
        assert case.settings["cores"] == len(usable)
        assert case.settings["python"].endswith("t")


def test_loops_run_in_threads_of_their_own_at_once():
    meeting, seen = threading.Barrier(3), set()

    def loop() -> int:
        meeting.wait(10)  # ends only where all three are here
        seen.add(threading.get_ident())
        return 5

    assert works.together([loop] * 3) > 0
    assert len(seen) == 3
    with pytest.raises(SystemExit, match="a thread ended without its images"):
        works.together([lambda: 0])


@pytest.mark.parametrize("work", ["decode", "transforms", "loops"])
def test_a_work_says_a_rate(work, tmp_path):
    folder = works.overhead.make_folder(tmp_path / "tiny", 128 if work == "loops" else 8)
    run = works.WORKS[work]({"data": str(folder), "threads": 2})
    assert run() > 0


@pytest.mark.long
def test_a_wheel_is_measured_beside_what_was_built(tmp_path):
    path = tmp_path / "fastload_torch-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted((PACKAGE / "fastload").rglob("*")):
            if file.suffix in (".py", ".toml", ".json"):
                archive.write(file, file.relative_to(PACKAGE))
        module = Path(_native.__file__)  # of an editable installation it lies elsewhere
        archive.write(module, f"fastload/{module.name}")
    folder = works.overhead.make_folder(tmp_path / "tiny", 8)
    settings, done = wheel.Settings(path, outputs=(), repetitions=2), []
    source, other = wheel.run(str(folder), "tiny", settings, lambda: done.append(1))
    assert len(done) == settings.turns == 6
    assert (source.variant, other.variant) == ("built from source", "wheel")
    assert (source.reference, other.reference) == (None, "built from source")
    assert (source.note, other.note) == ("", path.name)
    assert source.settings["work"] == other.settings["work"] == "decode"
    assert other.ratio > 0
