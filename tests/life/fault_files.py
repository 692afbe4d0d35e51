"""More faults of tests.life.faults: files that are cut off or vanish, disks that are full,
processes that die.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastload
from fastload.conversion import beton_writer, job, readers
from fastload.conversion.job import Options
from tests.life.fault_cases import BATCH, OPS, an_image, case, loader, same, told


def shards(folder: Path) -> Path:
    job.run(
        job.prepare(
            str(folder / "images"), str(folder / "shards"), Options(workers=1, shard_bytes=20_000)
        )
    )
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
    beton_writer.run(
        readers.open_reader(str(folder / "images")), str(path), beton_writer.Options(workers=1)
    )
    batches = loader(path)
    told(batches)
    cut(path, 9000)
    return told(batches) and "no error"


def huggingface(folder: Path) -> tuple[Any, Path]:
    import datasets

    made = datasets.load_dataset(
        "imagefolder", data_dir=str(folder / "images"), split="train", cache_dir=str(folder / "hf")
    )
    made = made.map(
        lambda row: {"image": row["image"]}, cache_file_name=str(folder / "mapped.arrow")
    )
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
    batches = fastload.DataLoader(
        fastload.from_huggingface(data, transform=OPS), BATCH, shuffle=True, seed=1, num_workers=2
    )
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
    return same(
        loader(folder / "images", bad_samples=folder / "small" / "list.jsonl", **options),
        before,
        "without the list",
    )


@case()
def a_folder_in_the_lists_place(folder: Path) -> str:
    an_image(folder).write_bytes(b"no image")
    options = {"on_error": "substitute", "max_bad": 1.0}
    before = told(loader(folder / "images", **options))
    return same(
        loader(folder / "images", bad_samples=folder / "images", **options),
        before,
        "without the list",
    )


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

    return (
        told(loader(folder / "images", sampler=Wrong([0] * 5), shuffle=None, seed=None))
        and "no error"
    )


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
    return (
        "ok it has threads of its own"
        if os.waitpid(child, 0)[1] == 0
        else "other batches in the child"
    )


@case()
def a_state_of_nonsense(folder: Path) -> str:
    loader(folder / "images").load_state_dict(json.loads('{"version": 1, "epoch": "x"}'))
    return "no error"
