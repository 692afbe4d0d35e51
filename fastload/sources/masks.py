"""Images with a mask each: two folders whose files have the same stems, or a rule from an image's
path to its mask's.
"""

import errno
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from fastload.errors import SourceError
from fastload.files.opening import NO_WAIT
from fastload.sources import folder, seek
from fastload.sources.base import FileSource
from fastload.system import limits

SHOWN = 5  # names in a message
Rule = Callable[[str], str | os.PathLike[str]]


@dataclass(frozen=True)
class Masks:
    """A mask per sample: files of class numbers per pixel, as large as their images."""

    where: str  # that the user gave, for messages
    paths: tuple[str, ...]
    dtype: str = "uint8"  # of a batch; or "int64"
    fill: int | None = None  # what is seen beyond a mask; None: what each op says
    channel: bool = False  # batches are [N, 1, H, W], as torchvision's, not [N, H, W]

    def read(self, sample: int) -> bytes:
        """The file's bytes. Raises OSError."""
        with open(self.paths[sample], "rb", opener=_opened) as file:
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                raise OSError(0, "is a named pipe (want a file)")
            size = os.fstat(file.fileno()).st_size
            if problem := limits.unread(file.fileno(), 0, size, limits.SAMPLE):
                raise OSError(errno.EFBIG, f"it is too large: {problem}")
            return file.read(size)


def _opened(path: str, flags: int) -> int:
    """Without waiting until somebody writes to a named pipe."""
    return os.open(path, flags | NO_WAIT)


def pairs(
    root: str, masks: str | os.PathLike[str] | Rule, dtype: str, fill: int | None
) -> tuple[FileSource, Masks]:
    """The images under root, in sorted order, and the mask of each.

    masks: a folder, where an image's mask has the same path and stem; or a function from the
        image's path below root to the path of its mask.

    Masks without an image are passed over. Raises SourceError with the images that lack one.
    """
    for path in (root, *([] if callable(masks) else [os.fspath(masks)])):
        if not os.path.isdir(path):
            raise SourceError(
                f"{path}: is no folder, want one of images or of masks; check the path"
            )
    inside = "" if callable(masks) else os.path.realpath(masks)
    if inside == os.path.realpath(root):
        raise SourceError(
            f"{root}: holds the images and the masks, want a folder for each; or give masks as a "
            "function of the image's path"
        )
    paths = tuple(folder.images(root))
    if inside.startswith(os.path.realpath(root) + os.sep):
        paths = tuple(
            path for path in paths if not os.path.realpath(path).startswith(inside + os.sep)
        )
    if not paths:
        raise SourceError(
            f"{root}: no images (got none, want files that end in {', '.join(folder.EXTENSIONS)}); "
            "check the path"
        )
    mask_paths = (
        _by_rule(root, paths, masks) if callable(masks) else _by_stem(root, paths, os.fspath(masks))
    )
    labels = np.zeros(len(paths), np.int64)
    where = "a function" if callable(masks) else os.fspath(masks)
    return FileSource(root, paths, labels, (), seek.attach(paths, root)), Masks(
        where, mask_paths, dtype, fill
    )


def _by_stem(root: str, paths: tuple[str, ...], masks: str) -> tuple[str, ...]:
    known: dict[str, list[str]] = defaultdict(list)
    for path in folder.images(masks):
        known[_stem(path, masks)].append(path)
    matches = [known.get(_stem(path, root), []) for path in paths]
    lacking = [path for path, mine in zip(paths, matches, strict=True) if not mine]
    several = [mine for mine in matches if len(mine) > 1]
    problems = [_lacking(masks, root, lacking, len(paths), "add files with the same stems")] * bool(
        lacking
    )
    if several:
        names = " and ".join(os.path.relpath(path, masks) for path in several[0])
        problems.append(
            f"{masks}: {len(several)} images have several masks (such as {names}), want one each; "
            "take the others away"
        )
    if problems:
        raise SourceError("\n".join(problems))
    return tuple(mine[0] for mine in matches)


def _by_rule(root: str, paths: tuple[str, ...], rule: Rule) -> tuple[str, ...]:
    masks = tuple(os.fspath(rule(os.path.relpath(path, root))) for path in paths)
    lacking = [path for path, mask in zip(paths, masks, strict=True) if not os.path.isfile(mask)]
    if lacking:
        first = masks[paths.index(lacking[0])]
        raise SourceError(
            _lacking(
                "masks", root, lacking, len(paths), f"the function gives {first} for the first"
            )
        )
    return masks


def _lacking(where: str, root: str, lacking: Iterable[str], count: int, what_to_do: str) -> str:
    names = [os.path.relpath(path, root) for path in lacking]
    shown = ", ".join(names[:SHOWN]) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    )
    return (
        f"{where}: no mask for {len(names)} of {count} images ({shown}); {what_to_do}, or take "
        "those images away"
    )


def _stem(path: str, root: str) -> str:
    return os.path.splitext(os.path.relpath(path, root))[0]
