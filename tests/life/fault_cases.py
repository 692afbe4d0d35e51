"""The faults of tests.life.faults, one function each. `python -m tests.life.fault_cases` forks a process for each that is asked for.

FOLDER/images holds the images. A function returns what the fault came to ("ok …"), or raises.
"""

import json
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fastload
from fastload import transforms as T
from fastload.conversion import beton_writer, job, readers
from fastload.conversion.job import Options
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
    return fastload.DataLoader(data, BATCH, **{"shuffle": True, "seed": 1, "num_workers": 2} | options)


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
    batches = loader(folder / "images", timeout=0.5)
    on = switch(folder, "stall")
    try:
        told(batches)
    except RuntimeError as error:
        if str(error) == "DataLoader timed out after 0.5 seconds" and error.__cause__:
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
    """Whether a child whose reads hang ends within 5 s of its last line."""
    switch(folder, "stall")
    child = os.fork()
    if child == 0:
        batches: Any = iter(loader(folder / "images"))
        then(batches)
        del batches
        sys.exit(0)
    end = time.monotonic() + 20
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.02)
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
    path = an_image(folder)
    path.write_bytes(encoded(np.tile(textured(64, 80, 1), (90, 90, 1)), progressive=True))  # 41 megapixels, kept as coefficients
    batches = loader(folder / "images", num_workers=1)
    limit_memory(160 << 20)
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
    "a_bomb": lambda path: path.write_bytes(encoded(textured(8, 8, 1)).replace(b"\x00\x08\x00\x08\x03", b"\xff\xff\xff\xff\x03")),
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


def shards(folder: Path) -> Path:
    job.run(job.prepare(str(folder / "images"), str(folder / "shards"), Options(workers=1, shard_bytes=20_000)))
    return folder / "shards"


def cut(path: Path, size: int = 100) -> None:
    os.truncate(path, size)


@case()
def an_index_cut_off_in_use(folder: Path) -> str:
    where = shards(folder)
    batches = loader(where)
    before = told(batches)
    cut(where / "index.arrow")
    return same(batches, before, "it is in memory")


@case()
def an_index_cut_off(folder: Path) -> str:
    where = shards(folder)
    cut(where / "index.arrow")
    return told(loader(where)) and "no error"


@case()
def a_shard_cut_off_in_use(folder: Path) -> str:
    where = shards(folder)
    batches = loader(where)
    told(batches)
    cut(where / "shard-000001.tar")
    return told(batches) and "no error"


@case()
def shards_that_vanish_in_use(folder: Path) -> str:
    where = shards(folder)
    batches = loader(where)
    before = told(batches)
    for path in where.iterdir():
        path.unlink()
    return same(batches, before, "they are open")


@case()
def sidecars_cut_off_in_use(folder: Path) -> str:
    where = shards(folder)
    batches = loader(where)
    before = told(batches)
    for path in where.glob("*.seek"):
        cut(path)
    return same(batches, before, "images are decoded whole")


@case()
def collected_indexes_cut_off_in_use(folder: Path) -> str:
    batches = loader(folder / "images")
    before = told(batches)
    for path in (folder / "cache").rglob("fastload.seek*"):
        cut(path, 20)
    told(batches, 1)
    return same(batches, before, "images are decoded whole")


@case()
def a_beton_cut_off_in_use(folder: Path) -> str:
    path = folder / "data.beton"
    beton_writer.run(readers.open_reader(str(folder / "images")), str(path), beton_writer.Options(workers=1))
    batches = loader(path)
    told(batches)
    cut(path, 9000)
    return told(batches) and "no error"


def huggingface(folder: Path) -> tuple[Any, Path]:
    import datasets

    made = datasets.load_dataset("imagefolder", data_dir=str(folder / "images"), split="train", cache_dir=str(folder / "hf"))
    made = made.map(lambda row: {"image": row["image"]}, cache_file_name=str(folder / "mapped.arrow"))
    made.save_to_disk(folder / "saved")
    return datasets.load_from_disk(folder / "saved"), next((folder / "saved").glob("*.arrow"))


@case()
def huggingface_cut_off(folder: Path) -> str:
    data, path = huggingface(folder)
    cut(path, 4096)
    return str(fastload.from_huggingface(data, transform=OPS))


@case()
def huggingface_cut_off_in_use(folder: Path) -> str:
    data, path = huggingface(folder)
    batches = fastload.DataLoader(fastload.from_huggingface(data, transform=OPS), BATCH, shuffle=True, seed=1, num_workers=2)
    told(batches)
    cut(path, 4096)
    return told(batches) and "no error"


def fill(small: Path) -> None:
    with (small / "all").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


@case(small=True)
def no_space_for_the_cache(folder: Path) -> str:
    os.environ["XDG_CACHE_HOME"] = str(folder / "other")
    before = told(loader(folder / "images"))
    fill(folder / "small")
    os.environ["XDG_CACHE_HOME"] = str(folder / "small")
    batches = loader(folder / "images")
    told(batches, 1)
    return same(batches, before, "indexes are in memory")


@case(small=True)
def no_space_for_the_list(folder: Path) -> str:
    an_image(folder).write_bytes(b"no image")
    options = {"on_error": "substitute", "max_bad": 1.0}
    before = told(loader(folder / "images", **options))
    fill(folder / "small")
    return same(loader(folder / "images", bad_samples=folder / "small" / "list.jsonl", **options), before, "without the list")


@case()
def a_folder_in_the_lists_place(folder: Path) -> str:
    an_image(folder).write_bytes(b"no image")
    options = {"on_error": "substitute", "max_bad": 1.0}
    before = told(loader(folder / "images", **options))
    return same(loader(folder / "images", bad_samples=folder / "images", **options), before, "without the list")


@case(small=True)
def no_space_for_a_conversion(folder: Path) -> str:
    fill(folder / "small")
    job.run(job.prepare(str(folder / "images"), str(folder / "small" / "out"), Options(workers=1)))
    return "no error"


@case()
def a_file_in_the_caches_place(folder: Path) -> str:
    before = told(loader(folder / "images", seek_index="off"))
    (folder / "cache").write_text("")
    batches = loader(folder / "images")
    told(batches, 1)
    return same(batches, before, "indexes are in memory")


@case()
def no_home(folder: Path) -> str:
    before = told(loader(folder / "images"))
    del os.environ["XDG_CACHE_HOME"]
    os.environ["HOME"] = ""
    return same(loader(folder / "images"), before, "indexes are in memory")


@case()
def an_index_that_is_none(folder: Path) -> str:
    class Wrong(list[int]):
        def __iter__(self) -> Iterator[int]:
            yield from (0, 1, 2, 3, 10_000)

    return told(loader(folder / "images", sampler=Wrong([0] * 5), shuffle=None, seed=None)) and "no error"


@case()
def a_worker_that_is_killed(folder: Path) -> str:
    batches = loader(folder / "images", backend="torch")
    iterator = iter(batches)
    next(iterator)
    os.kill(iterator._batches.batches._workers[0].pid, 9)
    return str(len(list(iterator))) and "no error"


@case()
def shared_memory_is_full(folder: Path) -> str:
    return without_shared_memory(folder, "auto")


@case()
def shared_memory_is_full_for_workers(folder: Path) -> str:
    return without_shared_memory(folder, "torch")


def without_shared_memory(folder: Path, backend: str) -> str:
    """With a /dev/shm of 4 KiB in a mount namespace of its own, where that may be made."""
    import ctypes

    before = told(loader(folder / "images"))
    libc = ctypes.CDLL(None, use_errno=True)
    own = libc.unshare(0x00020000) == 0 and libc.mount(b"none", b"/", None, 0x44000, None) == 0
    if not own or libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"size=4k"):
        return "needs the right to mount"
    batches = loader(folder / "images", backend=backend)
    return same(batches, before, "threads need none")


@case()
def a_forked_child(folder: Path) -> str:
    batches = loader(folder / "images")
    before = told(batches)
    child = os.fork()
    if child == 0:
        os._exit(told(batches) != before)
    return "ok it has threads of its own" if os.waitpid(child, 0)[1] == 0 else "other batches in the child"


@case()
def a_state_of_nonsense(folder: Path) -> str:
    loader(folder / "images").load_state_dict(json.loads('{"version": 1, "epoch": "x"}'))
    return "no error"


def said(name: str, folder: Path) -> str:
    """What a fault came to, in one line."""
    try:
        return CASES[name].run(folder)
    except Exception as error:
        return f"{type(error).__name__}: {' | '.join(str(error).splitlines())}"


def serve() -> None:
    """For each name, folder and environment, as a line of JSON: a line with what a forked child said."""
    for line in sys.stdin:
        name, folder, environment, seconds = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            os.environ.update(environment)
            out = os.open(Path(folder, "said"), os.O_WRONLY | os.O_CREAT)
            os.write(out, said(name, Path(folder)).encode(errors="replace"))
            os._exit(0)
        end = time.monotonic() + seconds
        while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
            time.sleep(0.01)
        os.killpg(child, 9) if done[0] == 0 else None
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1] if done[0] == 0 else done[1])
        result = f"hangs: nothing within {seconds} s" if done[0] == 0 else f"killed by signal {-code}" if code < 0 else ""
        print(result or Path(folder, "said").read_text(), flush=True)


if __name__ == "__main__":
    serve()
