"""benchmarks/gpu/run.sh with a Python, a CMake and a sanitizer that are played: what each step
runs, and what is said without a GPU.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import needs_checkout

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "gpu" / "run.sh"
TRAININGS = [
    f"train_{model}_{path}" for model in ("resnet50", "resnet18") for path in ("mild", "hot")
]
TABLES = ["scaling", "rates", "peers", "step", *TRAININGS]
STEPS = ["build", "tests", "soak", "sanitizer", "kernels", *TABLES]
# "-" is the look for a GPU; what is run otherwise is noted, and fails where it is told to.
PLAYED = """#!/bin/sh
if [ "$1" = - ]; then
    cat >/dev/null
    [ -z "$PLAYED_WHY" ] || { echo "some warning" >&2; echo "$PLAYED_WHY" >&2; exit 1; }
    exit 0
fi
echo "$(basename "$0") $*" >>"$PLAYED_LOG"
case "$(basename "$0") $*" in *"$PLAYED_FAILS"*) exit 5 ;; esac
"""
NO_DRIVER = (
    "Found no NVIDIA driver on your system; look at nvidia-smi, or leave the step out by --only"
)


@pytest.fixture
def script(tmp_path):
    """Runs the script; gives its exit status, stderr, what it ran, and steps.jsonl."""
    played = tmp_path / "bin"
    played.mkdir()
    for name in ("python3", "cmake", "compute-sanitizer"):
        (played / name).write_text(PLAYED)
        (played / name).chmod(0o755)

    def run(*arguments, why="", fails="nothing"):
        log, out = tmp_path / "log", tmp_path / "out"
        log.write_text("")
        settings = {
            "PLAYED_LOG": str(log),
            "PLAYED_WHY": why,
            "PLAYED_FAILS": fails,
            "TMPDIR": str(tmp_path),
            "FASTLOAD_COMMIT": "0",
        }
        environment = (
            os.environ
            | {"PATH": f"{played}:{os.environ['PATH']}", "PYTHON": str(played / "python3")}
            | settings
        )
        command = ["sh", str(SCRIPT), "--out", str(out), *arguments]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        written = (
            (out / "steps.jsonl").read_text().splitlines() if (out / "steps.jsonl").exists() else []
        )
        ran = log.read_text().replace(str(out), "OUT").replace(str(ROOT), "ROOT").splitlines()
        return done.returncode, done.stderr, ran, [json.loads(line) for line in written]

    return run


@needs_checkout
def test_every_step_is_run_and_noted(script, tmp_path):
    code, said, ran, steps = script("--data", str(tmp_path))
    assert (code, said) == (0, "")
    assert [(step["step"], step["exit"]) for step in steps] == [(name, 0) for name in STEPS]
    assert ran[0].startswith("cmake -S ROOT -B ")
    pytest_of = (
        "python3 -m pytest -q -c ROOT/pyproject.toml --rootdir ROOT -p no:cacheprovider --junit-xml"
    )
    assert ran[3:5] == [
        f"{pytest_of} OUT/tests.xml ROOT/tests/gpu",
        f"{pytest_of} OUT/soak.xml ROOT/tests/gpu/test_streams.py -k survive",
    ]
    assert [line.split()[:3] for line in ran[5:7]] == [
        ["compute-sanitizer", "--tool", tool] for tool in ("memcheck", "racecheck")
    ]
    assert ran[7] == "python3 -m benchmarks gpu --results OUT --json"
    assert ran[8:] == [
        f"python3 -m benchmarks on_gpu --table {name} --data {tmp_path} --limit 370 --results OUT "
        "--json"
        for name in TABLES
    ]


def test_without_a_gpu_each_step_says_so_but_the_one_that_needs_none(script):
    code, said, ran, steps = script(why=NO_DRIVER)
    assert code == 3
    assert said.splitlines() == [
        f"run.sh: {name} needs a GPU: {NO_DRIVER}" for name in STEPS if name != "scaling"
    ]
    assert ran == ["python3 -m benchmarks on_gpu --table scaling --limit 370 --results OUT --json"]
    assert [(step["step"], step["exit"]) for step in steps] == [
        (name, 3 * (name != "scaling")) for name in STEPS
    ]


def test_a_step_that_fails_stops_nothing_but_a_build_does(script):
    code, _, _, steps = script("--only", "kernels,step", "--minutes", "3", fails="benchmarks gpu")
    assert (code, [step["exit"] for step in steps]) == (5, [5, 0])
    code, _, ran, steps = script("--only", "build,tests", fails="cmake --build")
    assert (code, [step["step"] for step in steps[2:]]) == (5, ["build"])
    assert len(ran) == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--only", "tests,foo"], f"--only: got foo, want steps of {','.join(STEPS)}; choose some"),
        (["--minutes"], "--minutes has no value (want one); give it"),
        (["--minutes", "1x"], "--minutes: got 1x, want a whole number from 2 on; raise it"),
        (["--minutes", "1"], "--minutes: got 1, want a whole number from 2 on; raise it"),
        (["--data", "/no/such"], "--data: /no/such is no folder; check the path"),
    ],
)
def test_arguments_that_cannot_work_are_refused(script, arguments, text):
    assert script(*arguments) == (2, f"run.sh: {text}\n", [], [])
