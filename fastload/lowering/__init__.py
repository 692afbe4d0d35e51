"""From what people have (data sets and transforms of torchvision and timm) to a pipeline; or the
reasons why not.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fastload.dataset import Dataset
from fastload.errors import PipelineError, SourceError, UsageError
from fastload.files.formats import WEBDATASET, source_at
from fastload.files.patterns import is_pattern
from fastload.lowering.chain import Ops, known_pictures, lower_transform
from fastload.lowering.datasets import lower
from fastload.lowering.huggingface import from_huggingface
from fastload.lowering.marks import Equal, Marks, watched
from fastload.plan import forms
from fastload.plan.pipeline import Pipeline
from fastload.plan.steps import infer_specs
from fastload.remote.urls import is_url
from fastload.sources import open_source
from fastload.sources.fields import LABEL, Wanted, target_of
from fastload.sources.masks import pairs

if TYPE_CHECKING:
    from fastload.remote.access import Settings

__all__ = ["Equal", "Marks", "from_huggingface", "lower", "lower_transform", "open", "watched"]


def open(
    path: str | os.PathLike[str],
    transform: object = None,
    *,
    masks: str | os.PathLike[str] | Callable[[str], str | os.PathLike[str]] | None = None,
    mask_dtype: str = "uint8",
    mask_fill: int | None = None,
    fields: tuple[str, str] | None = None,
    target: Wanted | None = None,
    format: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    max_bandwidth: float | None = None,
    deadline: float | None = None,
    storage_options: Mapping[str, object] | None = None,
    version: int | None = None,
) -> Dataset:
    """Open the data set at `path`, or behind a URL.

    Args:
        path: A folder of classes, converted shards, an FFCV file (.beton), plain WebDataset
            tars (a folder of them, one, or "train-{000..146}.tar"), wids' index of tars,
            Parquet of images, MDS shards, TFRecords, LitData's chunks, LMDB, Lance, or a
            format that another distribution adds; with masks, a folder of images. A URL
            (s3://, gs://, az://, https://, hf://) is read through a cache on the local
            disk: docs/remote.md.
        transform: None, one fastload op, a list of them, torchvision transforms that
            fastload knows (also in a Compose), or Views of such.
        masks: A folder with a mask of each image, under the same path and stem; or a
            function from the image's path, below `path`, to the mask's. Batches are
            [images, masks]: class numbers as the files have them, moved as their
            images are.
        mask_dtype: "uint8" or "int64".
        mask_fill: What is seen beyond a mask, such as 255 to ignore it; None: the op's
            own fill.
        fields: Of an FFCV file, MDS shards, TFRecords, LitData's chunks, Parquet or Lance,
            the names of the fields with images and with labels; None finds them.
        target: What comes with the images in place of labels: "txt", the text of each
            KEY.txt beside an image; "json", what is in it; or several names, for a
            dictionary of such ("label" is the class number). A dictionary says their
            types, too: {"txt": "text", "clip.npy": "float32[512]", "score": "float"}; of
            numbers a batch has a tensor [N, …]. docs/guides/captions.md.
        format: Its name, where the path does not tell: "shards", "folder", "beton",
            "mds", "litdata", "tfrecord", "lmdb", "lance", "parquet", "webdataset", "wids", or
            another distribution's.
        cache: The folder of the cache; None: in the user's own cache. With a path, that
            is read through the cache, too, as from a slow network file system.
        cache_bytes: Bytes of the disk that the cache may take; None: 100 GiB.
        max_bandwidth: Bytes per second that this process asks the store for; None: any
            number.
        deadline: Seconds for which a request is tried again; None: 300.
        storage_options: What the library that reads the store takes beside the URL, such
            as {"endpoint": …, "region": …, "skip_signature": True} for S3.
        version: Of converted shards that were added to, the number of an older version, as
            `fastload inspect PATH --versions` lists them; None: the newest.

    Returns:
        The data set, for `fastload.DataLoader`.

    Raises:
        SourceError: The data set cannot be opened.
        PipelineError: The ops cannot run one after the other, or the masks do not fit them.
        UsageError: An argument is given that would not be used, or makes no sense.

    Example:
        >>> import fastload
        >>> from fastload import transforms as T
        >>> train = fastload.open("train", [T.CenterCrop((48, 64)), T.ToImage()])
        >>> len(train)
        8
    """
    ops, views, form, _ = known_pictures(transform)
    if not views:  # of views, the loader's plan says it, with their numbers
        infer_specs(ops)
    _check_path(path)
    _check_used(masks, mask_dtype, mask_fill, fields=fields, format=format, version=version)
    store = _store(path, cache, cache_bytes, max_bandwidth, deadline, storage_options)
    wanted = None if target is None else target_of(target)
    if masks is None:
        names = [name for name in (wanted.names if wanted else ()) if name != LABEL]
        source = open_source(path, fields, format, store, names, version)
        if wanted and (wrong := wanted.misfits(source)):
            raise SourceError("\n".join(wrong))
        return Dataset(Pipeline(source, ops, views, target=wanted, form=forms.of_pair(form)))
    if wanted:
        raise PipelineError(["masks: come in place of labels, as target does; leave one out"])
    if store is not None:
        raise PipelineError(["masks: are read from local folders only; copy the data set"])
    _check_masks(os.fspath(path), views, mask_dtype, mask_fill)
    source, paths = pairs(os.fspath(path), masks, mask_dtype, mask_fill)
    return Dataset(Pipeline(source, ops, masks=paths))


def _check_path(path: object) -> None:
    """Raises UsageError."""
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(
            f"open: path is a {type(path).__name__}, want a path or a URL; give several data sets "
            "to fastload.mix"
        )


def _check_used(masks: object, dtype: str, fill: object, **of_labels: object) -> None:
    """Raise UsageError for arguments that are of data with masks, or of data without."""
    own = None if dtype == "uint8" else dtype
    if masks is not None and (wrong := _given(**of_labels)):
        raise UsageError(f"open: {wrong} given with masks; leave it out, or open without masks")
    if masks is None and (wrong := _given(mask_dtype=own, mask_fill=fill)):
        raise UsageError(f"open: {wrong} given without masks; leave it out, or give masks=")


def _given(**values: object) -> str:
    """The names of those that are given, in one text."""
    return " and ".join(name for name, value in values.items() if value is not None)


def _store(
    path: str | os.PathLike[str],
    cache: str | os.PathLike[str] | None,
    cache_bytes: int | None,
    max_bandwidth: float | None,
    deadline: float | None,
    options: Mapping[str, object] | None,
) -> "Settings | None":
    """How the store is to be read; None: `path` is a local one, without a cache."""
    if cache is None and not is_url(path):
        wrong = _given(
            cache_bytes=cache_bytes,
            max_bandwidth=max_bandwidth,
            deadline=deadline,
            storage_options=options,
        )
        if wrong:
            raise UsageError(f"open: {wrong} given for a local path; leave it out, or give cache=")
        return None
    if options is not None and not isinstance(options, Mapping):
        raise UsageError(
            f"open: storage_options is a {type(options).__name__}, want a dictionary of options"
        )
    if cache is not None and is_pattern(os.fspath(cache)) and is_pattern(os.fspath(path)):
        raise UsageError(
            f"open: cache is {os.fspath(cache)!r}, whose braces or stars would name files; give "
            "another folder"
        )
    from fastload.remote import access  # local data sets need none of it

    usual = access.Settings()
    return access.Settings(
        dict(options or {}),
        # Programs change their folder; and so may who unpickles it
        None if cache is None else os.path.abspath(cache),
        usual.cache_bytes if cache_bytes is None else cache_bytes,
        usual.max_bandwidth if max_bandwidth is None else max_bandwidth,
        usual.deadline if deadline is None else deadline,
    )


def _check_masks(path: str, views: tuple[Ops, ...], dtype: str, fill: object) -> None:
    """Raises PipelineError."""
    if (one := source_at(path)) and one.name == WEBDATASET:
        raise PipelineError(
            [f"masks: are read from folders of images (got tars: {path}); unpack the tars first"]
        )
    if problems := _mask_problems(views, dtype, fill):
        raise PipelineError(problems)


def _mask_problems(views: tuple[Ops, ...], dtype: str, fill: object) -> list[str]:
    problems = [
        "masks: Views makes several pictures of an image, want one; leave out masks or Views"
    ] * bool(views)
    if dtype not in ("uint8", "int64"):
        problems.append(f"mask_dtype is {dtype!r}, want 'uint8' or 'int64'")
    if fill is not None and (
        isinstance(fill, bool) or not isinstance(fill, int) or not 0 <= fill <= 255
    ):
        problems.append(
            f"mask_fill is {fill!r}, want None (the op's fill) or a whole number from 0 to 255"
        )
    return problems
