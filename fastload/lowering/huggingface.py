"""Hugging Face's `datasets`: the images of a column, with a transform that fastload sees."""

import os
from typing import Any, Protocol

import numpy as np

from fastload.dataset import Dataset
from fastload.errors import SourceError, UsageError
from fastload.lowering.chain import known_pictures
from fastload.lowering.names import is_a, type_name
from fastload.plan import forms
from fastload.plan.pipeline import Pipeline
from fastload.sources import FileSource, Source, Subset, read, seek
from fastload.sources.labels import none
from fastload.sources.mapped import SpanSource, check_whole, spans
from fastload.spec import Longs

WHERE = "from_huggingface"
MODES = (None, "RGB")


class _Scalar(Protocol):
    def as_py(self) -> bytes: ...


class _Column(Protocol):
    """Of Arrow: images as {"bytes": …, "path": …}."""

    def __getitem__(self, row: int) -> dict[str, _Scalar]: ...


def from_huggingface(
    dataset: Any, image: str = "image", label: str | None = "label", transform: object = None
) -> Dataset:
    """The images and labels of a `datasets.Dataset`, as (image, label) pairs.

    They are read from the data set's files and not through it. What `with_transform`, `set_format`
    and EXIF orientation do is left out: give the transform here.

    Args:
        dataset: One split, with files: not streamed, and not in memory only.
        image: The name of its column of an Image feature.
        label: The name of its column of whole numbers; None: there is none, and all labels are 0,
            of the class "unlabelled".
        transform: As in `fastload.open`.

    Returns:
        The data set, for `fastload.DataLoader`.

    Raises:
        UsageError: The data set or a column is not what is wanted.
        SourceError: Its files cannot be read; data sets in memory have none.
        PipelineError: The transform has no op.

    Example:
        >>> import datasets
        >>> import fastload
        >>> columns = {"image": ["train/cat/0.jpg", "train/dog/1.jpg"], "label": [0, 1]}
        >>> pets = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
        >>> pets.save_to_disk("pets")
        >>> len(fastload.from_huggingface(datasets.load_from_disk("pets")))
        2
    """
    if not is_a(dataset, "datasets.arrow_dataset", "Dataset"):
        raise UsageError(
            f"{WHERE}: got {type_name(dataset)}, want a datasets.Dataset (one split, not streamed)"
        )
    for name, given in (("image", image), ("label", label)):
        if not isinstance(given, str) and (given is not None or name == "image"):
            raise UsageError(
                f"{WHERE}: {name} is {type_name(given)}, want the name of a column; give ops "
                "as transform="
            )
    columns = dataset.column_names
    if missing := [name for name in (image, label) if name is not None and name not in columns]:
        none = ", or label=None where there is none" if missing == [label] else ""
        raise UsageError(
            f"{WHERE}: no column {', '.join(missing)} (has {', '.join(columns)}); give image= and "
            f"label={none}"
        )
    feature = dataset.features[image]
    if not is_a(feature, "datasets.features.image", "Image") or feature.mode not in MODES:
        raise UsageError(
            f"{WHERE}: column {image} is {feature!r}, want Image() or Image(mode='RGB')"
        )
    ops, views, form, _ = known_pictures(transform)
    source = _source(dataset, image, label)
    return Dataset(Pipeline(source, ops, views, form=forms.of_pair(form)))


def _source(dataset: Any, image: str, label: str | None) -> Source:
    split = getattr(dataset, "split", None)
    where = f"{WHERE}({split or 'data set'}, {image})"
    rows = getattr(dataset, "_indices", None)  # of select, shuffle, train_test_split
    check_whole(
        [
            dataset.data.column(image),
            *([dataset.data.column(label)] if label is not None else []),
            *([rows.column(0)] if rows is not None else []),
        ]
    )
    labels, classes = none(len(dataset.data)) if label is None else _labels(dataset, label)
    column = dataset.data.column(image)
    parts = [chunk.flatten() for chunk in column.chunks]  # bytes, path
    if parts and all(content.null_count == len(content) for content, _ in parts):
        whole: Source = _of_paths(
            [path for _, chunk in parts for path in chunk.to_pylist()], where, labels, classes
        )
    else:
        import pyarrow as pa  # datasets has it

        located = spans(pa.chunked_array([content for content, _ in parts], pa.binary()), where)
        whole = SpanSource(where, *located, labels, classes)
        _check(whole, column)
    return whole if rows is None else Subset(whole, rows.column(0).to_numpy().astype(np.int64))


def _of_paths(
    paths: list[str | None], where: str, labels: Longs, classes: tuple[str, ...]
) -> FileSource:
    """Images that are files of their own, as in an "imagefolder"."""
    local = [path for path in paths if path and "://" not in path]
    if len(local) < len(paths):
        raise SourceError(
            f"{where}: {len(paths) - len(local)} images have no bytes, and no path on this "
            "machine; download them first"
        )
    root = os.path.commonpath([os.path.dirname(path) for path in local])
    return FileSource(root, tuple(local), labels, classes, seek.attach(local, root))


def _labels(dataset: Any, label: str) -> tuple[Longs, tuple[str, ...]]:
    """int64 of all rows, in the order of the files; and the names of the classes."""
    out = dataset.data.column(label).to_numpy()
    if out.dtype.kind not in "iu":
        raise UsageError(
            f"{WHERE}: column {label} has {out.dtype}, want whole numbers, none missing; see "
            "class_encode_column"
        )
    return out.astype(np.int64), tuple(getattr(dataset.features[label], "names", None) or ())


def _check(source: Source, column: "_Column") -> None:
    """The first and the last image, read from the file, are what the data set gives."""
    for row in {0, len(source) - 1}:
        if read(source, row) != column[row]["bytes"].as_py():
            raise SourceError(
                f"{source.name(row)}: its file holds other bytes than the data set; load it again"
            )
