"""Records that batches use one after the other: the batches are those of a loader without workers,
which draws each by itself.
"""

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import transforms as T
from fastload.backends.native.runner import Runner

COUNT, SIZE = 43, 8
OPS = [
    T.RandomResizedCrop((24, 32)), T.RandomHorizontalFlip(), T.RandAugment(2, 9), T.ToImage(),
    T.ColOut(0.15), T.ToDtype("float32", scale=True), T.RandomErasing(0.5),
]  # fmt: skip


# Magnitudes are normal numbers, which torch makes: they are given to the programs
GIVEN = [
    T.RandomResizedCrop((24, 32)), T.RandAugment.timm("rand-m7-mstd0.5-inc1"), T.ToImage(),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root, rng = tmp_path_factory.mktemp("kits"), np.random.Generator(np.random.Philox(3))
    for number in range(COUNT):
        path = root / f"class_{number % 3}" / f"{number:02d}.jpg"
        path.parent.mkdir(exist_ok=True)
        pixels = rng.integers(0, 256, (5, 7, 3), np.uint8)
        Image.fromarray(pixels).resize((60 + number, 47)).save(path, quality=90)
    return root


def made(folder, workers, ops=OPS, **given):
    return fastload.DataLoader(
        fastload.open(str(folder), ops), SIZE, shuffle=True, seed=5, num_workers=workers,
        backend="native", seek_index="off", **given,
    )  # fmt: skip


def kits(loader):
    (runner,) = loader._engine.runners.values()
    return runner.pictures[0].kits


@pytest.mark.parametrize(
    ("ops", "mix"),
    [(OPS, None), (OPS, T.MixUp(alpha=0.4)), (GIVEN, None)],
    ids=["plain", "mixed", "given"],
)
def test_batches_are_those_of_a_loader_that_uses_none(folder, ops, mix):
    """The last batch of an epoch is smaller."""
    native, inline = made(folder, 2, ops, mix=mix), made(folder, 0, ops, mix=mix)
    for _ in range(3):
        for one, other in zip(native, inline, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert kits(native)
    assert len({id(kit.native) for kit in kits(native)}) == len(kits(native)) <= 7


def test_a_kit_whose_batch_had_a_bad_sample_is_dropped(folder, tmp_path):
    """Pixels that are cut off are found when they are decoded: after the records were drawn."""
    for path in folder.glob("*/*.jpg"):
        copy = tmp_path / path.relative_to(folder)
        copy.parent.mkdir(exist_ok=True)
        data = path.read_bytes()
        copy.write_bytes(data[: len(data) // 2] if path.stem == "17" else data)
    given = {"on_error": "substitute", "bad_samples": str(tmp_path / "bad.jsonl"), "max_bad": 9}
    native, inline = made(tmp_path, 2, **given), made(tmp_path, 0, **given)
    for _ in range(3):
        for one, other in zip(native, inline, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_records_that_may_run_again_say_what_is_mixed(folder, monkeypatch):
    """Where Pillow has to help, the job runs again by these."""
    follow, found = Runner._follow, []

    def noted(self, job, work, kit, outs):
        batch = follow(self, job, work, kit, outs)
        found.append((batch.drawn[0].mix.rows(), batch.drawn[0].store.partners))
        return batch

    monkeypatch.setattr(Runner, "_follow", noted)
    native = made(folder, 2, mix=T.MixUp(alpha=0.4))
    for _ in range(2):
        assert sum(len(images) for images, _ in native) == COUNT
    assert found
    assert all(np.array_equal(wanted, partners) for wanted, partners in found)


def test_an_iterator_that_is_dropped_leaves_no_kit_that_is_in_use(folder):
    native, inline = made(folder, 2), made(folder, 0)
    for epoch in range(6):
        native.set_epoch(epoch)
        inline.set_epoch(epoch)
        for _, one, other in zip(range(3), native, inline, strict=False):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
