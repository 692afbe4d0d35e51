"""The release's check of programs that find no memory: loaders over hostile images, under limits of
the address space. Takes an hour.

    python -m tests.life.starved [--runs N] [--gib 1 2 …] [--mib 64 256 …] [--megapixels M]
        [--seed S] [--damaged]

Each run is a process of its own, forked from one that has torch: it takes a limit (of so many GiB;
or of what it has and so many MiB more), makes a loader of some kind over some of
`tests.hostile.giants` (--damaged: a few, and many of `tests.hostile.damage`), and goes through an
epoch. Batches, errors of one sample and `HostMemoryError` are right; a signal, a hang and anything
else are not.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import torch
import torchvision.transforms.v2  # noqa: F401  as programs have it: importing takes memory

import fastload
from fastload import errors
from fastload import transforms as T
from tests.conftest import encoded, textured
from tests.hostile import damage
from tests.hostile.giants import KINDS

TREE = Path(__file__).parents[2]
DAMAGED = 400  # files, of --damaged
SECONDS = 120.0  # that a run may take, on a busy machine
OPS: dict[str, list[Any]] = {
    "crop": [T.RandomResizedCrop((24, 32))],
    "resize": [T.Resize((24, 32))],
    "center": [T.Resize(40), T.CenterCrop((24, 32)), T.ToImage()],
}


def options(seed: int, damaged: int = 0) -> dict[str, Any]:
    """What a run's loader is told; a function of the seed.

    damaged: how many such files there are; a run takes 40.
    """
    draw = random.Random(seed)
    others = [f"damaged {n}.jpg" for n in draw.sample(range(damaged), min(damaged, 40))]
    policy = draw.choice(["raise", "raise", "substitute", "skip"])
    return {
        "ops": draw.choice(list(OPS)),
        "images": [*draw.sample(sorted(KINDS), 2 if damaged else 5), "small.jpg", *others],
        "backend": draw.choice(["native", "native", "native", "torch"]),
        "num_workers": draw.choice([0, 1, 2, 4, 8]),
        "batch_size": draw.choice([1, 2, 3]),
        "on_error": policy,
        "decode_scale": draw.choice(["exact", "fast"]),
        "seek_index": draw.choice(["auto", "off"]),
        "seed": seed,
    }


def folder_of(scratch: str, library: str, images: list[str]) -> str:
    """A data set of these images."""
    where = Path(scratch, "images", "a")
    where.mkdir(parents=True)
    for name in images:
        os.link(Path(library, name), where / name)
    return str(where.parent)


def limit(gib: float | None, mib: float | None) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = int(gib * 2**30) if gib is not None else used + int((mib or 0) * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def epoch(folder: str, asked: dict[str, Any]) -> list[str]:
    """What came:

    "batch", or the type of an error; the first of another type than SampleError ends it.
    """
    told = {name: value for name, value in asked.items() if name not in ("ops", "images")}
    if told["on_error"] != "raise":
        told |= {"max_bad": 1.0, "bad_samples": f"{folder}/../bad.jsonl"}
    loader = fastload.DataLoader(fastload.open(folder, OPS[asked["ops"]]), shuffle=True, **told)
    found, batches = [], iter(loader)
    while True:
        try:
            next(batches)
            found.append("batch")
        except StopIteration:
            return found
        except errors.SampleError as error:
            found.append("SampleError")
            del error


def child(
    scratch: str, folder: str, asked: dict[str, Any], gib: float | None, mib: float | None
) -> None:
    """Never returns. What came is in scratch/said."""
    out = os.open(f"{scratch}/said", os.O_WRONLY | os.O_CREAT)
    for number in (1, 2):
        os.dup2(os.open(f"{scratch}/err", os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    signal.alarm(int(SECONDS))
    warnings.simplefilter("ignore")
    os.environ["XDG_CACHE_HOME"] = f"{scratch}/cache"
    limit(gib, mib)
    try:
        said = " ".join(epoch(folder, asked)) or "nothing"
    except BaseException as error:
        said = f"{type(error).__name__}: {str(error)[:300]}"
    os.write(out, said.encode(errors="replace"))
    os._exit(0)


def run(
    library: str, seed: int, gib: float | None = None, mib: float | None = None, damaged: int = 0
) -> str:
    """What one run came to."""
    asked = options(seed, damaged)
    with tempfile.TemporaryDirectory(
        prefix="fastload-starved-", dir=Path(library).parent
    ) as scratch:
        folder = folder_of(scratch, library, asked["images"])
        process = os.fork()
        if process == 0:
            os.setsid()
            child(scratch, folder, asked, gib, mib)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)  # workers that it has left
        said = Path(scratch, "said").read_text()
        tail = Path(scratch, "err").read_text()[-300:].replace("\n", " | ")
    if code == -signal.SIGALRM:
        return f"hangs: {SECONDS:.0f} s; {tail}"
    if code < 0:
        return f"killed by signal {-code}; {tail}"
    return said or f"ended with {code}; {tail}"


def good(said: str) -> bool:
    """Whether all that came is what is promised."""
    if not said or said.startswith(("hangs", "killed", "ended")):
        return False
    if said.startswith(("HostMemoryError: ", "BackendError: loader: ")):  # the latter of threads
        return "; " in said  # what to do
    return said == "nothing" or set(said.split()) <= {"batch", "SampleError"}


def kind(said: str) -> str:
    """For the counts."""
    return (
        said.partition(":")[0].partition(";")[0]
        if not set(said.split()) <= {"batch", "SampleError"}
        else (
            "batches"
            if "SampleError" not in said
            else "batches and SampleError"
            if "batch" in said
            else "SampleError"
        )
    )


def library(where: Path, megapixels: float, damaged: int = 0) -> str:
    """A folder with all images."""
    where.mkdir(exist_ok=True)
    whole = [encoded(textured(300, 420, n), quality=90, subsampling=n % 3) for n in range(4)]
    for n in range(damaged):
        (where / f"damaged {n}.jpg").write_bytes(damage.damaged(whole[n % 4], n)[1])
    for name, make in (KINDS | {"small.jpg": lambda _: KINDS["baseline.jpg"](0.01)}).items():
        if not (where / name).exists():
            (where / name).write_bytes(make(megapixels))
    return str(where)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--gib", type=float, nargs="*", default=[])
    parser.add_argument("--mib", type=float, nargs="*", default=[])
    parser.add_argument("--megapixels", type=float, default=85)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--damaged", action="store_const", const=DAMAGED, default=0)
    parser.add_argument("--scratch", type=Path)
    given = parser.parse_args()
    if not given.gib and not given.mib:
        given.gib = [float(gib) for gib in range(1, 13)]
    wrong = total = 0
    with tempfile.TemporaryDirectory(prefix="fastload-giants-") as scratch:
        made = library(
            (given.scratch or Path(scratch)) / "library", given.megapixels, given.damaged
        )
        for gib, mib in [(gib, None) for gib in given.gib] + [(None, mib) for mib in given.mib]:
            counts: collections.Counter[str] = collections.Counter()
            began = time.monotonic()
            for n in range(given.runs):
                seed = given.seed + n + int(1000 * (gib or 100 + (mib or 0)))
                said = run(made, seed, gib, mib, given.damaged)
                counts[kind(said)] += 1
                total += 1
                if not good(said):
                    wrong += 1
                    print(
                        f"! seed {seed} {json.dumps(options(seed, given.damaged))}: {said}",
                        flush=True,
                    )
            name = f"{gib:g} GiB" if gib is not None else f"{mib:g} MiB more"
            print(f"{name}: {dict(counts)}, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{total} runs, {wrong} that ended otherwise than promised")
    return bool(wrong)


if __name__ == "__main__":
    torch.set_num_threads(1)
    _ = fastload.DataLoader, fastload.open
    sys.exit(main())
