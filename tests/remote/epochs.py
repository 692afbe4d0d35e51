"""Epochs over a store in processes of their own, which may be killed: what each gives, by its file.

    python -m tests.remote.epochs URL CACHE LIMIT OUT WORLD [KILLS SEED]

Forks one process for each rank. With KILLS, one rank runs so often and is killed (SIGKILL) at a
random moment; then it runs to its end.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import fastload
from fastload.remote import crew, layout
from fastload.transforms import RandomResizedCrop, ToImage

GROUP = 24 << 10  # bytes, so that there are many groups
LONGEST = 0.6  # s until a process is killed, at most


def epoch(url: str, cache: str, limit: int, out: Path, rank: int, world: int) -> None:
    """Lines of an epoch: the samples of each batch, and the sum of its pixels; `end`."""
    layout.GROUP = GROUP
    ops = [RandomResizedCrop((24, 31)), ToImage()]
    data = fastload.open(url, ops, cache=cache, cache_bytes=limit)
    sampler = fastload.DistributedSampler(data, world, rank, seed=2)
    order = [part.samples.tolist() for part in sampler.batches(4)]
    sampler.set_epoch(0)
    loader = fastload.DataLoader(data, 4, sampler=sampler, num_workers=2, seed=7)
    with open(out, "w") as file:
        for samples, (images, _) in zip(order, loader, strict=True):
            print(samples, int(images.sum()), file=file, flush=True)
        print("end", file=file)


def forked(*arguments: object) -> int:
    """The number of a process that runs an epoch."""
    if (child := os.fork()) == 0:
        try:
            epoch(*arguments)  # type: ignore[arg-type]
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    url, cache, limit, out, world, *kills = sys.argv[1:]
    _ = fastload.DataLoader, fastload.open  # imported once, not in each process
    common = (url, cache, int(limit))
    if kills:
        chance = random.Random(int(kills[1]))
        for _ in range(int(kills[0])):
            child = forked(*common, Path(out, "killed"), 0, 1)
            time.sleep(chance.uniform(0, LONGEST))
            os.kill(child, signal.SIGKILL)
            ended(child)
    else:
        crew.SLOW_S = 60.0  # nothing hangs: a busy machine is no reason to ask a second time
    children = [
        forked(*common, Path(out, str(rank)), rank, int(world)) for rank in range(int(world))
    ]
    sys.exit(max(ended(child) for child in children))


if __name__ == "__main__":
    main()
