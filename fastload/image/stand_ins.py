"""What torchvision.io and OpenCV decode, by fastload's decoder: their arrays bit by bit where it
covers the JPEG, and whatever the library itself gives or raises for all else.
"""

import contextlib
import functools
import io
import os
import struct
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from PIL import Image

from fastload.files.opening import no_wait
from fastload.image import seeking
from fastload.image.cut import whole
from fastload.spec import Pixels
from fastload.transforms.pil import PASS_ORDER

Call: TypeAlias = Callable[..., Any]
Wrap: TypeAlias = Callable[[Call, Callable[[], bool]], Call]  # original, whether to stand in now
MOST = 1 << 26  # px; whether larger ones are decoded is the library's own question
UNCHANGED, RGB = 0, 3  # torchvision's modes in which three components stay three
# Markers of JPEG: frame headers lie in a range with three others; a fill byte comes before a marker
BEGIN = b"\xff\xd8"
FRAMES, NO_FRAMES, FILL = (0xC0, 0xCF), (0xC4, 0xC8, 0xCC), 0xFF
APP1, SCAN = 0xE1, 0xDA  # of EXIF; of what follows the header
# Sampling of three components: 4:4:4, 4:2:2, 4:2:0. Where colours are subsampled in another way,
# versions of libjpeg-turbo differ.
USUAL = ((0x11, 0x11, 0x11), (0x21, 0x11, 0x11), (0x22, 0x11, 0x11))
# OpenCV's flags: blue first, red first, and whether EXIF's orientation is passed over
COLOR, COLOR_RGB, IGNORE_ORIENTATION = 1, 256, 128
ORIENTATION, UPRIGHT = 274, (3, 1, 1)  # EXIF's number of it; one number of 16 bits, which is 1
MOST_MARKERS = 1 << 12  # of a header, with the bytes that fill the space before them
HEAD = 1 << 16  # bytes, which is more than a segment has


def decoded(
    data: Pixels, make: Callable[[int, int], Pixels], path: str = "", *, bgr: bool = False
) -> bool:
    """Decode a JPEG of three components into what `make(height, width)` gives, uint8 [H, W, 3];
    False: it is the library's. path: of its file, if it is known.
    """
    frame = _frame(data.data)
    if frame is None or frame.height * frame.width > MOST or frame.factors not in USUAL:
        return False
    height, width, _ = frame
    box = whole((width, height))
    try:  # it reads the header by rules of its own, and takes no other size
        seeking.pixels(
            data, path, scale=1, crop=box, size=(width, height), box=box, window=box, flip=False,
            filter="nearest", order=PASS_ORDER, channels=3, filler=255, library=False,
            out=make(height, width), bgr=bgr,
        )  # fmt: skip
    except ValueError:  # damaged, perhaps: the library has the last word
        return False
    return True


def _segments(data: memoryview) -> list[tuple[int, int]] | None:
    """Codes of the segments of a JPEG's header, and where their contents begin; None for what is no
    JPEG, and for what a decoder may read in another way: nobody writes so many, or bytes between.
    """
    at, found = len(BEGIN), list[tuple[int, int]]()
    if data[:at] != BEGIN:
        return None
    for _ in range(MOST_MARKERS):
        if at + 10 >= len(data) or data[at] != FILL:
            return None
        code = data[at + 1]
        if code == SCAN:
            return found
        if code == FILL:
            at += 1
            continue
        found.append((code, at + 4))
        at += 2 + data[at + 2] * 256 + data[at + 3]
    return None


class _Frame(NamedTuple):
    height: int  # px
    width: int
    factors: tuple[int, ...]  # of sampling, of each component


def _frame(data: memoryview) -> _Frame | None:
    """What a JPEG's frame header says."""
    for code, at in _segments(data) or ():
        if FRAMES[0] <= code <= FRAMES[1] and code not in NO_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 1)
            return _Frame(height, width, tuple(data[at + 7 : at + 7 + 3 * data[at + 5] : 3]))
    return None


def _jpeg(path: str) -> Pixels | None:
    """The bytes of a JPEG file; None for any other, and where they cannot be read."""
    try:
        file = no_wait(path, os.O_RDONLY)
    except (OSError, ValueError):
        return None
    try:
        if os.pread(file, len(BEGIN), 0) != BEGIN:
            return None
        data = np.empty(os.fstat(file).st_size, np.uint8)
        return data if os.readv(file, [data.data]) == len(data) else None
    except (OSError, MemoryError):  # a file with holes may say any size
        return None
    finally:
        os.close(file)


def torchvision_decoder(original: Call, active: Callable[[], bool]) -> Call:
    """`torch.ops.image.decode_image` and `decode_jpeg`, which torchvision.io calls."""

    def decode(data: Any, mode: Any = UNCHANGED, apply_exif_orientation: Any = False) -> Any:
        turned = apply_exif_orientation  # as torchvision names it
        plain = type(data) is torch.Tensor and data.dtype == torch.uint8 and data.dim() == 1
        if not active() or not plain or data.device.type != "cpu" or turned is not False:
            return original(data, mode, turned)
        images: list[torch.Tensor] = []

        def make(height: int, width: int) -> Pixels:
            images.append(torch.empty((height, width, 3), dtype=torch.uint8))
            out: Pixels = images[0].numpy()
            return out

        path = _opened.path_of(data)
        if mode in (UNCHANGED, RGB) and decoded(data.contiguous().numpy(), make, path):
            return images[0].permute(2, 0, 1)  # as torchvision's lies in memory, too
        return original(data, mode, turned)

    return decode


class _Opened(threading.local):
    """What torchvision has read last in this thread, and from where: its decoder gets no path."""

    data: weakref.ref[torch.Tensor] | None = None
    path = ""

    def path_of(self, data: torch.Tensor) -> str:
        return self.path if self.data is not None and self.data() is data else ""


_opened = _Opened()


def torchvision_reader(original: Call, active: Callable[[], bool]) -> Call:
    """`torch.ops.image.read_file`, which torchvision.io calls before it decodes."""

    def read_file(*args: Any, **kwargs: Any) -> Any:
        read = None
        if active() and len(args) == 1 and not kwargs and type(args[0]) is str:
            read = _jpeg(args[0])
        if read is None:
            return original(*args, **kwargs)
        data = torch.from_numpy(read)
        _opened.data, _opened.path = weakref.ref(data), args[0]
        return data

    return read_file


def scripted(wrap: Wrap) -> Wrap:
    """`wrap` of one of torch's operators, so that `torch.jit.script` takes the operator where a
    program calls what stands in for it, and with the operator's overloads.
    """

    def wrapped(original: Any, active: Callable[[], bool]) -> Call:
        out = wrap(original, active)
        with contextlib.suppress(AttributeError):  # of a torch without that table
            torch.jit._builtins._register_builtin(out, original._qualified_op_name)
            _of_scripts.append(out)
            vars(out).update((name, getattr(original, name)) for name in original.overloads())
        return out

    return wrapped


_of_scripts: list[Call] = []  # torch knows them by their addresses: no other object may get these


def opencv_imdecode(original: Call, active: Callable[[], bool]) -> Call:
    """`cv2.imdecode`."""

    @functools.wraps(original)
    def imdecode(*args: Any, **kwargs: Any) -> Any:
        if active() and len(args) == 2 and not kwargs and type(args[0]) is np.ndarray:
            data = args[0]
            if data.dtype == np.uint8 and data.ndim == 1:
                image = _by_flags(np.ascontiguousarray(data), args[1])
                return original(*args) if image is None else image
        return original(*args, **kwargs)

    return imdecode


def opencv_imread(original: Call, active: Callable[[], bool]) -> Call:
    """`cv2.imread`."""

    @functools.wraps(original)
    def imread(*args: Any, **kwargs: Any) -> Any:
        if active() and 1 <= len(args) <= 2 and not kwargs and type(args[0]) is str:
            data = _jpeg(args[0])
            if data is None:
                return original(*args)
            image = _by_flags(data, args[1] if len(args) > 1 else COLOR, args[0])
            return original(*args) if image is None else image
        return original(*args, **kwargs)

    return imread


def _by_flags(data: Pixels, flags: Any, path: str = "") -> Pixels | None:
    """The image as OpenCV's flags ask for it; None: by OpenCV."""
    if type(flags) is not int or flags & ~IGNORE_ORIENTATION not in (COLOR, COLOR_RGB):
        return None
    if not flags & IGNORE_ORIENTATION and _turned(data.data):
        return None
    images: list[Pixels] = []

    def make(height: int, width: int) -> Pixels:
        images.append(np.empty((height, width, 3), np.uint8))
        return images[0]

    if not len(data) or not decoded(data, make, path, bgr=not flags & COLOR_RGB):
        return None
    return images[0]


def _turned(data: memoryview) -> bool:
    """Whether EXIF asks for a turn, or has something that OpenCV may read in another way."""
    segments = _segments(data)
    if segments is None:
        return True
    exif = [at for code, at in segments if code == APP1 and _begins(data, at, b"Exif")]
    if not exif:
        return False
    if len(exif) > 1 or not _begins(data, exif[0], b"Exif\0\0"):
        return True
    tiff = data[exif[0] + 6 : exif[0] + HEAD].tobytes()
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4], "")
    try:
        (first,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, first)
        entries = (
            struct.unpack_from(f"{order}HHIH", tiff, first + 2 + 12 * number)
            for number in range(count)
        )
        return not order or any(
            tag == ORIENTATION and (kind, length, value) != UPRIGHT
            for tag, kind, length, value in entries
        )
    except struct.error:
        return True


def _begins(data: memoryview, at: int, text: bytes) -> bool:
    return data[at : at + len(text)].tobytes() == text


def agrees(wrap: Wrap, call: Callable[[Call], Any], original: Call) -> bool:
    """Whether the library gives what stands in for it, of a small image.

    call: decodes `SAMPLE` by a function like `original`.
    """
    ours, theirs = call(wrap(original, lambda: True)), call(original)
    return bool(
        type(ours) is type(theirs)
        and ours.shape == theirs.shape
        and ours.dtype == theirs.dtype
        and _strides(ours) == _strides(theirs)
        and np.array_equal(np.asarray(ours), np.asarray(theirs))
    )


def _strides(image: Any) -> tuple[int, ...]:
    return tuple(image.stride() if isinstance(image, torch.Tensor) else image.strides)


def sample() -> Pixels:
    """A JPEG of 37 x 29 px with subsampled colours."""
    y, x = np.mgrid[:29, :37]
    file = io.BytesIO()
    pixels = np.stack([y * 8, x * 6, (x * y) % 256], axis=2).astype(np.uint8)
    Image.fromarray(pixels).save(file, "JPEG", quality=80)
    data: Pixels = np.frombuffer(file.getvalue(), np.uint8).copy()
    return data
