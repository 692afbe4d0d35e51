"""A data set class of the user's: its `__getitem__` is followed, as its transforms are. What it
reads of its lists gives the files and labels; the rest is the pipeline.
"""

import os
from reprlib import repr as short
from types import FunctionType

import numpy as np
import torch
from torch.utils.data import IterableDataset

from fastload.lowering import arrays, chain, holding, sets
from fastload.lowering.codes import library
from fastload.lowering.columns import Column, Counted, Files, Index
from fastload.lowering.lookup import find_attribute
from fastload.lowering.names import Reasons, type_name
from fastload.lowering.pictures import Picture, UnclearError
from fastload.lowering.rows import plain_paths
from fastload.plan import forms
from fastload.plan.forms import Form
from fastload.plan.pipeline import Pipeline
from fastload.sources import FileSource, NumberedFiles, seek
from fastload.transforms import ToImage

Lowered = tuple[Pipeline | None, Reasons]


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
    pictures, labels = list[Picture](), list[Column]()
    sets.check_apart(value)
    form = _form(value, pictures, labels)
    if not pictures:
        raise UnclearError("it makes no image")
    if not all(any(isinstance(op, ToImage) for op in one.ops) for one in pictures):
        raise ValueError("makes no tensor (no ToImage, PILToTensor or ToTensor)")
    paths = plain_paths(files.paths.rows)  # type: ignore[arg-type]
    numbers = (
        arrays.class_numbers(labels[0].rows, as_given=True)
        if labels
        else np.zeros(length, np.int64)
    )
    if len(numbers) != length:
        raise ValueError(f"has {len(numbers)} labels of {length} samples")
    root = os.path.commonpath([os.path.dirname(path) for path in (min(paths), max(paths))])
    numbered = files.paths.numbered or any(column.numbered for column in labels)
    kind = NumberedFiles if numbered else FileSource
    source = kind(root, paths, numbers, _classes(dataset), seek.attach(paths, root))
    usual = forms.of_pair(0 if len(pictures) == 1 else forms.plain(len(pictures)))
    named = None if form == usual else form
    if len(pictures) == 1:
        return Pipeline(source, pictures[0].ops, form=named)
    return Pipeline(source, views=tuple(one.ops for one in pictures), form=named)


def _form(value: object, pictures: list[Picture], labels: list[Column]) -> Form:
    """As `sets.form_of`, with one column of labels in it."""
    if isinstance(value, Column) and not isinstance(value, Counted):
        if labels and labels[0] is not value:
            raise UnclearError("it has more than one number of each sample")
        labels[:] = [value]
        return forms.LABEL
    if isinstance(value, dict):
        return forms.Keyed(
            tuple((key, _form(part, pictures, labels)) for key, part in value.items())
        )
    if type(value) in (list, tuple, sets.Own) and isinstance(value, (list, tuple)):
        return tuple(_form(part, pictures, labels) for part in value)
    if not isinstance(value, (Picture, sets.Stack)):
        raise UnclearError(f"it returns {_said(value)} (want images, and one label of each sample)")
    return sets.form_of(value, pictures)


def _said(value: object) -> str:
    """What is neither an image nor a label, in a few words."""
    if isinstance(value, Counted):
        return "a sample's number"
    return short(value) if type(value).__module__ == "builtins" else "what is no image"


def _classes(dataset: object) -> tuple[str, ...]:
    names = getattr(dataset, "__dict__", {}).get("classes")
    if not isinstance(names, (list, tuple)) or any(type(name) is not str for name in names):
        return ()
    return tuple(names)
