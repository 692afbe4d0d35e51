"""STORE ops: the same bits as torchvision's, one by one and as the native engine's table."""

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import v2

from fastload.backends.native import store
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import plan
from fastload.sources import FileSource
from fastload.spec import Stage
from fastload.transforms import (
    ConvertImageDtype,
    Normalize,
    PILToTensor,
    RandomResizedCrop,
    ToDtype,
    ToImage,
    ToTensor,
)

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SOURCE = FileSource("data", ("data/a/0.jpg",), np.zeros(1, np.int64), ("a",))
CHAINS = {
    "ToTensor": ((ToTensor(),), v1.ToTensor()),
    "ToTensor, Normalize": (
        (ToTensor(), Normalize(MEAN, STD)),
        v1.Compose([v1.ToTensor(), v1.Normalize(MEAN, STD)]),
    ),
    "PILToTensor": ((PILToTensor(),), v1.PILToTensor()),
    "v2": (
        (ToImage(), ToDtype(torch.float32, scale=True), Normalize(MEAN, STD)),
        v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]),
    ),
    "v1 half": (
        (PILToTensor(), ConvertImageDtype(torch.float16), Normalize(MEAN, STD)),
        v1.Compose(
            [v1.PILToTensor(), v1.ConvertImageDtype(torch.float16), v1.Normalize(MEAN, STD)]
        ),
    ),
    "bfloat16": (
        (ToImage(), ToDtype("bfloat16", scale=True), Normalize(MEAN, STD)),
        v2.Compose([v2.ToImage(), v2.ToDtype(torch.bfloat16, scale=True), v2.Normalize(MEAN, STD)]),
    ),
    "unscaled": (
        (ToImage(), ToDtype(torch.float32), Normalize((124.0,), (58.0,))),
        v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32), v2.Normalize([124.0], [58.0])]),
    ),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_ops_give_torchvisions_bits(chain, make_image):
    ops, torchvisions = CHAINS[chain]
    image = Image.fromarray(make_image(19, 31, 4))
    ours = image
    for op in ops:
        ours = op(ours)
    torch.testing.assert_close(ours, torch.as_tensor(torchvisions(image)), rtol=0, atol=0)


@pytest.mark.parametrize("chain", CHAINS)
def test_the_table_gives_torchvisions_bits(chain):
    ops, torchvisions = CHAINS[chain]
    made = plan(Pipeline(SOURCE, (RandomResizedCrop(8), *ops)))
    table = store.table(made.stage(Stage.STORE), made.out.dtype)
    ramp = np.repeat(
        np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2
    )  # one row with every value
    want = torch.as_tensor(torchvisions(Image.fromarray(ramp)))[:, 0]
    if table is None:
        assert want.dtype == torch.uint8
        return
    got = (
        torch.from_numpy(table).view(torch.bfloat16)
        if made.out.dtype == "bfloat16"
        else torch.from_numpy(table)
    )
    assert got.dtype == want.dtype
    torch.testing.assert_close(got, want, rtol=0, atol=0)
