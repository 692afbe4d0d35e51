"""What error texts about data sets are about: causes and cures, in the order of docs/errors.md."""

from typing import NamedTuple


class Topic(NamedTuple):
    """Error texts with one kind of cause."""

    title: str
    kind: str  # class of the error that its parts end up in
    modules: tuple[str, ...]  # beginnings of paths below fastload/; the longest that fits
    cause: str
    cure: str


TOPICS = (
    Topic(
        "A data set does not open", "SourceError",
        ("sources/__init__", "sources/folder", "sources/base", "conversion/readers/opening",
         "sources/first_look", "sources/span_index", "sources/row_file", "sources/columns",
          "sources/image_sizes", "sources/kept_rows",
         "conversion/indexing", "conversion/subsets"),
        "The path is another one than you meant, or its content has not the form of its format.",
        "List the path. Give the folder that holds the class folders, or run `fastload inspect` on "
        "it, which says what it is.",
    ),
    Topic(
        "Converted data: shards and their index", "SourceError",
        ("sources/shard", "sources/arrow", "sources/checked_file", "files/steps"),
        "The data set was copied in part, is being written, was changed since, or comes from "
        "another version.",
        "Run `fastload verify`. It names the damaged files, and `fastload repair` mends them from "
        "the source. Else convert again.",
    ),
    Topic(
        "Stores and the web", "StoreError",
        ("remote/", "sources/remote", "sources/staging", "sources/store_objects", "loader/ahead",
         "conversion/store_prefix"),
        "The store refuses, does not answer, or has other objects than the data set's index says.",
        "Check the URL, the credentials and the region with the store's own tools. "
        "[remote.md](remote.md) tells what is tried again, and for how long.",
    ),
    Topic(
        "The cache of remote data", "CacheError",
        ("remote/cache", "remote/entry", "remote/spare"),
        "The disk is full, the folder cannot be written, or somebody has changed what lies there.",
        "Free some of the disk, or give another folder as `cache=`. The cache may be deleted at "
        "any time.",
    ),
    Topic(
        "Seek indexes", "SourceError",
        ("sources/seek", "sources/collect", "conversion/inspect"),
        "An index lies beside other images than it was made for, or the cache cannot be written.",
        "Delete the index, or make it anew with `fastload index`. Training is right without one, "
        "only slower.",
    ),
    Topic(
        "FFCV files, MDS shards, fields", "SourceError",
        ("sources/beton", "conversion/readers/beton", "sources/mds", "sources/fields",
         "sources/field_"),
        "A file was cut off, was not finished by its writer, or has fields of other kinds.",
        "Write it again, or name the fields with images and labels. [migrate/ffcv.md](migrate/"
        "ffcv.md) and [migrate/streaming.md](migrate/streaming.md) have both.",
    ),
    Topic(
        "TFRecords, LitData's chunks and LMDB files", "SourceError",
        ("sources/tf", "sources/litdata", "sources/lmdb", "sources/span_files",
         "sources/signatures"),
        "A file was cut off or changed, is compressed, or has no images and labels of a form that "
        "is clear.",
        "Copy or unpack it, or name the fields with images and labels. [migrate/tfrecord.md]("
        "migrate/tfrecord.md), [migrate/litdata.md](migrate/litdata.md) and [migrate/lmdb.md]("
        "migrate/lmdb.md) say what is read.",
    ),
    Topic(
        "Parquet files, and columns of tables", "SourceError",
        ("sources/parquet", "sources/table_"),
        "A file was cut off, is packed or encoded in a way that cannot be read in place, or has no "
        "column of images.",
        "Restore it, write it again with Snappy or without a codec, or convert it. "
        "[migrate/parquet.md](migrate/parquet.md) says what is read.",
    ),
    Topic(
        "Lance data sets", "SourceError", ("sources/lance",),
        "The images are in no column of blobs, lie at a URI, or Lance cannot read the files.",
        "Write the column again as blobs, or write Parquet. [migrate/lance.md](migrate/lance.md) "
        "says what is read.",
    ),
    Topic(
        "Hugging Face data sets", "UsageError", ("lowering/huggingface", "sources/mapped"),
        "The columns are others than images and class numbers, or the Arrow files below the data "
        "set have changed.",
        "Name the columns, cast them with `cast_column` and `class_encode_column`, or load the "
        "data set again.",
    ),
    Topic(
        "Boxes, masks and keypoints", "SampleError", ("detection/", "joint/", "plan/jointly"),
        "A sample has no boxes where a transform needs some, is too small for it, or the loader is "
        "asked for batches of one size.",
        "Leave such samples or options out. [The guide](guides/detection.md) shows how.",
    ),
    Topic(
        "Masks", "SourceError", ("sources/masks", "backends/masks", "lowering/masks"),
        "Images and masks do not pair one to one, or a mask is no picture of class numbers.",
        "Give each image one mask of its size. [views.md](views.md) shows the layouts.",
    ),
    Topic(
        "Archives, and what conversions read", "SourceError",
        ("conversion/readers/", "sources/tar", "sources/wids", "sources/table", "sources/labels",
         "files/guarded", "files/pattern"),
        "An archive, a table or a list is damaged, is unsafe, or says less than a data set needs.",
        "Mend what the line names, or make the archive again. `--labels` gives labels that the "
        "source lacks.",
    ),
    Topic(
        "Tables of URLs", "SourceError", ("conversion/web",),
        "A table has no column of URLs, or is another one than the data set was made from; an "
        "option of fetching makes no sense; or no image came at all.",
        "Name the column with `--url-column`. `DST.failed.parquet` lists what failed, and "
        "[urls.md](urls.md) has the reasons.",
    ),
)  # fmt: skip
