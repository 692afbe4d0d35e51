"""What programs do with a batch's memory: the same on a native batch as on PyTorch's, but for what
is listed.
"""

import copy
import io
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from .kinds import KINDS, first

NOT_RESIZABLE = ("RuntimeError", "Trying to resize storage that is not resizable")
Use = Callable[[torch.Tensor], Any]


def saved(tensor: torch.Tensor) -> Any:
    file = io.BytesIO()
    torch.save(tensor, file)
    size = file.tell()
    file.seek(0)
    return size, torch.load(file)


def through_a_queue(tensor: torch.Tensor) -> Any:
    queue = torch.multiprocessing.get_context("fork").SimpleQueue()
    queue.put(tensor)
    return queue.get().clone(), tensor.is_shared()


def written(tensor: torch.Tensor) -> Any:
    tensor.numpy()[(0,) * tensor.ndim] = 1
    return tensor


def swapped(tensor: torch.Tensor) -> Any:
    other = torch.zeros(2)
    torch.utils.swap_tensors(tensor, other)
    return tensor, other


def assigned(tensor: torch.Tensor) -> Any:
    tensor.data = torch.zeros(2, dtype=tensor.dtype)
    return tensor


def learnt(tensor: torch.Tensor) -> Any:
    (tensor.float().requires_grad_() * 2).sum().backward()
    return tensor.requires_grad_().is_leaf if tensor.is_floating_point() else None


def doubled(tensor: torch.Tensor) -> Any:
    storage = tensor.untyped_storage()
    storage.resize_(storage.nbytes() * 2)
    return storage.nbytes()


def added(tensor: torch.Tensor, size: int) -> Any:
    return torch.add(torch.ones(size, size, dtype=tensor.dtype), 1, out=tensor.resize_(0))


USES: dict[str, Use] = {
    "facts": lambda t: (
        t.stride(),
        t.storage_offset(),
        t.is_contiguous(),
        t.is_pinned(),
        t.is_leaf,
        t.layout,
        t.device,
        t.is_inference(),
    ),
    "version": lambda t: (t._version, t.add_(1)._version),
    "view or not": lambda t: (t._is_view(), t._base is None, type(t.untyped_storage()).__name__),
    "bytes": lambda t: (
        t.untyped_storage().nbytes(),
        t.untyped_storage().data_ptr() == t.data_ptr(),
        len(t.storage()),
    ),
    "share_memory_": lambda t: (
        t.share_memory_() is t,
        t.is_shared(),
        t.untyped_storage().is_shared(),
    ),
    "share_memory_ twice": lambda t: t.share_memory_().share_memory_(),
    "share_memory_ of a part": lambda t: (t[1:].share_memory_(), t.is_shared()),
    "share_memory_, then less": lambda t: t.share_memory_().resize_(2, 1),
    "share_memory_, then written": lambda t: t.share_memory_().add_(1),
    "share_memory_, then another's": lambda t: t.share_memory_().set_(
        torch.zeros(3, dtype=t.dtype)
    ),
    "a queue": through_a_queue,
    "pin_memory": lambda t: t.pin_memory().is_pinned(),
    "less": lambda t: t.resize_(2, 1),
    "save": saved,
    "pickle": lambda t: (len(pickle.dumps(t)), pickle.loads(pickle.dumps(t))),
    "deepcopy": lambda t: (copy.deepcopy(t), copy.deepcopy(t).untyped_storage().resizable()),
    "clone": lambda t: (t.clone().resize_(0), t.clone().untyped_storage().resizable()),
    "numpy": lambda t: (
        t.numpy(),
        t.numpy().flags.writeable,
        t.numpy().flags.owndata,
        t.numpy().strides,
    ),
    "numpy, written": written,
    "in place": lambda t: t.mul_(2).neg_(),
    "in place, storage": lambda t: (t.untyped_storage().fill_(0).nbytes(), t),
    "set_": lambda t: t.set_(torch.zeros(3, dtype=t.dtype)),
    "set_ from it": lambda t: torch.zeros(1, dtype=t.dtype).set_(t),
    "set_ from its storage": lambda t: torch.zeros(1, dtype=t.dtype).set_(t.untyped_storage()),
    "data =": assigned,
    "swap_tensors": swapped,
    "dlpack": lambda t: (torch.from_dlpack(t), np.from_dlpack(t), t.__dlpack_device__()),
    "gradients": learnt,
    "as_strided": lambda t: t.as_strided((2,), (1,)),
    "view as bytes": lambda t: t.view(torch.uint8),
    "channels_last": lambda t: t.to(memory_format=torch.channels_last) if t.ndim == 4 else t,
    "shape in place": lambda t: t.unsqueeze_(0).transpose_(0, -1),
    "detach_": lambda t: t.detach_(),
    "weak reference": lambda t: weakref.ref(t)() is t,
    "memoryview": lambda t: memoryview(t.numpy()).nbytes,
    "file name": lambda t: t.untyped_storage().filename,
    "out=, as large": lambda t: torch.add(torch.ones_like(t), 1, out=t),
    "out=, smaller": lambda t: added(t, 1),
}
LARGER: dict[str, Use] = {
    "resizable": lambda t: t.untyped_storage().resizable(),
    "share_memory_, resizable": lambda t: t.share_memory_().untyped_storage().resizable(),
    "more": lambda t: tuple(t.resize_(7, 3, 60, 9).shape),
    "resize_as_": lambda t: tuple(t.resize_as_(torch.zeros(9, 99, 9)).shape),
    "storage, twice as large": doubled,
    "storage, nothing": lambda t: (t.untyped_storage().resize_(0), t.untyped_storage().nbytes())[1],
    "out=, larger": lambda t: added(t, 50),
}


def flat(found: Any) -> Any:
    if isinstance(found, torch.Tensor):
        return str(found.dtype), found.tolist()
    if isinstance(found, np.ndarray):
        return str(found.dtype), found.tolist()
    return [flat(part) for part in found] if isinstance(found, tuple) else found


def outcome(use: Use, tensor: torch.Tensor) -> Any:
    try:
        return flat(use(tensor))
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("part", [0, 1], ids=["images", "labels"])
@pytest.mark.parametrize("name", USES)
def test_a_batch_is_used_as_pytorchs(ours, name, part, folder):
    got, want = (outcome(USES[name], first(one.make(folder, 4))[part]) for one in (ours, KINDS[0]))
    assert got == want


@pytest.mark.parametrize("part", [0, 1], ids=["images", "labels"])
@pytest.mark.parametrize("name", LARGER)
def test_a_batch_that_is_to_be_larger(ours, name, part, folder):
    got, want = (
        outcome(LARGER[name], first(one.make(folder, 4))[part]) for one in (ours, KINDS[0])
    )
    if ours.name == "native" and part == 0:
        assert ours.differs("resizing")
        assert got == (False if want is True else NOT_RESIZABLE)
        return
    assert got == want
    assert "Error" not in str(got)


def test_a_copy_can_be_made_larger(kind, folder):
    images, _ = first(kind.make(folder, 4))
    copied = images.clone()
    assert copied.resize_(5, 3, 60, 90).shape == (5, 3, 60, 90)
    assert torch.equal(copied.flatten()[: images.numel()], images.flatten())


def test_memory_that_was_shared_is_not_lent_again(kind, folder):
    """Its bytes have moved, and the next batches do not write to them."""
    batches = iter(kind.make(folder, 4))
    images, _ = next(batches)
    images.share_memory_()
    kept = images.clone()
    for _ in batches:
        assert torch.equal(images, kept)
