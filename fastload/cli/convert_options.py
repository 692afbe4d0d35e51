"""The options of fastload convert."""

from typing import Annotated

import typer

from fastload.cli.verbs import words
from fastload.files.formats import READERS, SOURCES, WRITERS

TRANSCODE = (
    "Rewrite progressive, arithmetic, multi-scan and restart-marked JPEGs losslessly as "
    "baseline, so that they load fast."
)

To = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help=f"{', '.join(WRITERS)}; default: shards, or what DST's name says (NAME.beton).",
        autocompletion=words(lambda: WRITERS),
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help=f"What SRC is, where its name does not tell: {', '.join(READERS.own)}, or "
        "another package's.",
        autocompletion=words(lambda: [*READERS, *SOURCES.others()]),
    ),
]
ShardSize = Annotated[
    str, typer.Option(metavar="BYTES", help="Largest shard or table, like 256M or 1G.")
]
Shuffle = Annotated[
    int | None,
    typer.Option(metavar="SEED", help="Shuffle the samples once; good for sequential readers."),
]
Subset = Annotated[
    str | None,
    typer.Option(
        metavar="N|SHARE", help="Only so many samples, drawn by the seed of --shuffle: 1000, 10%."
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="SRC's folder NAME, or its files NAME-…; Parquet files are named so."
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|none",
        help="Names of the classes, one per line; or CSV or JSONL with key and label; none: take "
        "no labels.",
    ),
]
Root = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Where the paths in a CSV or JSONL list begin; default: beside it."
    ),
]
Masks = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Masks with the same paths and stems as the images in SRC."),
]
Boxes = Annotated[
    str | None,
    typer.Option(
        metavar="KIND[:FILES]",
        help="Keep the objects of each image: coco:FILE, lvis:FILE, open-images:BOXES,CLASSES; "
        "SRC is the folder of the images. voc, yolo: SRC is that of the data set.",
    ),
]
Extras = Annotated[
    str,
    typer.Option(
        metavar="keep|drop",
        autocompletion=words(lambda: ("keep", "drop")),
        help="Files beside the images, such as masks and captions.",
    ),
]
OnError = Annotated[
    str,
    typer.Option(
        metavar="raise|skip|substitute",
        autocompletion=words(lambda: ("raise", "skip", "substitute")),
        help="Bad images: fail and list them, leave out, or take the class's next good one.",
    ),
]
Check = Annotated[
    str,
    typer.Option(
        metavar="decode|markers|none",
        autocompletion=words(lambda: ("decode", "markers", "none")),
        help="Find bad images: decode all; follow JPEGs' markers to their end, decode the rest; "
        "none.",
    ),
]
MaxSide = Annotated[
    int | None,
    typer.Option(metavar="PX", help="Make larger images smaller, so that no side is longer."),
]
Quality = Annotated[
    int | None,
    typer.Option(
        metavar="1..100", help="Encode JPEGs anew with this quality; those that change anyway: 90."
    ),
]
StripMetadata = Annotated[
    bool,
    typer.Option(
        "--strip-metadata", help="Leave out EXIF, previews and comments; the pixels stay."
    ),
]
ApplyExif = Annotated[
    bool, typer.Option("--apply-exif", help="Turn images as their EXIF orientation says.")
]
Transcode = Annotated[bool, typer.Option("--transcode", help=TRANSCODE)]
SeekStep = Annotated[
    int,
    typer.Option(
        min=0, max=65535, metavar="N", help="MCUs per entry of the seek index; 0: rows only."
    ),
]
Layer = Annotated[
    str,
    typer.Option(
        metavar="seek|coefficients",
        autocompletion=words(lambda: ("seek", "coefficients")),
        help="What crops are decoded by: seek indexes, or JPEGs' coefficients once more, which "
        "are faster and take 1.3 times the images' bytes.",
    ),
]
NoSeek = Annotated[
    bool, typer.Option("--no-seek", help="Build no seek index: smaller, but crops decode more.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the data set in DST.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with what an interrupted conversion has left.")
]
Append = Annotated[
    bool,
    typer.Option("--append", help="Add what the shards in DST lack, by key, as a new version."),
]
Delete = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY|FILE",
        help="Keys, or files with a key per line, that DST loses in a new version, without SRC; "
        "with --append SRC's samples take their place. May be repeated.",
    ),
]
Scratch = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Of a DST in a store: where shards lie until they are uploaded, up to two of each "
        "worker; default: the cache.",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="processes[:N]|ray[://HEAD:PORT]|slurm[:N]",
        autocompletion=words(lambda: ("processes", "ray", "slurm")),
        help="Make shards by N processes, by a Ray cluster, or by N tasks of Slurm, whose script "
        "is printed; default: threads.",
    ),
]
Mode = Annotated[
    str,
    typer.Option(
        metavar="keep|raw",
        autocompletion=words(lambda: ("keep", "raw")),
        help="For a .beton: keep JPEGs' bytes, or store all as pixels.",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="BYTES|SHARE",
        help="Bytes that DST may take, 100G, or 80% of what it would: finds the largest "
        "--max-side and --quality that fit, shows them, and converts after a yes.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="With --budget: convert without being asked.")]
SheetTo = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="FILE",
        help="With --budget: the PNG of what it does to pictures; default: DST.budget.png.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Only say what would be written: size, time, rate, from a sample of SRC."
    ),
]
# What the verb gets as one argument, `more`: name, type and help, and the default
MORE = {
    "boxes": (Boxes, None),
    "layer": (Layer, "seek"),
    "transcode": (Transcode, False),
    "overwrite": (Overwrite, False),
    "resume": (Resume, False),
    "scratch": (Scratch, None),
    "mode": (Mode, "keep"),
    "on": (On, None),
    "append": (Append, False),
    "delete": (Delete, None),
    "budget": (Budget, None),
    "yes": (Yes, False),
    "sheet": (SheetTo, None),
}
