"""Workers share the index of a large data set: what a worker has for itself does not grow with the
number of entries.
"""

import json
import sys

import pytest

ENTRIES = (3_000, 300_000)
PROGRAM = """
import gc, json, multiprocessing, sys
import torch
from torchvision import transforms
from torchvision.datasets import ImageFolder
import fastload

torch.set_num_threads(1)
root, backend, entries = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = ImageFolder(root, transforms.Compose([transforms.Resize((8, 9)), transforms.ToTensor()]))
few = data.samples
# As many texts as entries, as a real index has: the same files by other names.
data.samples = [
    (f"{few[n % len(few)][0][:5]}{'/' * (n % 3)}{few[n % len(few)][0][5:]}", n % 3)
    for n in range(entries)
]
how = {"num_workers": 2, "backend": backend, "seek_index": "off"}
loader = fastload.DataLoader(data, 16, shuffle=True, **how)
# takes tuples of texts and numbers off its lists; a worker that did so would write to all of them
gc.collect()
iterator = iter(loader)
for _ in range(20):
    next(iterator)

def own(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(1024 * int(line.split()[1]) for line in file if line.startswith("Private_"))

print(json.dumps([own(child.pid) for child in multiprocessing.active_children()]))
"""


def private(program, folder: str, backend: str, entries: int) -> list[int]:
    """Bytes that each worker process has for itself after 20 batches in random order."""
    done = program("-c", PROGRAM, folder, backend, str(entries))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_of_the_torch_backend_share_the_index(program, folder):
    few, many = (private(program, folder, "torch", entries) for entries in ENTRIES)
    assert len(few) == len(many) == 2
    index = (ENTRIES[1] - ENTRIES[0]) * 100  # bytes: a path and its place, at least
    assert (
        max(many) - max(few) < index
    )  # 2 copies without sharing: the texts, and the native list of them


def test_natively_there_are_no_worker_processes(program, folder):
    assert private(program, folder, "native", ENTRIES[0]) == []
