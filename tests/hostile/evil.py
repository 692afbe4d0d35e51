"""Names that try to lead out of a folder, and data sets of every kind that have them."""

import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fastload import _native
from fastload.conversion import job
from fastload.conversion.readers import Choice, Extra, Record, from_iterable, open_reader
from fastload.conversion.readers.base import Reader
from fastload.sources import arrow
from fastload.sources.extras import COLUMN
from fastload.sources.shard_index import INDEX, METADATA
from tests.hostile.world import World, an_image

SLASHES = ("\u2215", "\u2044", "\uff0f", "\u29f8", "\\", "%2f", "\udcc0\udcaf")
DOTS = (
    "\u2024\u2024",
    "\uff0e\uff0e",
    "\u2025",
    ". .",
    "..\u200b",
    "\udcae\udcae",
    "%2e%2e",
    "...",
    ".. ",
)
DEVICES = ("CON", "nul", "COM1.jpg", "LPT9", "aux.txt", "PRN", "CONIN$", "a:b", "C:\\x", "x.", "x ")
CASES = ("Straße", "STRASSE", "ﬁle", "FILE", "file", "İ", "i\u0307", "É", "E\u0301")
ODD = (
    "-rf",
    "~",
    "~root/x",
    "$HOME",
    "`id`",
    "*",
    "?",
    "\u202egpj.exe",
    "\u2028",
    "\x85",
    " ",
    "",
    ".",
    "..",
    "/",
    "//",
    "./",
    "../",
)
SAMPLES = 3


def name(draw: random.Random, world: World) -> str:
    """One hostile name; those that work would be seen below the world's root."""
    leaf = draw.choice(
        ("file", "x", ".bashrc", "index.arrow", f"n{draw.randrange(1000)}", "deep/file", "empty/y")
    )
    up = draw.randrange(1, 9)
    made: Sequence[Callable[[], str]] = (
        lambda: "../" * up + leaf, lambda: "../" * up + "victim/" + leaf,
        lambda: f"{world.root}/{leaf}", lambda: f"{world.victim}/{leaf}",
        lambda: "m./" + "../" * up + leaf, lambda: f"m.{world.victim}/{leaf}",
        lambda: "/" * up + leaf,
        lambda: "a/" * up + "../" * (up + 3) + leaf,
        lambda: "./" * up + leaf, lambda: f"a//{leaf}", lambda: f"{leaf}/", lambda: f"a\0{leaf}",
        lambda: f"../{leaf}\0.png",
        lambda: f"a\n../{leaf}", lambda: f"{leaf}\r\n", lambda: "y" * draw.choice((255, 256, 300,
        4096)), lambda: "../" * 1500 + leaf,
        lambda: ("z" * 254 + "/") * up + leaf, lambda: f"\udcff\udcfe/{leaf}",
        lambda: f"..\udcff/{leaf}",
        lambda: draw.choice(DOTS) + draw.choice(SLASHES) + leaf,
        lambda: draw.choice(SLASHES).join(["..", "..", leaf]),
        lambda: draw.choice(DOTS) + "/" + leaf, lambda: draw.choice(DEVICES),
        lambda: draw.choice(CASES), lambda: draw.choice(ODD) + leaf,
        lambda: draw.choice(ODD), lambda: "".join(draw.choice(("..", "/", ".", "a", "\n", "\0",
        "\u2215")) for _ in range(up)),
        lambda: f"OUT/../{leaf}", lambda: f".fastload-OUT/../../{leaf}",
        lambda: ".fastload-journal", lambda: "shard-000000.tar",
    )  # fmt: skip
    return draw.choice(made)()


def plain(text: str) -> str:
    """The name as a format that takes only UTF-8 can hold it."""
    return text.encode("utf-8", "replace").decode()


def parquet(world: World, names: Sequence[str]) -> str:
    """Hostile columns of masks, keys and classes."""
    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns = list(
        dict.fromkeys(plain(each) for each in names if plain(each) not in ("image", "label", "key"))
    )
    classes = list(dict.fromkeys(plain(each) for each in names)) or ["a"]
    count = max(SAMPLES, len(names))
    features: dict[str, object] = {each: {"_type": "Image"} for each in ("image", *columns)}
    features["label"] = {"_type": "ClassLabel", "names": classes}
    cell = [{"bytes": an_image(n), "path": plain(names[n % len(names)])} for n in range(count)]
    rows: dict[str, list[object]] = {
        "image": list(cell),
        "label": [n % len(classes) for n in range(count)],
    }
    rows |= {
        "key": [plain(names[n % len(names)]) for n in range(count)],
        **{each: list(cell) for each in columns},
    }
    kinds = [
        ("image", picture),
        ("label", pa.int64()),
        ("key", pa.string()),
        *((each, picture) for each in columns),
    ]
    schema = pa.schema(
        kinds, metadata={b"huggingface": json.dumps({"info": {"features": features}})}
    )
    path = world.source / "x.parquet"
    pq.write_table(pa.Table.from_pydict(rows, schema), path)
    return str(path)


def member(archive: tarfile.TarFile, text: str, content: bytes) -> None:
    info = tarfile.TarInfo(text)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def tar(world: World, names: Sequence[str]) -> str:
    """A folder of classes, or WebDataset's files with hostile keys and extensions."""
    path = world.source / "x.tar"
    with tarfile.open(
        path,
        "w",
        format=tarfile.GNU_FORMAT if len(names) % 2 else tarfile.PAX_FORMAT,
        errors="surrogateescape",
    ) as archive:
        for number, each in enumerate(names):
            held = each.replace("\0", "") if len(names) % 2 else plain(each)
            if len(names) % 3 == 0:
                member(archive, f"{held}/{number}.jpg", an_image(number))
                continue
            member(archive, f"{held}{number}.jpg", an_image(number))
            member(archive, f"{held}{number}.cls", b"0")
            member(archive, f"{held}{number}.{held}", b"beside")
    return str(path)


def zipped(world: World, names: Sequence[str]) -> str:
    path = world.source / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number, each in enumerate(names):
            archive.writestr(zipfile.ZipInfo(f"{plain(each)}/{number}.jpg"), an_image(number))
    return str(path)


def manifest(world: World, names: Sequence[str]) -> str:
    """A list: paths, masks and labels. Two of its files are there."""
    path = world.source / "x.jsonl"
    (world.source / "a.jpg").write_bytes(an_image())
    rows = [{"path": each, "mask": each, "label": each} for each in names]
    rows.append({"path": "a.jpg", "mask": "a.jpg", "label": names[0]})
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(path)


def labelled(world: World, names: Sequence[str]) -> str:
    """The same with good paths: only the classes are hostile."""
    path = world.source / "y.jsonl"
    for number in range(len(names)):
        (world.source / f"{number}.jpg").write_bytes(an_image(number))
    path.write_text(
        "\n".join(
            json.dumps({"path": f"{number}.jpg", "label": each})
            for number, each in enumerate(names)
        )
    )
    return str(path)


def folder(world: World, names: Sequence[str]) -> str:
    """What a file system takes of the names, as classes and as files."""
    for number, each in enumerate(names):
        kept = "".join("_" if letter in "/\0" else letter for letter in each)[:60]
        kept = kept if kept not in ("", ".", "..") else f"c{number}"
        try:
            place = world.source / "tree" / kept
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{kept}{number}.jpg").write_bytes(an_image(number))
        except (OSError, UnicodeEncodeError):  # no name of a file: half a surrogate pair
            continue
    (world.source / "tree" / "last").mkdir(parents=True, exist_ok=True)
    (world.source / "tree" / "last" / "a.jpg").write_bytes(an_image())
    return str(world.source / "tree")


def shards(world: World, names: Sequence[str], column: str = "all") -> str:
    """fastload's own data set, its index changed and sealed again.

    column: "extras", "key", "classes" or all of them.
    """
    out = world.source / "shards"
    records = [
        Record(f"k{n}", an_image(n), 0, (Extra("mask.png", b"m%d" % n),))
        for n in range(max(SAMPLES, len(names)))
    ]
    job.run(job.prepare_reader(from_iterable(records, ["a"]), str(out), job.Options(workers=1)))
    forge(out, names, column)
    return str(out)


def forge(out: Path, names: Sequence[str], column: str) -> None:
    with pa.OSFile(str(out / INDEX)) as file:
        table = pa.ipc.open_file(file).read_all()
    said = json.loads(table.schema.metadata[METADATA])
    rows = table.num_rows
    held = [plain(names[n % len(names)]) for n in range(rows)]
    arrays = {each: table.column(each).combine_chunks() for each in table.column_names}
    if column in ("extras", "all") and COLUMN in arrays:
        kind = table.schema.field(COLUMN).type
        found = [
            [{**each, "name": held[n]} for each in row]
            for n, row in enumerate(arrays[COLUMN].to_pylist())
        ]
        arrays[COLUMN] = pa.array(found, kind)
    if column in ("key", "all"):
        arrays["key"] = pa.array([f"{each}{n}" for n, each in enumerate(held)], pa.string())
    if column in ("classes", "all"):
        said["classes"] = list(dict.fromkeys(held))
    schema = table.schema.with_metadata({METADATA: json.dumps(said).encode()})
    content = bytes(arrow.encode(pa, schema, arrays))
    (out / INDEX).write_bytes(content)
    (out / f"{INDEX}.xxh3").write_bytes(arrow.sum_line(_native.xxh3(content)))


KINDS: dict[str, Callable[[World, Sequence[str]], str]] = {
    "parquet": parquet, "tar": tar, "zip": zipped, "list": manifest, "labels": labelled,
    "folder": folder,
    "shards": shards,
    "shards' extras": lambda world, names: shards(world, names, "extras"),
    "shards' keys": lambda world, names: shards(world, names, "key"),
    "shards' classes": lambda world, names: shards(world, names, "classes"),
}  # fmt: skip


def reader(where: str, *, labels: bool = True) -> Reader:
    return open_reader(where, Choice(labels=None if labels else "none"))


def members(out: Path) -> list[str]:
    """Names in the tars of a converted data set."""
    found = list[str]()
    for path in sorted(
        each for each in out.glob("*.tar") if each.is_file()
    ):  # a class may be called so
        with tarfile.open(path, errors="surrogateescape") as archive:
            found += archive.getnames()
    return found


def leads_out(text: str) -> bool:
    return text.startswith("/") or ".." in text.split("/") or "\0" in text
