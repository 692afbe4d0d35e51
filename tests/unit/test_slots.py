"""Batch memory: which of it is used again."""

import gc
import types
import weakref

import numpy as np
import pytest
import torch

from fastload.engine import slots
from fastload.engine.slots import Ring

BYTES = np.dtype(np.uint8)


@pytest.fixture
def made(monkeypatch):
    """Weak references to all memory that rings take; ordinary memory, since no GPU is needed."""
    out = []

    def allocated(nbytes, *, pinned):
        memory = torch.empty(nbytes, dtype=torch.uint8)
        out.append(weakref.ref(memory))
        return memory

    monkeypatch.setattr(slots, "allocated", allocated)
    return out


@pytest.mark.parametrize(("pinned", "lent"), [(False, True), (False, False), (True, False)])
def test_a_slot_is_used_again(made, pinned, lent):
    ring = Ring(2, pinned=pinned, lent=lent)
    for _ in range(3):
        ring.take((4, 5), BYTES)
    assert len(made) == 1


def test_pinned_memory_that_the_user_had_goes_back_to_torch(made):
    """Its copy to a GPU may be under way still: only torch knows when it is not."""
    ring = Ring(2, pinned=True)
    for count in (1, 2, 3):
        batch = torch.from_numpy(ring.take((4, 5), BYTES))
        assert len(made) == count
        kept = batch[1:]
        del batch
        assert made[-1]() is not None
        del kept
        assert made[-1]() is None


def covered(height=4, width=5, channels_last=True):
    """A picture, as far as a ring asks it."""
    shape = (height, width, 3) if channels_last else (3, height, width)
    return types.SimpleNamespace(
        host_dtype=BYTES, host_shape=lambda count: (count, *shape),
        host_channels_last=channels_last,
        plan=types.SimpleNamespace(patch=0, out=types.SimpleNamespace(dtype="uint8", channels=3)),
    )  # fmt: skip


@pytest.mark.parametrize("channels_last", [False, True])
def test_a_cover_is_the_slot_as_an_array_and_as_a_tensor(made, channels_last):
    ring, picture = Ring(2, pinned=False), covered(channels_last=channels_last)
    for step in range(3 * slots.TOGETHER):
        array, images = ring.cover(picture, 2)
        array[...] = np.arange(array.size).reshape(array.shape) + step
        wanted = array.transpose(0, 3, 1, 2) if channels_last else array
        assert images.shape == (2, 3, 4, 5)
        assert np.array_equal(images.numpy(), wanted)
        assert images.data_ptr() == made[0]().data_ptr()
        del array, images, wanted
    assert len(made) == 1


def test_a_cover_that_is_kept_keeps_its_slot(made):
    ring, picture, kept = Ring(2, pinned=False), covered(), []
    for step in range(40):
        array, images = ring.cover(picture, 2)
        array[...] = step
        if step % 10 == 3:
            kept.append(images[1:])
    assert [int(images.max()) for images in kept] == [int(images.min()) for images in kept]
    assert [int(images.min()) for images in kept] == [3, 13, 23, 33]


def test_covers_of_other_sizes_are_made_anew(made):
    ring, pictures = Ring(3, pinned=False), [covered(), covered(6, 2), covered(2, 2)]
    for step in range(60):
        picture = pictures[step // 7 % 3]
        count = 1 + step % 2 if step > 30 else 2
        array, images = ring.cover(picture, count)
        assert array.shape == picture.host_shape(count)
        assert images.shape[0] == count
        del array, images
    assert len(made) <= 2


def test_a_ring_that_is_dropped_gives_back_all_memory_but_what_is_kept(made):
    """Without a collection of cycles."""
    ring, picture, kept = Ring(4, pinned=False), covered(), []
    gc.disable()
    try:
        for _ in range(3):
            kept.clear()
            kept += [ring.cover(picture, 2).images for _ in range(3)]
        del kept[1:]
        assert len(made) == 3
        del ring
        assert sum(memory() is not None for memory in made) == 1
        kept.clear()
        assert all(memory() is None for memory in made)
    finally:
        gc.enable()


def test_covers_made_in_inference_mode_are_plain_tensors(made):
    ring, picture = Ring(2, pinned=False), covered()
    for _ in range(2):
        with torch.inference_mode():
            ring.cover(picture, 2)
    assert not any(ring.cover(picture, 2).images.is_inference() for _ in range(slots.TOGETHER))


class Raced(Ring):
    """Another thread writes its smaller size before each look."""

    @property
    def nbytes(self):
        return 1000

    @nbytes.setter
    def nbytes(self, _):
        pass


def test_threads_with_other_sizes_take_nothing_of_a_slot(made):
    ring = Raced(2, pinned=False)
    assert ring.take((5000,), BYTES).base.slot.nbytes >= 5000
