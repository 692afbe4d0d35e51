"""The faults of tests.life.faults, one function each: of reads, of limits, and of what stands in an
image's place.

FOLDER/images holds the images. A function returns what the fault came to ("ok …"), or raises.
"""

import os
import resource
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fastload
from fastload import transforms as T
from tests.conftest import encoded, textured
from tests.loader.resume_helpers import digest

BATCH = 4
OPS = [T.RandomResizedCrop((12, 16)), T.RandomHorizontalFlip()]


@dataclass(frozen=True)
class Case:
    """One fault, and what its process needs beforehand."""

    run: Callable[[Path], str]
    shim: bool = False
    small: bool = False  # a file system of 1 MiB at FOLDER/small
    match: str = ".jpg"  # paths that the shim means
    calls: str = "open,read,write"


CASES: dict[str, Case] = {}


def case(**needs: Any) -> Callable[[Callable[[Path], str]], Callable[[Path], str]]:
    def add(run: Callable[[Path], str]) -> Callable[[Path], str]:
        CASES[run.__name__] = Case(run, **needs)
        return run

    return add


def loader(where: Any, **options: Any) -> Any:
    data = fastload.open(str(where), OPS)
    return fastload.DataLoader(
        data, BATCH, **{"shuffle": True, "seed": 1, "num_workers": 2} | options
    )


def told(batches: Any, epoch: int = 0) -> list[bytes]:
    batches.set_epoch(epoch)
    return [digest(batch) for batch in batches]


def same(batches: Any, before: list[bytes], what: str) -> str:
    return f"ok {what}" if told(batches) == before else "other batches than without the fault"


def switch(folder: Path, fault: str) -> Path:
    """Turns the shim on."""
    path = folder / "switch"
    path.write_text(fault)
    return path


def an_image(folder: Path) -> Path:
    return sorted((folder / "images").rglob("*.jpg"))[5]


def error_in_reads(folder: Path, fault: str) -> str:
    batches = loader(folder / "images")
    before = told(batches)
    on = switch(folder, fault)
    try:
        told(batches)
    finally:
        on.unlink()
        assert told(batches) == before  # the loader is as good as before
    return "no error"


@case(shim=True, calls="read")
def eio(folder: Path) -> str:
    return error_in_reads(folder, "5")


@case(shim=True, calls="read")
def estale(folder: Path) -> str:
    return error_in_reads(folder, "116")


@case(shim=True, calls="open")
def no_permission(folder: Path) -> str:
    return error_in_reads(folder, "13")


@case(shim=True, calls="open")
def too_many_files_in_the_system(folder: Path) -> str:
    return error_in_reads(folder, "23")


def got_over_in_reads(folder: Path, fault: str) -> str:
    batches = loader(folder / "images")
    before = told(batches)
    switch(folder, fault)
    return same(batches, before, "the calls are made again")


@case(shim=True, calls="read,open")
def eintr_storm(folder: Path) -> str:
    return got_over_in_reads(folder, "eintr")


@case(shim=True, calls="read")
def short_reads(folder: Path) -> str:
    return got_over_in_reads(folder, "short")


@case(shim=True, match="no such file")
def clock_goes_back(folder: Path) -> str:
    os.environ["LIFE_CLOCK"] = "1"
    return got_over_in_reads(folder, "clock")


@case(shim=True, calls="read")
def stalled_read(folder: Path) -> str:
    return stalled(folder, loader(folder / "images", timeout=3.0))


def stalled(folder: Path, batches: fastload.DataLoader) -> str:
    """Batches while reads hang: the loader's own error, which torch's stands before."""
    on = switch(folder, "stall")
    try:
        told(batches)
    except RuntimeError as error:
        if str(error) == "DataLoader timed out after 3.0 seconds" and error.__cause__:
            raise error.__cause__ from None
        raise
    finally:
        on.unlink()
    return "no error"


@case(shim=True, calls="read")
def stalled_read_at_exit(folder: Path) -> str:
    return ends_in_time(folder, lambda _: time.sleep(0.3))


@case(shim=True, calls="read")
def stalled_read_and_a_break(folder: Path) -> str:
    def leave(batches: Any) -> None:
        del batches

    return ends_in_time(folder, leave)


def ends_in_time(folder: Path, then: Callable[[Any], None]) -> str:
    """Whether a program whose reads hang ends."""
    switch(folder, "stall")

    def run() -> None:
        batches: Any = iter(loader(folder / "images"))
        then(batches)
        del batches
        sys.exit(0)

    return ends(run)


def ends(run: Callable[[], None], begun: Callable[[], bool] = lambda: True) -> str:
    """Whether a child that does this, and then ends as programs do, is gone within 20 s after
    `begun`.
    """
    child = os.fork()
    if child == 0:
        run()
    end = None
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and (
        end is None or time.monotonic() < end
    ):
        time.sleep(0.02)
        if end is None and begun():
            end = time.monotonic() + 20
    if done[0]:
        return f"ok the program ends (status {os.waitstatus_to_exitcode(done[1])})"
    os.kill(child, 9)
    return "hangs at its end"


@case()
def too_many_files(folder: Path) -> str:
    batches = loader(folder / "images")
    told(batches)
    used = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used, used))
    told(batches)
    return "no error"


@case()
def no_room_for_threads(folder: Path) -> str:
    limit_memory(96 << 20)
    told(loader(folder / "images", num_workers=512))
    return "no error"


@case()
def out_of_memory_in_a_decode(folder: Path) -> str:
    batches = loader(folder / "images", num_workers=1)
    told(batches)  # its threads have started
    path = an_image(folder)
    path.write_bytes(
        encoded(np.tile(textured(64, 80, 1), (120, 120, 1)), progressive=True)
    )  # 74 megapixels, kept as coefficients
    limit_memory(320 << 20)
    told(batches)
    return "no error"


def limit_memory(more: int) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))


def replaced(folder: Path, put: Callable[[Path], object]) -> str:
    """Something else stands where an image was, from the second epoch on."""
    batches = loader(folder / "images")
    told(batches)
    path = an_image(folder)
    path.unlink()
    put(path)
    told(batches)
    return "no error"


def _socket(path: Path) -> None:
    os.chdir(path.parent)  # names of sockets are short
    socket.socket(socket.AF_UNIX).bind(path.name)


INSTEAD: dict[str, Callable[[Path], object]] = {
    "vanished_file": lambda _: None,
    "empty_file": lambda path: path.touch(),
    "half_a_file": lambda path: path.write_bytes(encoded(textured(40, 60, 3))[:500]),
    "a_folder_in_its_place": lambda path: path.mkdir(),
    "a_named_pipe_in_its_place": os.mkfifo,
    "a_socket_in_its_place": _socket,
    "a_link_to_itself": lambda path: path.symlink_to(path.name),
    "a_bomb": lambda path: path.write_bytes(
        encoded(textured(8, 8, 1)).replace(b"\x00\x08\x00\x08\x03", b"\xff\xff\xff\xff\x03")
    ),
    "other_bytes": lambda path: path.write_bytes(bytes(range(256)) * 9),
}
for _name, _put in INSTEAD.items():
    CASES[_name] = Case(lambda folder, put=_put: replaced(folder, put))  # type: ignore[misc]


@case()
def no_such_folder(folder: Path) -> str:
    return told(loader(folder / "none")) and "no error"


@case()
def a_file_in_the_folders_place(folder: Path) -> str:
    return told(loader(an_image(folder))) and "no error"
