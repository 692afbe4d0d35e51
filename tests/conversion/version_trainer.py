"""Trainings over a data set that others add to, each in a process: a program of tests.

    version_trainer.py DATA STOP OUT COUNT

Each opens DATA, trains for two epochs, looks whether it saw what it had opened, and opens it again,
until STOP is there. In the middle of its first epoch each makes a file OUT0.ready, OUT1.ready, …,
and waits until somebody has added to DATA. OUT0, OUT1, … say what they saw.
"""

import json
import os
import pickle
import sys
import time
import traceback
from collections import Counter

import torch

import fastload
from fastload.sources import open_source
from fastload.transforms import CenterCrop, ToImage

BATCH, OPS = 4, [CenterCrop((8, 11)), ToImage()]


def epoch(loader, model, optimizer, then=lambda: None):
    """Trains, and tells how often each picture came. then: is called after each batch."""
    seen = Counter()
    for images, _ in loader:
        loss = model(images.flatten(1).float() / 255).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.update(image.numpy().tobytes() for image in images)
        then()
    return seen


def wait(where, out):
    """Until the data set is no more what it was."""
    with open(f"{out}.ready", "w"):
        pass
    while not os.path.exists(os.path.join(where, "version-000001.arrow")):
        time.sleep(0.01)


def train(where, stop, out):
    torch.set_num_threads(1)
    model = torch.nn.Linear(3 * 8 * 11, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    said = {"sizes": [], "epochs": 0, "grew_meanwhile": 0, "wrong": []}
    last = False
    while not last:
        last = os.path.exists(stop)
        data = fastload.open(where, OPS)
        count, sent = len(data), pickle.dumps(data.pipeline.source)
        loader = fastload.DataLoader(data, BATCH, shuffle=True, num_workers=1)
        begins = not said["epochs"]
        first = epoch(loader, model, optimizer, *[lambda: wait(where, out)] * begins)
        second = epoch(loader, model, optimizer)
        later = pickle.loads(sent)  # as a worker that begins late has it
        same = later.rows.index_checksum == data.pipeline.source.rows.index_checksum
        if (sum(first.values()), second, len(later), same) != (count, first, count, True):
            said["wrong"].append([count, sum(first.values()), second == first, len(later), same])
        said["sizes"].append(count)
        said["epochs"] += 2
        said["grew_meanwhile"] += len(open_source(where)) > count
    with open(out, "w") as file:
        json.dump(said, file)


def main(where, stop, out, count):
    """The exit status is the first one that is not 0."""
    children = []
    for number in range(int(count)):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                train(where, stop, f"{out}{number}")
                status = 0
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(next(filter(None, statuses), 0))


if __name__ == "__main__":
    main(*sys.argv[1:])
