"""`fastload profile -- COMMAND` of a program that uses fastload's own loader."""

import pytest

from tests.profiler.attach_helpers import profiled

SCRIPT = """
import sys
import torchvision.transforms as T
from torchvision.datasets import ImageFolder
import fastload

data = ImageFolder(PHOTOS, T.Compose([T.RandomResizedCrop((24, 31)), T.ToTensor()]))
loader = fastload.DataLoader(data, 4, num_workers=1)
assert loader.explain().startswith("backend native"), loader.explain()
for _ in range(20):
    for batch in loader:
        pass
"""


@pytest.mark.long
def test_the_profilers_clocks_are_no_change_of_pillow(fresh_script, photos):
    """Else a loader that runs natively would be measured on PyTorch's engine."""
    done = profiled(fresh_script(SCRIPT.replace("PHOTOS", repr(photos)), plain=True), 15)
    assert done.report is not None, done.why
    assert done.report.setting.backend == "native"
