"""Open Images' CSV files: a row for each box. pyarrow reads them in blocks."""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastload.detection.data import Detection, Transforms, of_files
from fastload.detection.objects import BEYOND, KEYS, Table, checked_keys, starts
from fastload.errors import SourceError
from fastload.sources import folder
from fastload.spec import Floats, Longs
from fastload.system import limits

IDENTITY, NAME = "ImageID", "LabelName"
ROW = re.compile(r"Row #(\d+): ")  # in pyarrow's messages; the head is the first one
SIDES = ("XMin", "YMin", "XMax", "YMax")


class Block(NamedTuple):
    """The rows of a block whose image is there: samples, labels int64 [N], boxes float64 [N, 4]."""

    samples: Longs
    labels: Longs
    boxes: Floats


def open_images(
    root: str | os.PathLike[str],
    boxes: str | os.PathLike[str],
    classes: str | os.PathLike[str],
    *,
    transforms: Transforms = None,
    keys: Collection[str] = KEYS,
    first_label: int = 0,
) -> Detection:
    """Images with the boxes of Open Images' CSV files.

    Its images are those in the folder, by their paths: a part of Open Images is a data set. One
    without rows has no objects. Rows of other images are left out.

    Args:
        root: The folder with the images, each of its ImageID's name.
        boxes: As train-annotations-bbox.csv.
        classes: As class-descriptions-boxable.csv: LabelName and a name, without a head.
        transforms: A function of an image and its target, such as torchvision's v2.Compose.
        keys: What a target has: of "image_id" (the ImageID), "boxes" and "labels".
        first_label: The label of the first class. torchvision's models take 0 for the
            background, and want 1 here.

    Returns:
        A data set of (image, target).

    Raises:
        SourceError: There are no images, or a file is damaged.
        UsageError: An unknown key.

    Example:
        >>> from fastload import detection
        >>> data = detection.open_images("oi/images", "oi/boxes.csv", "oi/classes.csv")
        >>> image, target = data[0]
        >>> target["image_id"], target["boxes"].tolist(), data.classes
        ('0a', [[30.0, 45.0, 60.0, 90.0]], ('Cat', 'Dog'))
    """
    root, table, listed = os.fspath(root), os.fspath(boxes), os.fspath(classes)
    wanted = checked_keys(table, keys, KEYS)
    paths = tuple(folder.images(root))
    if not paths:
        raise SourceError(f"{root}: no images; give the folder with the images")
    ids = tuple(os.path.splitext(os.path.basename(path))[0] for path in paths)
    if len(set(ids)) < len(ids):
        raise SourceError(f"{root}: two images have one ImageID; leave one of them out")
    codes, names = _classes(listed)
    blocks = list(_blocks(table, ids, codes))
    owner, labels, sides = (
        np.concatenate([block[column] for block in blocks]) for column in range(3)
    )
    order = np.argsort(owner, kind="stable")
    find = Table(
        ids, starts(owner[order], len(ids)), sides[order], labels[order] + first_label, "XYXY",
        shares=True,
    )  # fmt: skip
    source, numbers = of_files(root, paths), range(first_label, first_label + len(names))
    return Detection(
        source, find, transforms=transforms, classes=names, keys=wanted, labels=numbers
    )


def _classes(path: str) -> tuple[list[str], tuple[str, ...]]:
    """LabelNames and names, in the file's order. Raises SourceError."""
    codes: dict[str, str] = {}
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(limits.lines(file, limits.NAMES), start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                code, comma, name = text.strip().partition(",")
                if not code:
                    continue
                if not comma or code in codes:
                    what = "is there twice" if comma else "has no name"
                    raise SourceError(f"{path}, line {number}: {code[:40]!r} {what}; mend it")
                codes[code] = name.strip('"')
    except (OSError, ValueError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path}: cannot be read ({error}); mend or restore it") from error
    return list(codes), tuple(codes.values())


def _blocks(path: str, ids: Sequence[str], codes: Sequence[str]) -> Iterator[Block]:
    """At least one. Raises SourceError with the line of what is wrong."""
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError as error:
        raise SourceError(f"{path}: needs pyarrow; run pip install pyarrow") from error
    # A file's name may have bytes that are no UTF-8, and then no row means it.
    texts = [one.encode(errors="backslashreplace").decode() for one in ids]
    known, labels = pa.array(texts, pa.string()), pa.array(codes, pa.string())
    yield Block(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 4)))
    types = {IDENTITY: pa.string(), NAME: pa.string(), **dict.fromkeys(SIDES, pa.float64())}
    line = 2
    try:
        with csv.open_csv(
            path,
            csv.ReadOptions(block_size=limits.LINE, use_threads=False),
            csv.ParseOptions(ignore_empty_lines=False),
            csv.ConvertOptions(include_columns=list(types), column_types=types),
        ) as reader:
            for batch in reader:
                yield _block(f"{path}, line", line, batch, known, labels)
                line += len(batch)
    except (pa.ArrowException, OSError) as error:  # those of pyarrow are ValueErrors and others
        what = " ".join(str(error).split())[:200]
        said = ROW.search(what)
        where = f"line {said[1]}" if said else f"line {line} or later"
        raise SourceError(f"{path}, {where}: {ROW.sub('', what)}; mend it") from error


def _block(where: str, line: int, batch: Any, known: Any, labels: Any) -> Block:
    """where: its file, for messages; line: the number of the first row's."""
    import pyarrow.compute as pc

    sides = np.stack([batch[name].to_numpy(zero_copy_only=False) for name in SIDES], axis=1)
    inside = (sides >= -BEYOND) & (sides <= 1 + BEYOND)  # NaN is not
    fine = inside.all(axis=1) & (sides[:, 0] <= sides[:, 2]) & (sides[:, 1] <= sides[:, 3])
    if not fine.all():
        at = int(np.flatnonzero(~fine)[0])
        got = ", ".join(f"{name} {value:g}" for name, value in zip(SIDES, sides[at], strict=True))
        raise SourceError(f"{where} {line + at}: no box (got {got}; want 0 to 1, rising); mend it")
    samples, numbers = (
        pc.fill_null(pc.index_in(batch[name], value_set=values), -1).to_numpy()
        for name, values in ((IDENTITY, known), (NAME, labels))
    )
    there = samples >= 0
    if (lost := np.flatnonzero(there & (numbers < 0))).size:
        at = int(lost[0])
        name = str(batch[NAME][at])[:40]
        raise SourceError(
            f"{where} {line + at}: {name!r} is none of the {len(labels)} classes; mend it, or give "
            "another file of classes"
        )
    return Block(samples[there].astype(np.int64), numbers[there].astype(np.int64), sides[there])
