"""fastload's own formats of data sets, one record each: how one is recognised, and which modules
open, read and write it.

Only facts are here, and what needs them imports nothing else. formats.py has the tables of them.
"""

from dataclasses import dataclass, field

from fastload.system.extensions import Row

ARROW = 'pip install "fastload-torch[convert]"'


@dataclass(frozen=True)
class Format(Row):
    """A format of data sets.

    Its modules are imported on use; docs/extending.md says what each defines.

    Args:
        name: What users write, as in `--from NAME`.
        summary: What it is, in a few words, for help texts.
        distributions: Distributions that its library comes in; any one will do.
        install: The command that installs one.
        source: The module of what `fastload.open` gives.
        reader: The module of what conversions, inspect and verify read.
        writer: The module of what conversions write.
        suffixes: Ends of its files' names, lower case: ".beton".
        markers: What lies directly in a folder of it, any of these; `*` stands for any characters.
        many: A folder of such files is one data set.
        fields: It has named fields, and its source takes `fields`, the names of image and label.
        written_as: A target whose name ends so is of this format.
        kind: What `inspect --json` calls it, if not its name.

    Example:
        >>> from fastload.extending import Format
        >>> Format("toys", source="toy.source", suffixes=(".toy",)).suffixes
        ('.toy',)
    """

    source: str = field(default="", kw_only=True)
    reader: str = field(default="", kw_only=True)
    writer: str = field(default="", kw_only=True)
    suffixes: tuple[str, ...] = field(default=(), kw_only=True)
    markers: tuple[str, ...] = field(default=(), kw_only=True)
    many: bool = field(default=False, kw_only=True)
    fields: bool = field(default=False, kw_only=True)
    written_as: str = field(default="", kw_only=True)
    kind: str = field(default="", kw_only=True)


SHARDS, FOLDER, PAIRS, WEBDATASET = "shards", "folder", "pairs", "webdataset"
TFRECORD, PARQUET, NUMBER = "tfrecord", "parquet", "[0-9]" * 5
OWN = (
    Format(
        SHARDS,
        summary="fastload's shards",
        source="fastload.sources.shards",
        reader="fastload.conversion.readers.shards",
        writer="fastload.conversion.shards_writer",
        markers=("index.arrow", "index.arrow.xxh3", ".fastload-*"),
        distributions=("pyarrow",),
        install=ARROW,
    ),
    Format(
        "beton",
        summary="FFCV file (.beton)",
        source="fastload.sources.beton",
        reader="fastload.conversion.readers.beton",
        writer="fastload.conversion.beton_writer",
        suffixes=(".beton",),
        fields=True,
        written_as=".beton",
    ),
    Format(
        "mds",
        summary="MosaicML Streaming's shards (MDS)",
        source="fastload.sources.mds",
        markers=("*.mds",),
        fields=True,
    ),
    Format(
        "litdata",
        summary="LitData's chunks",
        source="fastload.sources.litdata",
        markers=("chunk-*.bin",),
        fields=True,
    ),
    Format(
        TFRECORD,
        summary="TFRecords (.tfrecord)",
        source="fastload.sources.tfrecord",
        suffixes=(".tfrecord", ".tfrecords", ".tfrecord.gz"),
        markers=("*.tfrecord", "*.tfrecords", "*.tfrecord.gz", f"*-{NUMBER}-of-{NUMBER}"),
        fields=True,
    ),
    Format(
        "lmdb",
        summary="LMDB of images (data.mdb, .lmdb)",
        source="fastload.sources.lmdb",
        suffixes=(".lmdb", ".mdb"),
        markers=("data.mdb",),
    ),
    Format(
        "lance",
        summary="Lance of images as blobs (_versions)",
        source="fastload.sources.lance",
        markers=("_versions",),
        fields=True,
        distributions=("pylance",),
        install='pip install "fastload-torch[lance]"',
    ),
    # Plain tars are opened in place; conversions also read compressed ones, so two records
    Format(
        WEBDATASET,
        summary="WebDataset tars (.tar)",
        source="fastload.sources.tars",
        suffixes=(".tar",),
        many=True,
    ),
    Format(
        "wids",
        summary="wids' index of tars (.json)",
        source="fastload.sources.wids",
        suffixes=(".json",),
    ),
    Format(
        WEBDATASET,
        summary="tars of WebDataset or of a folder (.tar, .tar.gz)",
        reader="fastload.conversion.readers.tars",
        writer="fastload.conversion.webdataset_writer",
        suffixes=(".tar", ".tar.gz", ".tgz"),
        many=True,
        kind="span",
    ),
    Format(
        "zip",
        summary="zip of a folder (.zip)",
        reader="fastload.conversion.readers.zips",
        suffixes=(".zip",),
    ),
    # Images in Parquet are read in place; conversions also read Arrow, and keys, so two records
    Format(
        PARQUET,
        summary="Parquet of images (.parquet)",
        source="fastload.sources.parquet",
        suffixes=(".parquet",),
        many=True,
        fields=True,
        distributions=("pyarrow",),
        install=ARROW,
    ),
    Format(
        PARQUET,
        summary="Parquet or Arrow tables (.parquet, .arrow)",
        reader="fastload.conversion.readers.tables",
        writer="fastload.conversion.parquet_writer",
        suffixes=(".parquet", ".arrow"),
        many=True,
        kind="table",
        distributions=("pyarrow",),
        install=ARROW,
    ),
    Format(
        "list",
        summary="list of files (.csv, .jsonl)",
        reader="fastload.conversion.readers.manifest",
        suffixes=(".csv", ".jsonl"),
        kind="files",
    ),
    Format(
        PAIRS,
        summary="images/ and masks/",
        reader="fastload.conversion.readers.pairs",
        kind="files",
    ),
    # Any folder may be one, so the others are asked first
    Format(
        FOLDER,
        summary="folder of classes",
        source="fastload.sources.folder",
        reader="fastload.conversion.readers.folder",
        writer="fastload.conversion.folder_writer",
    ),
)
