"""Size schedules that give no size, need a length, or could be lost."""

import numpy as np
import pytest
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload.transforms import ColOut, RandomErasing, RandomResizedCrop, ToTensor

from .size_helpers import EVAL, STEPS, shapes


def test_a_function_that_gives_no_size_ends_the_epoch(folder):
    ops = [RandomResizedCrop(40), ColOut(0.9, 0)]
    for backend in ("native", "torch"):
        data = fastload.open(folder, ops)
        found = fastload.DataLoader(
            data,
            7,
            backend=backend,
            num_workers=int(backend == "native"),
            size_schedule=lambda e: (40, 0, np.int64(5))[e],
        )
        assert len(list(found)) == 6
        with pytest.raises(fastload.PipelineError) as caught:
            list(found)
        assert (
            str(caught.value)
            == "size_schedule: epoch 1: size is 0, want a whole number from 1 to 16384 px"
        )
        with pytest.raises(fastload.PipelineError) as caught:
            list(found)
        assert (
            str(caught.value)
            == "op 2 (ColOut): nothing of 5x5 would be left (p_row 0.9, p_col 0); lower them"
        )


def test_total_steps_needs_a_length(folder):
    class Endless:
        def __iter__(self):
            return iter(range(10))

    with pytest.raises(fastload.UsageError) as caught:
        fastload.DataLoader(fastload.open(folder, EVAL), 7, sampler=Endless(), size_schedule=STEPS)
    text = (
        "size_schedule: total_steps needs a sampler with a length; add __len__, or give "
        "total_epochs"
    )
    assert str(caught.value) == text
    found = fastload.DataLoader(
        fastload.open(folder, EVAL), 7, sampler=Endless(), size_schedule=[24]
    )
    assert shapes(found) == [(24, 24)] * 2


def test_a_schedule_is_never_dropped(folder):
    data = ImageFolder(folder, v1.Compose([v1.Resize((40, 48)), v1.ToTensor()]))
    with pytest.raises(fastload.PipelineError) as caught:
        fastload.DataLoader(data, 7, size_schedule=[24])
    instead = "use ProgressiveResize(mode='resize')"
    assert (
        str(caught.value)
        == f"size_schedule: CROP ends with 40x48 px, want a square; make it one, or {instead}"
    )
    data = ImageFolder(
        folder, v1.Compose([v1.Resize((40, 40)), v1.ToTensor()]), target_transform=str
    )
    with pytest.raises(fastload.BackendError) as caught:
        fastload.DataLoader(data, 7, size_schedule=[24])
    assert (
        str(caught.value)
        == "loader: size_schedule cannot run this data set: ImageFolder has a target_transform"
    )


def test_erasing_before_the_batch_shrinks_is_not_native(folder):
    ops = [RandomResizedCrop(32), ToTensor(), RandomErasing(1.0)]
    schedule = fastload.ProgressiveResize(total_epochs=4, mode="resize")
    loader = fastload.DataLoader(fastload.open(folder, ops), 8, size_schedule=schedule, seed=1)
    assert loader.explain().startswith("backend torch")
    assert (
        "op 3 (RandomErasing) comes before size_schedule's mode 'resize' shrinks the batch; "
        "natively only mode 'decode' goes with it" in loader.explain()
    )
    assert next(iter(loader))[0].shape == (8, 3, 16, 16)
