"""`PIL.Image.open` made lazy where PyTorch's own engine runs a data set: in its worker processes
for good, in the caller's process while a batch is made.
"""

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image
from torch.utils.data import get_worker_info

from fastload.image import pillow
from fastload.image.lazy import SUPPORTED, lazy
from fastload.lowering import codes
from fastload.order.seeding import Around

OPEN = Callable[..., Image.Image]
_known: list[bool] = []  # that it is proved
VARIABLE = "FASTLOAD_LAZY_IMAGES"


def allowed() -> bool:
    """Whether the environment leaves it to the loader."""
    return os.environ.get(VARIABLE, "") != "0"


def why_not(*, wanted: bool) -> str:
    """Why images are not lazy in a loader that wants so or not; "" if they are."""
    if not wanted or not allowed():
        return "lazy_images=False" if not wanted else f"{VARIABLE}=0"
    if not SUPPORTED:
        return "Pillow is older than 11.1"
    return "" if _proved() else "the program has replaced functions of Pillow's"


class _Patch:
    """`PIL.Image.open` of this process, and how many ask for lazy images."""

    def __init__(self) -> None:
        self.lock, self.uses = threading.Lock(), 0
        self.before: OPEN = Image.open
        self.ours: OPEN | None = None

    def enter(self) -> None:
        with self.lock:
            if self.uses == 0 and Image.open is not self.ours:
                self.before, self.ours = Image.open, self._lazily(Image.open)
                Image.open = self.ours  # type: ignore[assignment]
            self.uses += 1

    def leave(self) -> None:
        with self.lock:
            self.uses -= 1
            # Else the program has put something around it meanwhile, which calls it on.
            if self.uses == 0 and Image.open is self.ours:
                Image.open, self.ours = self.before, None  # type: ignore[assignment]

    def forget(self) -> None:
        """In a child of fork, whose parent may have been making a batch."""
        self.lock, uses, self.uses = threading.Lock(), self.uses, 1
        if uses:
            self.leave()
        self.uses = 0

    def _lazily(self, original: OPEN) -> OPEN:
        @functools.wraps(original)
        def open(*args: Any, **kwargs: Any) -> Image.Image:
            image = original(*args, **kwargs)
            return lazy(image) if self.uses and pillow.unchanged() else image

        return open


_patch = _Patch()
os.register_at_fork(after_in_child=_patch.forget)


@contextmanager
def opened_lazily() -> Iterator[None]:
    """Images that `PIL.Image.open` gives meanwhile are lazy; afterwards it is what it was.

    Other threads get such images meanwhile, too: they have the same pixels.
    """
    _patch.enter()
    try:
        yield
    finally:
        _patch.leave()


class LazyWorker:
    """A worker_init_fn: the process opens images lazily from now on, and then what `init` does."""

    def __init__(self, init: Callable[[int], Any] | None) -> None:
        self.init = init

    def __call__(self, worker: int) -> None:
        if SUPPORTED and _proved():  # a started process has modules of its own
            _patch.enter()
        info = get_worker_info()
        while info is not None and isinstance(info.dataset, Around):
            # The program's own, past the class's __setattr__; since torch 2.13 it has no __dict__
            object.__setattr__(info, "dataset", vars(info.dataset)["_inside"])
        if self.init is not None:
            self.init(worker)


def _proved() -> bool:
    """Whether Pillow's methods are what its files define: they may have been replaced before
    fastload was imported.
    """
    if not _known and pillow.as_defined():
        # What is replaced later, `pillow.unchanged` sees.
        _known.extend([True] * all(codes.is_defined(*one) for one in pillow.functions()))
    return bool(_known)
