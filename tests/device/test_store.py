"""What STORE drops, erases, mixes and resizes with device="cuda": the CPU's batches in every
placement, on a GPU that the host plays.
"""

from dataclasses import replace

import pytest

import fastload
from fastload import recipes
from fastload import transforms as T
from fastload.plan.placement import ALL
from tests.device.test_loader import MEAN, STD, same

CROPS = [T.RandomResizedCrop((31, 45)), T.RandAugment(1)]
FLOAT = [T.ToTensor(), T.Normalize(MEAN, STD)]
STORES = {
    "ColOut": [*CROPS, T.ColOut(0.1, 0.2), *FLOAT],
    "ColOut of each, twice": [*CROPS, T.ToTensor(), T.ColOut(0.1, 0.2, batch=False),
    T.Normalize(MEAN, STD), T.ColOut(0.1)],
    "erasing": [*CROPS, T.ToTensor(), T.RandomErasing(0.8, value=(0.25, 0.5, 1)), T.Normalize(MEAN,
    STD), T.RandomErasing(0.5)],
    "erasing with noise": [*CROPS, *FLOAT, T.RandomErasing(0.8, value="random"),
    T.RandomErasing.timm(0.7, mode="rand", max_count=3)],
    "erasing after ColOut": [
        *CROPS, T.ToImage(channels_last=True), T.ColOut(0.2, batch=False), T.ToDtype("bfloat16",
        scale=True),
        T.RandomErasing(0.8, value="random"), T.RandomErasing(0.3, value=0.5), T.Normalize(MEAN,
        STD),
    ],
    "nothing to augment": [T.RandomResizedCrop((31, 45)), T.ColOut(0.1), T.ToImage(),
    T.RandomErasing(0.8, value=(3, 200, 77))],
}  # fmt: skip


@pytest.mark.parametrize("placement", ALL, ids=str)
@pytest.mark.parametrize("name", STORES)
def test_what_store_drops_and_erases_is_the_cpus_in_every_placement(
    folder, gpu, decoder, name, placement
):
    decoder.bad = (2,)
    data = fastload.open(folder, STORES[name])
    how = {"shuffle": True, "num_workers": 2, "seed": 5}
    device = fastload.DataLoader(
        data, 7, device="cuda", decode=placement.decode, augment=placement.augment, **how
    )
    host = fastload.DataLoader(data, 7, **how)
    for _ in range(2):
        same(list(device), list(host))
    assert device._engine.chooser.placements == [placement]


MIXES = {"MixUp": T.MixUp(), "boxes": T.CutMix(), "timm": T.MixUp.timm(1.0, 1.0, mode="elem")}


@pytest.mark.parametrize("placement", ALL, ids=str)
@pytest.mark.parametrize("mix", MIXES)
def test_what_is_dropped_and_erased_is_mixed_as_by_the_cpu(folder, gpu, decoder, mix, placement):
    ops = [
        *CROPS,
        T.ColOut(0.1, 0.2, batch=mix == "boxes"),
        T.ToTensor(),
        T.RandomErasing(0.8, value=(3.0, -1, 2)),
        T.Normalize(MEAN, STD),
    ]
    data = fastload.open(folder, ops)
    host, device = (
        fastload.DataLoader(data, 7, shuffle=True, num_workers=2, seed=5, mix=MIXES[mix], **more)
        for more in (
            {},
            {"device": "cuda", "decode": placement.decode, "augment": placement.augment},
        )
    )
    same(list(device), list(host))


@pytest.mark.parametrize("placement", ALL, ids=str)
@pytest.mark.parametrize("mode", ["decode", "resize", "crop"])
def test_sizes_change_in_every_mode_and_placement(folder, gpu, decoder, mode, placement):
    ops = [
        T.RandomResizedCrop(40),
        T.RandAugment(1),
        T.ColOut(0.1),
        *FLOAT,
        *[T.RandomErasing(0.8, value="random")] * (mode == "decode"),
    ]
    schedule = fastload.ProgressiveResize(3, delay=0.2, finetune=0.2, mode=mode)
    host, device = (
        fastload.DataLoader(
            fastload.open(folder, ops), 7, num_workers=2, seed=5, size_schedule=schedule, **more
        )
        for more in (
            {},
            {"device": "cuda", "decode": placement.decode, "augment": placement.augment},
        )
    )
    sizes = set()
    for _ in range(3):
        batches = list(host)
        same(list(device), batches)
        sizes.add(batches[0][0].shape)
    assert len(sizes) > 1


@pytest.mark.parametrize("placement", ALL, ids=str)
def test_the_recipe_hot_runs_whole_in_every_placement(folder, gpu, decoder, placement):
    recipe = recipes.load("hot")
    ops = [
        replace(op, size=(112, 130)) if isinstance(op, T.RandomResizedCrop) else op
        for op in recipe.ops()
    ]
    how = {"shuffle": True, "num_workers": 2, "seed": 11, "mix": recipe.mix()}
    how["size_schedule"] = recipe.training.progressive_resizing.schedule(3)
    host = fastload.DataLoader(fastload.open(folder, ops), 16, **how)
    device = fastload.DataLoader(
        fastload.open(folder, ops),
        16,
        device="cuda",
        decode=placement.decode,
        augment=placement.augment,
        **how,
    )
    for _ in range(3):
        same(list(device), list(host))
    assert f"  gpu     {placement}" in device.explain().splitlines()
