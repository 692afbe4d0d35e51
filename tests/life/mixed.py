"""The release's check of bad images: 1 % of 10,000 are broken, and everything else is as if they
were not. Takes minutes.

    python -m tests.life.mixed [--samples N]

Each policy, natively and by the torch backend, in one process and on two ranks (gloo): good samples
have the bits and the places that they have in a clean copy of the data set.
"""

import argparse
import functools
import hashlib
import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed
import torch.multiprocessing

import fastload
from fastload import DistributedSampler
from fastload import transforms as T
from fastload.errors import SampleError
from tests.conftest import encoded, textured

BATCH, SEED, SHARE = 50, 4, 100
OPS = [T.RandomResizedCrop((10, 12)), T.RandomHorizontalFlip()]
PATTERNS = 200  # different images; names differ, so their draws do


def make(root: Path, samples: int) -> None:
    """root/good and root/bad: the same but for every `SHARE`th image, which is cut off, empty, no
    image, or gone later.
    """
    data = [
        encoded(textured(18 + number % 9, 22 + number % 5, number)) for number in range(PATTERNS)
    ]
    for number in range(samples):
        for kind in ("good", "bad"):
            folder = root / kind / f"class{number % 4}"
            if number < 4:
                folder.mkdir(parents=True)
            content = data[number % PATTERNS]
            if kind == "bad" and number % SHARE == SHARE // 2:
                content = (content[: len(content) // 2], b"", b"no image", content[:30])[
                    number // SHARE % 4
                ]
            (folder / f"{number:06d}.jpg").write_bytes(content)


def loader(root: Path, kind: str, policy: str, backend: str, sampler: Any = None) -> Any:
    data = fastload.open(str(root / kind), OPS)
    options = {"seed": SEED} | (
        {"shuffle": True} if sampler is None else {"sampler": sampler(data)}
    )
    options |= {"on_error": policy, "num_workers": 0 if backend == "torch" else 2}
    options |= {} if policy == "raise" else {"max_bad": 1.0, "bad_samples": root / "list.jsonl"}
    return fastload.DataLoader(data, BATCH, backend=backend, seek_index="off", **options)


def rows(batch: Any) -> list[bytes]:
    """A digest of each sample of a batch."""
    pairs = zip(*batch, strict=True)
    return [
        hashlib.blake2b(image.numpy().tobytes() + bytes([int(label)]), digest_size=12).digest()
        for image, label in pairs
    ]


def run(batches: Any) -> tuple[list[list[bytes] | None], list[int]]:
    """Digests batch by batch, None for one that raised; and which samples it raised for."""
    iterator, found, raised = iter(batches), [], []
    while True:
        try:
            found.append(rows(next(iterator)))
        except StopIteration:
            return found, raised
        except SampleError as error:
            found.append(None)
            raised.append(error.index)


def compare(
    policy: str, clean: list[list[bytes]], got: list[list[bytes] | None], broken: np.ndarray
) -> list[str]:
    """What is wrong. broken: bool [N] in the order of the epoch."""
    wrong, known = [], {row for batch in clean for row in batch}
    if len(got) != len(clean):
        return [f"{len(got)} batches, want {len(clean)}"]
    for number, (have, want) in enumerate(zip(got, clean, strict=True)):
        bad = broken[number * BATCH : number * BATCH + len(want)]
        good = [row for row, lost in zip(want, bad, strict=True) if not lost]
        if policy == "raise":
            right = have is None if bad.any() else have == want
        elif policy == "skip":
            right = have == good
        else:
            have = have or []
            right = [row for row, lost in zip(have, bad, strict=len(have) > 0) if not lost] == good
            # What stands in is drawn anew, of another sample.
            right = right and not any(
                row in known for row, lost in zip(have, bad, strict=True) if lost
            )
        wrong += [f"batch {number}"] * (not right)
    return wrong


def is_broken(data: Any) -> np.ndarray:
    """bool [N] by sample."""
    return np.array([int(Path(name).stem) % SHARE == SHARE // 2 for name, _ in data.samples])


def one(
    root: Path, policy: str, backend: str, clean: list[list[bytes]], sampler: Any = None
) -> list[str]:
    batches = loader(root, "bad", policy, backend, sampler)
    order = np.array(
        list(loader(root, "good", "raise", backend, sampler).sampler)
    )  # asking a sampler begins its next epoch
    broken = is_broken(batches.dataset)
    got, raised = run(batches)
    wrong = compare(policy, clean, got, broken[order])
    if policy == "raise" and not set(raised) <= set(np.flatnonzero(broken).tolist()):
        wrong.append("a good sample raised")
    return wrong


def _rank(rank: int, root: Path, port: int, folder: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    sampler = functools.partial(DistributedSampler, seed=SEED)
    wrong = []
    for policy in ("raise", "skip", "substitute"):
        clean = [
            batch
            for batch in run(loader(root, "good", "raise", "native", sampler))[0]
            if batch is not None
        ]
        wrong += [
            f"rank {rank}, {policy}: {each}" for each in one(root, policy, "native", clean, sampler)
        ]
        counts = [torch.zeros(1, dtype=torch.int64) for _ in range(2)]
        torch.distributed.all_gather(counts, torch.tensor([len(clean)]))
        wrong += [f"{policy}: ranks have {counts} batches"] * (counts[0] != counts[1])
    Path(folder, f"rank{rank}").write_text("\n".join(wrong))
    torch.distributed.destroy_process_group()


def ranks(root: Path) -> list[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.start_processes(
        _rank, (root, port, str(root)), nprocs=2, start_method="fork"
    )
    return [line for rank in range(2) for line in (root / f"rank{rank}").read_text().splitlines()]


def check(
    samples: int, backends: tuple[str, ...] = ("native", "torch"), say: Any = print
) -> list[str]:
    """What was wrong."""
    wrong = []
    root = Path(tempfile.mkdtemp(prefix="fastload-life-"))
    try:
        make(root, samples)
        wrong += ranks(root)
        say(f"2 ranks, 3 policies, native: {len(wrong)} batches wrong", flush=True)
        clean = [
            batch for batch in run(loader(root, "good", "raise", "native"))[0] if batch is not None
        ]
        for backend in backends:
            for policy in ("raise", "skip", "substitute"):
                found = one(root, policy, backend, clean)
                say(
                    f"{backend:7} {policy:11} {len(clean)} batches, {samples // SHARE} bad "
                    f"samples: {len(found)} wrong",
                    flush=True,
                )
                wrong += [f"{backend}, {policy}: {each}" for each in found]
    finally:
        shutil.rmtree(root)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    wrong = check(parser.parse_args().samples)
    print("\n".join(wrong[:20]) or "all good samples are as in the clean data set")
    return bool(wrong)


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
