"""A small, fixed part of the release's check `python -m tests.life.starved`; and each way in which
a loader may find no memory.
"""

import json
import re

import pytest

from tests.life import starved

WAYS = """
import sys, json, resource, threading, types, torch
import fastload
from fastload import transforms as T
from fastload.engine import feeding
from fastload.engine import slots
from fastload.errors import HostMemoryError
folder, way = sys.argv[1:]

def fail(*_, **__):
    raise MemoryError("made up")

if way == "feeder":  # its own loop, outside of any batch
    def _feed(*_):
        raise MemoryError
    feeding._feed = _feed
    threading.excepthook = lambda _: None
elif way == "order":
    feeding._begin = fail
elif way == "slot":
    slots.torch = types.SimpleNamespace(empty=fail, uint8=torch.uint8)
elif way == "torch":
    def empty(*_, **__):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: "
                           "can't allocate memory: you tried to …")
    slots.torch = types.SimpleNamespace(empty=empty, uint8=torch.uint8)
elif way == "thread":
    def start(_):
        raise RuntimeError("can't start new thread")
    threading.Thread.start = start
data = fastload.open(folder, [T.Resize((24, 32))])
loader = fastload.DataLoader(data, 2, num_workers=int(way != "inline"))
if way == "inline":
    batches = iter(loader)
    next(batches)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used, used))
else:
    batches = None
said = []
try:
    for _ in batches or loader:
        pass
except HostMemoryError as error:
    said.append(str(error))
print(json.dumps(said))
"""
TEXTS = {
    "feeder": r"loader: thread fastload-feeder has ended without memory; ",
    "order": r"loader: out of memory \(made up\); ",
    "slot": r"loader: out of memory \(made up\); ",
    "torch": r"loader: out of memory \(\[enforce fail .*\); ",
    "thread": r"loader: out of memory \(can't start new thread\); ",
    "inline": r"loader: no memory is left for a batch \(16 MiB cannot be had\); ",
}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("images") / "a"
    where.mkdir()
    for number in range(40):
        (where / f"{number:02}.jpg").write_bytes(starved.KINDS["baseline.jpg"](0.01))
    return str(where.parent)


@pytest.mark.long
@pytest.mark.parametrize("way", TEXTS)
def test_missing_memory_is_an_error_once_and_no_hang(program, images: str, way: str) -> None:
    done = program("-c", WAYS, images, way)
    assert (done.returncode, done.stderr) == (0, "")
    (said,) = json.loads(done.stdout)
    assert re.fullmatch(
        TEXTS[way] + r"take fewer workers or smaller batches, or allow the process more memory",
        said,
    ), said


@pytest.mark.long
def test_loaders_over_giants_under_limits(program, tmp_path) -> None:
    done = program(
        "-m", "tests.life.starved", "--runs", "3", "--mib", "0", "100", "250", "--megapixels", "8",
        "--scratch", str(tmp_path), cwd=str(starved.TREE),
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "9 runs, 0 that ended otherwise than promised", (
        done.stdout
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("said", "is_good"),
    [
        ("batch SampleError batch", True),
        ("HostMemoryError: loader: x; do y", True),
        ("BackendError: loader: 4 threads cannot be started (x); take fewer workers", True),
        ("nothing", True),
        ("HostMemoryError: x", False),
        ("MemoryError: std::bad_alloc", False),
        ("RuntimeError: std::bad_alloc; x", False),
        ("killed by signal 11; x", False),
        ("hangs: 120 s; x", False),
        ("ended with 1; libgomp: Thread creation failed", False),
        ("", False),
    ],
)
def test_what_is_right(said: str, is_good: bool) -> None:
    assert starved.good(said) == is_good
