"""The folder of `fastload demo`: the same on every run, and never half of it."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fastload
from fastload.demo_images import make_folder, one_image
from fastload.errors import ConversionError, UsageError
from tests.waiting import until

SEED = 5


@pytest.fixture(scope="module")
def run_apart(tmp_path_factory) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run code in a process that has this module without torch: torch takes each worker seconds to
    import.
    """
    place = tmp_path_factory.mktemp("apart")
    (place / "fastload").mkdir()
    (place / "fastload/__init__.py").touch()
    for name in ("demo_images", "errors.py", "spec.py", "system"):
        (place / "fastload" / name).symlink_to(Path(fastload.__file__).with_name(name))

    def run(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        code = "import os, signal\nfrom fastload.demo_images import make_folder\n" + code
        command, environment = [sys.executable, "-c", code], {**os.environ, **environment}
        return subprocess.run(
            command,
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    return run


def tree(root: Path) -> dict[str, str]:
    return {
        str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(root.rglob("*"))
        if p.is_file()
    }


@pytest.mark.long
def test_the_folder_is_the_same_for_any_number_of_workers(tmp_path, run_apart):
    done: list[int] = []
    make_folder(tmp_path / "one", count=41, classes=3, seed=SEED, workers=1, on_done=done.append)
    run = run_apart(
        f"make_folder({str(tmp_path / 'two')!r}, count=41, classes=3, seed={SEED}, workers=2, "
        "on_done=print)"
    )
    assert (run.returncode, run.stdout.split(), run.stderr) == (0, ["20", "20", "1"], "")
    one = tree(tmp_path / "one")
    assert one == tree(tmp_path / "two")
    assert len(one) == 41 + 1
    assert {Path(name).parent.name for name in one} == {"class_00", "class_01", "class_02", ""}
    assert (tmp_path / "one/class_02/000005.JPEG").read_bytes() == one_image(5, SEED, classes=3)[0]
    assert done == [20, 20, 1]
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_a_finished_folder_is_used_again(tmp_path):
    root = tmp_path / "demo"
    root.mkdir()  # an empty folder counts as none
    make_folder(root, count=2, classes=2, workers=1)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    make_folder(root, count=2, classes=2, workers=1, on_done=lambda _: pytest.fail("made again"))
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    assert json.loads((root / "demo.json").read_text()) == {
        "made_by": "fastload demo",
        "version": 1,
        "count": 2,
        "classes": 2,
        "seed": 0,
    }


def test_another_folder_is_left_alone(tmp_path):
    make_folder(tmp_path / "demo", count=1, classes=1, workers=1)
    made = "{'made_by': 'fastload demo', 'version': 1, 'count': 1, 'classes': 1, 'seed': %d}"
    with pytest.raises(UsageError) as error:
        make_folder(tmp_path / "demo", count=1, classes=1, seed=3, workers=1)
    assert (
        str(error.value)
        == f"{tmp_path}/demo: is another set (got {made % 0}, want {made % 3}); remove it or give "
        "another folder"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/work.txt").write_text("keep")
    for taken in ("mine", "mine/work.txt"):
        with pytest.raises(UsageError) as error:
            make_folder(tmp_path / taken, count=1, classes=1, workers=1)
        assert (
            str(error.value)
            == f"{tmp_path}/{taken}: is there, but has no readable demo.json; give a folder that "
            "does not exist"
        )
    assert (tmp_path / "mine/work.txt").read_text() == "keep"


def test_a_faster_run_beside_this_one_wins(tmp_path):
    root = tmp_path / "demo"
    make_folder(
        root,
        count=1,
        classes=1,
        workers=1,
        on_done=lambda _: make_folder(root, count=1, classes=1, workers=1),
    )
    assert sorted(tree(root)) == ["class_00/000000.JPEG", "demo.json"]
    assert os.listdir(tmp_path) == ["demo"]


def test_a_failed_run_leaves_nothing(tmp_path):
    def stop(images: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_folder(tmp_path / "demo", count=1, classes=1, workers=1, on_done=stop)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_killed_run_leaves_no_folder_under_the_final_name_and_no_process(tmp_path, run_apart):
    end = "lambda images: os.kill(os.getpid(), signal.SIGKILL)"
    run = run_apart(
        f"make_folder({str(tmp_path / 'demo')!r}, 200, workers=2, on_done={end})",
        FASTLOAD_TEST_MARK=str(tmp_path),
    )
    assert run.returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert left.startswith("demo.partial-")
    assert until(lambda: running(str(tmp_path)) == [])


STARTS = """
import multiprocessing, time
from fastload.system.hearing import unheard

def wait():
    time.sleep(60)

if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=wait)
    with unheard():
        child.start()
    os.kill(child.pid, signal.SIGINT)
    child.join(0.5)
    print(child.is_alive(), signal.pthread_sigmask(signal.SIG_BLOCK, []))
    child.kill()
"""


def test_ctrl_c_never_comes_to_a_worker_that_begins(run_apart):
    done = run_apart(STARTS)
    assert (done.stdout, done.stderr) == ("True set()\n", "")


def running(mark: str) -> list[str]:
    """Processes, other than zombies, that have `mark` in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:  # has ended, or is not ours
            continue
    return found


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"count": 0},
            "demo: too few images (got 0, want at least 20, one per class); ask for more",
        ),
        (
            {"count": 19},
            "demo: too few images (got 19, want at least 20, one per class); ask for more",
        ),
        ({"classes": 0}, "demo: too few classes (got 0, want at least 1); ask for more"),
        ({"workers": 0}, "demo: too few workers (got 0, want at least 1); ask for more"),
        (
            {"seed": -1},
            "demo: seed is out of range (got -1, want 0 to 2^64 - 1); give another seed",
        ),
    ],
)
def test_arguments_that_make_no_sense(tmp_path, arguments, text):
    with pytest.raises(UsageError) as error:
        make_folder(tmp_path / "demo", **arguments)
    assert str(error.value) == text
    assert os.listdir(tmp_path) == []


def test_all_wrong_arguments_are_named_at_once(tmp_path):
    with pytest.raises(UsageError) as error:
        make_folder(tmp_path / "demo", count=0, workers=-2)
    assert str(error.value).splitlines() == [
        "demo: too few images (got 0, want at least 20, one per class); ask for more",
        "demo: too few workers (got -2, want at least 1); ask for more",
    ]


def test_a_root_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConversionError) as error:
        make_folder(tmp_path / "file/demo", count=1, classes=1, workers=1)
    assert (
        str(error.value)
        == f"{tmp_path}/file/demo: cannot be written (Not a directory); give a folder that you can "
        "write to"
    )
