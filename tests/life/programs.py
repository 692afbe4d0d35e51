"""Small training programs that are stopped, and the process that forks them: importing torch once
is enough for hundreds.

    python -m tests.life.programs

reads one JSON object per line, and answers each with the program's process number.

`run` is the program itself; it ends as any script does, through the interpreter's own shutdown.
"""

import faulthandler
import gc
import json
import os
import signal
import sys
from typing import Any

import numpy as np
import torch
from PIL import Image

import fastload
from fastload import transforms as T

BATCH = 4
KINDS = (
    "native",
    "inline",
    "torch",
    "own",
)  # two threads, the caller's thread, worker processes of the torch backend, PyTorch's own engine
PROCESSES = ("torch", "own")


class Own(torch.utils.data.Dataset[Any]):
    """A data set that nobody recognises."""

    def __init__(self, folder: str) -> None:
        self.paths = sorted(
            os.path.join(where, name) for where, _, names in os.walk(folder) for name in names
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        with Image.open(self.paths[index]) as image:
            return torch.from_numpy(np.asarray(image.convert("RGB").resize((16, 12))).copy()), index


def loader(kind: str, folder: str, **options: Any) -> Any:
    """Of one of KINDS."""
    options = {"shuffle": True, "seed": 3, "num_workers": 0 if kind == "inline" else 2} | options
    if kind == "own":
        return fastload.DataLoader(
            Own(folder),
            BATCH,
            **{name: value for name, value in options.items() if name != "backend"},
        )
    data = fastload.open(folder, [T.RandomResizedCrop((12, 16)), T.RandomHorizontalFlip()])
    return fastload.DataLoader(
        data, BATCH, backend="torch" if kind == "torch" else "auto", **options
    )


def run(asked: dict[str, Any]) -> None:
    """Epochs without end, every third left early; a line is written for the first batch and for
    each epoch. SIGUSR1 says where it is.
    """
    faulthandler.register(signal.SIGUSR1)
    batches = loader(asked["kind"], asked["folder"], **asked.get("options", {}))
    epoch = 0
    while True:
        for step, (images, _) in enumerate(batches):
            if epoch == step == 0:
                print("ready", images.float().sum().item(), flush=True)
            if epoch % 3 == 1 and step == 3:
                break
        epoch += 1
        print("epoch", flush=True)


def forks() -> dict[str, Any]:
    """In the process that forks: never returns.

    In each child: what it was asked for, with its output going to files.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell starts what it has in the background without
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        child = os.fork()
        if child:
            print(json.dumps({"pid": child}), flush=True)
            if asked.get("wait", True):
                continue
        os.setsid()
        for name, number in (("out", 1), ("err", 2)):
            os.dup2(
                os.open(f"{asked['files']}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
                number,
            )
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        return asked
    os._exit(0)


if __name__ == "__main__":
    torch.set_num_threads(1)
    _ = fastload.DataLoader, fastload.open  # imported when they are asked for: once is enough
    gc.collect()
    gc.freeze()  # programs need not look through what was imported when they end
    run(forks())
