"""A data set class of the user's: its `__getitem__` is followed, as its transforms are. What it
reads of its lists gives the files and labels; the rest is the pipeline.
"""

import itertools
import os
from collections.abc import Sequence
from reprlib import repr as short
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset

from fastload.lowering import arrays, chain, holding, sets
from fastload.lowering.codes import library
from fastload.lowering.columns import NUMPYS, Column, Files, Index
from fastload.lowering.labels import Tensors
from fastload.lowering.lookup import find_attribute
from fastload.lowering.names import Reasons, type_name
from fastload.lowering.pictures import Picture, UnclearError
from fastload.lowering.rows import plain_paths
from fastload.plan import forms
from fastload.plan.forms import Form
from fastload.plan.pipeline import Pipeline
from fastload.sources import FileSource, NumberedFiles, seek
from fastload.spec import Longs
from fastload.transforms import ToImage

Lowered = tuple[Pipeline | None, Reasons]
VALUES = (bool, int, float, str)  # of a sample, besides NumPy's numbers


def lower(dataset: object) -> Lowered | None:
    """The pipeline of a data set whose class is the user's, or why it is none; None where nothing
    is to be followed.
    """
    kind = type(dataset)
    known = library(kind.__module__) or kind.__module__.partition(".")[0] in holding.FOREIGN
    of_index = isinstance(dataset, torch.utils.data.Dataset) and not known
    if not of_index or isinstance(dataset, IterableDataset) or hasattr(kind, "__getitems__"):
        return None
    get, count = (find_attribute(kind, name)[0] for name in ("__getitem__", "__len__"))
    if type(get) is not FunctionType or type(count) is not FunctionType:
        return None
    if not holding.is_plain(dataset):
        return None
    files, run = Files(), chain.follower()
    run.files = files
    try:
        length = run.call(count, [dataset], {})
        if type(length) is not int or not length:
            raise ValueError("opens no image of each sample")
        value = run.call(get, [dataset, Index(length)], {})
        return _pipeline(dataset, value, length, files), []
    except UnclearError as error:
        said = "; ".join(error.reasons) or str(error)
    except ValueError as error:
        said = f"it {error}"
    return None, [f"data set {type_name(dataset)} is not one that fastload can follow: {said}"]


def facts(dataset: object) -> object:
    """What `lower` finds, as a value that tells changes."""
    found = lower(dataset)
    if found is None or found[0] is None:
        return found
    pipeline = found[0]
    source = pipeline.source
    assert isinstance(source, FileSource)
    kind = type(source)
    return kind, source.paths, source.labels.tobytes(), pipeline.pictures, pipeline.form


def _pipeline(dataset: object, value: object, length: int, files: Files) -> Pipeline:
    """Raises UnclearError and ValueError."""
    if files.paths is None or len(files.paths.rows) < length:
        raise ValueError("opens no image of each sample")
    # Of more, its negative indices, and those beyond its length, are others
    if len(files.paths.rows) > length:
        raise ValueError(f"has {length} samples of {len(files.paths.rows)} files")
    pictures, columns = list[Picture](), list[Column]()
    sets.check_apart(value)
    asked = _form(value, pictures, columns, length)
    if not pictures:
        raise UnclearError("it makes no image")
    if not all(any(isinstance(op, ToImage) for op in one.ops) for one in pictures):
        raise ValueError("makes no tensor (no ToImage, PILToTensor or ToTensor)")
    paths = plain_paths(files.paths.rows)  # type: ignore[arg-type]
    if odd := [len(column.rows) for column in columns if len(column.rows) != length]:
        raise ValueError(f"has {odd[0]} labels of {length} samples")
    form, numbers = _labels(asked, columns, length)
    root = os.path.commonpath([os.path.dirname(path) for path in (min(paths), max(paths))])
    kind = NumberedFiles if any(one.numbered for one in (files.paths, *columns)) else FileSource
    names = _classes(dataset) if form is asked else ()
    source = kind(root, paths, numbers, names, seek.attach(paths, root))
    usual = forms.of_pair(0 if len(pictures) == 1 else forms.plain(len(pictures)))
    named = None if form == usual else form
    if len(pictures) == 1:
        return Pipeline(source, pictures[0].ops, form=named)
    return Pipeline(source, views=tuple(one.ops for one in pictures), form=named)


def _form(value: object, pictures: list[Picture], columns: list[Column], length: int) -> Form:
    """As `sets.form_of`, with columns in it: LABEL for the first, one less for each other."""
    if type(value) in (int, float, str):
        value = Column([value] * length)
    if isinstance(value, Column):
        if not any(value is one for one in columns):
            columns.append(value)
        return forms.LABEL - next(n for n, one in enumerate(columns) if value is one)
    if isinstance(value, dict):
        return forms.Keyed(
            tuple((key, _form(part, pictures, columns, length)) for key, part in value.items())
        )
    if type(value) in (list, tuple, sets.Own) and isinstance(value, (list, tuple)):
        return tuple(_form(part, pictures, columns, length) for part in value)
    if not isinstance(value, (Picture, sets.Stack)):
        raise UnclearError(f"it returns {_said(value)} (want images, and numbers and texts)")
    return sets.form_of(value, pictures)


def _said(value: object) -> str:
    """What is neither an image nor a value, in a few words."""
    return short(value) if type(value).__module__ == "builtins" else "what is no image"


def _labels(form: Form, columns: list[Column], length: int) -> tuple[Form, Longs]:
    """The form, and the labels: one column of whole numbers, or which of `Values` each sample has.

    Raises ValueError.
    """
    if not columns:
        return form, np.zeros(length, np.int64)
    one = columns[0]
    whole = type(one) is not Tensors or one.dtype in (None, torch.int64)
    if len(columns) == 1 and whole and (numbers := _whole(one.rows)) is not None:
        return form, numbers
    return _with_values(form, list(map(_values, columns))), np.arange(length)


def _whole(rows: Sequence[object]) -> Longs | None:
    """The numbers, where they are int64 in a batch."""
    try:
        return arrays.class_numbers(rows, as_given=True)
    except ValueError:
        return None


def _values(column: Column) -> forms.Values:
    """Raises ValueError for what no batch is made of, or another thing each time."""
    rows: Any = column.rows
    rows = tuple(rows.numpy() if isinstance(rows, torch.Tensor) else rows)
    kinds = set(map(type, rows))
    if kinds == {tuple} and isinstance(column, Tensors):
        kinds = set(map(type, itertools.chain.from_iterable(rows)))
    if odd := [kind for kind in kinds if kind not in VALUES and not issubclass(kind, NUMPYS)]:
        raise ValueError(f"has values of class {', '.join(sorted(map(type_name, odd)))}")
    if isinstance(column, Tensors):
        if any(issubclass(kind, str) for kind in kinds):
            raise ValueError("makes tensors of texts")
        return forms.Values(rows, in_tensors=True, dtype=column.dtype)
    return forms.Values(rows)


def _with_values(form: Form, values: Sequence[forms.Values]) -> Form:
    """The form with these in place of the columns' numbers."""
    if isinstance(form, int) and form < 0:
        return values[forms.LABEL - form]
    if isinstance(form, forms.Keyed):
        return forms.Keyed(tuple((key, _with_values(part, values)) for key, part in form.parts))
    if isinstance(form, tuple):
        return tuple(_with_values(part, values) for part in form)
    return form


def _classes(dataset: object) -> tuple[str, ...]:
    names = getattr(dataset, "__dict__", {}).get("classes")
    if not isinstance(names, (list, tuple)) or any(type(name) is not str for name in names):
        return ()
    return tuple(names)
