"""Other libraries' decoding made fastload's where PyTorch's own engine runs a data set:
`PIL.Image.open` is lazy, and torchvision.io and OpenCV decode JPEGs by fastload's decoder.
"""

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.util import Finalize
from types import BuiltinFunctionType
from typing import Any

import torch
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from torch.utils.data import get_worker_info

from fastload import _native
from fastload.image import pillow, seeking, stand_ins
from fastload.image.lazy import SUPPORTED, lazy
from fastload.image.stand_ins import Call, scripted
from fastload.loader import composing
from fastload.loader.patching import Patch
from fastload.lowering import codes
from fastload.order.seeding import Around
from fastload.sources import seek_contents
from fastload.sources.seek_contents import Contents
from fastload.system import heap, segments
from fastload.system.segments import Segments, Sender

_known: list[bool] = []  # that it is proved
VARIABLE = "FASTLOAD_LAZY_IMAGES"


def allowed() -> bool:
    """Whether the environment leaves it to the loader."""
    return os.environ.get(VARIABLE, "") != "0"


def why_not(*, wanted: bool) -> str:
    """Why images are not lazy in a loader that wants so or not; "" if they are."""
    if not wanted or not allowed():
        return "lazy_images=False" if not wanted else f"{VARIABLE}=0"
    if _native.MISSING:
        return "there is no native engine"
    if not SUPPORTED:
        return "Pillow is older than 11.1"
    return "" if _proved() else "the program has replaced functions of Pillow's"


def _lazily(original: Call, active: Callable[[], bool]) -> Call:
    @functools.wraps(original)
    def open(*args: Any, **kwargs: Any) -> Image.Image:
        image: Image.Image = original(*args, **kwargs)
        # The class first: for other formats the look at Pillow would be for nothing
        jpeg = type(image) is JpegImageFile
        return lazy(image) if jpeg and active() and pillow.unchanged() else image

    return open


def _torchvisions() -> object:
    """What torchvision.io's functions call, whichever names a program has for them."""
    return torch.ops.image if "torchvision.io" in sys.modules else None


@functools.cache
def _torchvision_agrees(op: Call) -> bool:
    def call(decode: Call) -> Any:
        return decode(torch.from_numpy(stand_ins.sample()), stand_ins.RGB, False)

    return stand_ins.agrees(stand_ins.torchvision_decoder, call, op)


def _is_torchvisions(op: Call) -> bool:
    return type(op) is torch._ops.OpOverloadPacket and _torchvision_agrees(op)


@functools.cache
def _opencv_agrees() -> bool:
    def call(imdecode: Call) -> Any:
        return imdecode(stand_ins.sample(), stand_ins.COLOR)

    imdecode = sys.modules["cv2"].imdecode
    return isinstance(imdecode, BuiltinFunctionType) and stand_ins.agrees(
        stand_ins.opencv_imdecode, call, imdecode
    )


def _is_opencvs(function: Call) -> bool:
    return isinstance(function, BuiltinFunctionType) and _opencv_agrees()


def _is_reader(op: Call) -> bool:
    return type(op) is torch._ops.OpOverloadPacket


_pillows = Patch(lambda: Image, "open", _lazily)
_decoder = scripted(stand_ins.torchvision_decoder)
_others = (
    Patch(_torchvisions, "decode_image", _decoder, _is_torchvisions),
    Patch(_torchvisions, "decode_jpeg", _decoder, _is_torchvisions),
    Patch(_torchvisions, "read_file", scripted(stand_ins.torchvision_reader), _is_reader),
    # imread first: what imdecode is replaced by is no function of OpenCV's
    Patch(lambda: sys.modules.get("cv2"), "imread", stand_ins.opencv_imread, _is_opencvs),
    Patch(lambda: sys.modules.get("cv2"), "imdecode", stand_ins.opencv_imdecode, _is_opencvs),
)
_composes = tuple(
    Patch(composing.owner(module), name, composing.composed, composing.fits)
    for module, name in composing.MODULES.items()
)
_patches = (_pillows, *_others, *_composes)


def _forget() -> None:
    seeking.forget()
    for patch in _patches:
        patch.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def contents(seek_index: str) -> Contents | None:
    """Where the seek indexes of lazy images are, for a loader's option; None: there are none."""
    if seek_index == "off":
        return None
    return Contents(seek_contents.folder(), collects=seek_index == "auto")


@contextmanager
def opened_lazily(indexes: Contents | None = None) -> Iterator[None]:
    """Images that `PIL.Image.open` gives meanwhile are lazy, and fastload decodes for torchvision
    and OpenCV; afterwards their functions are what they were.

    Other threads get such images meanwhile, too: they have the same pixels.
    """
    with ExitStack() as stack:
        for patch in _patches:
            patch.enter()
            stack.callback(patch.leave)
        if indexes is not None:
            seeking.begin(indexes)
            stack.callback(seeking.end, indexes)
        yield


class LazyWorker:
    """A worker_init_fn: the process decodes so from now on, and then what `init` does."""

    def __init__(
        self,
        init: Callable[[int], Any] | None,
        indexes: Contents | None = None,
        sender: Sender | None = None,
    ) -> None:
        self.init, self.indexes, self.sender = init, indexes, sender

    def __call__(self, worker: int) -> None:
        if SUPPORTED and _proved():  # a started process has modules of its own
            for patch in _patches:
                patch.enter()
            if self.indexes is not None:
                seeking.begin(self.indexes)
                # What a worker process does at its end; it never comes to atexit's functions
                Finalize(None, self.indexes.close, exitpriority=1)
        heap.keep()
        if self.sender is not None:
            segments.begin(Segments(self.sender, worker))
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
