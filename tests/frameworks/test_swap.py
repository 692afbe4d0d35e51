"""The whole program's loader swapped by one line before it: torch.utils.data.DataLoader =
fastload.DataLoader.
"""

import json

import pytest
import torchvision  # noqa: F401  the script needs it

# A script as torchvision's references/classification/train.py is: presets that hold their chain, a
# loader that PyTorch's module names.
SCRIPT = """
import sys

import torch
import torch.utils.data
import torchvision
from torchvision import transforms


class Preset:
    def __init__(self, size):
        self.transforms = transforms.Compose([
            transforms.RandomResizedCrop(size),
            transforms.PILToTensor(),
            transforms.ConvertImageDtype(torch.float),
            transforms.Normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
        ])

    def __call__(self, img):
        return self.transforms(img)


def train_one_epoch(model, criterion, optimizer, data_loader):
    model.train()
    count = 0
    for image, target in data_loader:
        loss = criterion(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += image.shape[0]
    return count


torch.manual_seed(0)
dataset = torchvision.datasets.ImageFolder(sys.argv[1], Preset(16))
sampler = torch.utils.data.RandomSampler(dataset)
data_loader = torch.utils.data.DataLoader(dataset, batch_size=16, sampler=sampler, num_workers=1)
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = torch.nn.CrossEntropyLoss()
counts = [train_one_epoch(model, criterion, optimizer, data_loader) for _ in range(2)]
"""
AFTER = """
import json
said = getattr(data_loader, "explain", str)().splitlines()[:1]
print(json.dumps([counts, type(data_loader).__module__, said]))
"""
SWAP = "import fastload, torch.utils.data\ntorch.utils.data.DataLoader = fastload.DataLoader\n"
REFERENCE = """
# its workers are PyTorch's own loader's
reference = fastload.DataLoader(dataset, 16, backend="torch", num_workers=1)
assert sum(len(batch[1]) for batch in reference) == 40
assert fastload.accelerate(data_loader).explain() == data_loader.explain()
"""


@pytest.mark.long
@pytest.mark.parametrize("swapped", [False, True], ids=["theirs", "swapped"])
def test_a_script_that_is_not_edited(program, folder, swapped):
    code = f"{SWAP}{SCRIPT}{REFERENCE}{AFTER}" if swapped else f"{SCRIPT}{AFTER}"
    done = program("-c", code, folder)
    assert done.stderr == ""
    counts, module, explained = json.loads(done.stdout)
    assert counts == [40, 40]
    want = (
        ("fastload.loader.loader", ["backend native, 1 threads, device cpu"])
        if swapped
        else ("torch.utils.data.dataloader", [])
    )
    assert (module, explained) == want
