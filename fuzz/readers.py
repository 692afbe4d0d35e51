"""Fuzz targets for what Python reads: any bytes give a value or the typed error that the docstrings
promise, and nothing else.

    python -m fuzz.readers TARGET [--taken FILE] [libFuzzer's options and folders]   needs atheris
    python -m fuzz.readers TARGET --seeds FOLDER                   what the target begins with

FILE gets the number of inputs that were taken whole: neither refused nor left aside.

fuzz/run.sh calls it. Checksums are made to fit, so that the fuzzer gets past them, as whoever
writes the files could.
"""

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import atheris

with atheris.instrument_imports(include=["fastload", "tarfile", "tomllib"]):
    import numpy as np
    import torch

    import fastload
    from fastload import _native, recipes
    from fastload.conversion import commits, indexing, journal
    from fastload.conversion.keys import tidy_key
    from fastload.conversion.readers import open_reader, records
    from fastload.conversion.samples import BadSampleError
    from fastload.errors import PipelineError, SourceError, UsageError
    from fastload.files import names
    from fastload.files.below import DirEntry, opened
    from fastload.files.names import Inner
    from fastload.sources import beton_file, open_source, read, seek
    from fuzz import boxes, converted, spans, values
    from fuzz.converted import LEAF, folder_of_images, put, refused
from tests.beton.mutated_release import whole


class Target(NamedTuple):
    """What is fuzzed: seeds(folder) may write there what `run` needs beside the input."""

    seeds: Callable[[Path], list[bytes]]
    run: Callable[[Path, bytes], bool]  # whether it was taken whole


def tar_seeds(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in converted.made(folder).glob("*.tar")]


def run_tar(folder: Path, data: bytes) -> bool:
    path = folder / "x.tar"
    put(path, data)
    try:
        for _ in records(open_reader(str(path))):
            pass
    except SourceError as error:
        refused(error, folder)
    except BadSampleError:
        pass
    try:
        source = open_source(path)
        for sample in range(len(source)):
            read(source, sample)
    except SourceError as error:
        refused(error, folder)
        return False
    return True


def sidecar_seeds(folder: Path) -> list[bytes]:
    root = folder_of_images(folder / "images")
    indexing.run(indexing.prepare(str(root)), 1, 1)
    return [(root / seek.INDEX).read_bytes()]


def run_sidecar(folder: Path, data: bytes) -> bool:
    root = folder / "images"
    put(root / seek.INDEX, data, signed=True)
    found = seek.find(list(LEAF), [str(root)])  # raises nothing
    if found.seek is None:
        return False
    place = found.seek.locate(np.arange(len(LEAF)))
    inside = (place.size == 0) | (
        (place.offset >= 0) & (place.size > 0) & (place.offset + place.size <= found.bytes)
    )
    if not inside.all():
        raise AssertionError("an index outside the file")
    return True


def beton_seeds(_: Path) -> list[bytes]:
    return [whole()]


def run_beton(folder: Path, data: bytes) -> bool:
    path = folder / "x.beton"
    put(path, data)
    try:
        file = beton_file.read(str(path))
    except SourceError as error:
        refused(error, path)
        return False
    for name in file.names:
        for sample in range(min(len(file), 8)):
            with contextlib.suppress(ValueError):  # JSON that is none
                file.value(name, sample)
    return True


def recipe_seeds(_: Path) -> list[bytes]:
    folder = Path(recipes.__file__).parent
    return [(folder / f"{name}.toml").read_bytes() for name in recipes.names()]


def run_recipe(folder: Path, data: bytes) -> bool:
    path = folder / "x.toml"
    put(path, data)
    try:
        recipes.load(path)
    except (UsageError, PipelineError) as error:
        refused(error, path)
        return False
    return True


def a_loader() -> fastload.DataLoader:
    data = torch.utils.data.TensorDataset(torch.arange(12))
    return fastload.DataLoader(data, batch_size=3, shuffle=True, seed=1)


def state_seeds(_: Path) -> list[bytes]:
    loader = a_loader()
    states = [loader.state_dict(), *(loader.state_dict() for _ in loader)]
    return [json.dumps(state).encode() for state in states]


LOADERS: list[fastload.DataLoader] = []


def run_state(_: Path, data: bytes) -> bool:
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return False
    LOADERS[:] = LOADERS or [a_loader()]
    try:
        LOADERS[0].load_state_dict(given)
    except UsageError as error:
        refused(error, "DataLoader.load_state_dict: ")
        return False
    LOADERS.clear()
    return True


def journal_seeds(folder: Path) -> list[bytes]:
    lies = [
        {"commit": [["../x", "/y"]]},
        {"part": 0, "path": "../x", "sidecar": ["x", 1], "names": ["0" * 17 + "a/../x"]},
    ]
    return [json.dumps(lie).encode() for lie in lies]


def run_journal(folder: Path, data: bytes) -> bool:
    """What a planted journal names is moved within its folder, or not at all."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    (folder / "x").write_bytes(b"theirs")
    (out / "shard-000000.tar").write_bytes(b"mine")
    put(out / commits.UNFINISHED, b"")
    record = len(data).to_bytes(8, "little") + data
    put(out / commits.JOURNAL, journal.MAGIC + _native.xxh3(record).to_bytes(8, "little") + record)
    with opened(str(out)) as held:
        commits.take_back(held)
        records, _ = journal.read(DirEntry(held, commits.JOURNAL))
        taken = bool(records)
        for name in journal.files(records):
            if name != Inner(str(name)):
                raise AssertionError(f"{name!r} is no name")
        commits.discard(held)
    if sorted(os.listdir(folder)) != ["out", "x"] or (folder / "x").read_bytes() != b"theirs":
        raise AssertionError("something outside has changed")
    return taken


def name_seeds(_: Path) -> list[bytes]:
    return [
        each.encode()
        for each in ("a/b.jpg", "../x", "/x", "a//b", "m./../x", "x" * 300, "\u2215..", "a\nb")
    ]


def run_name(folder: Path, data: bytes) -> bool:
    """Whatever a name is made of: a key, a suffix and a path of it stay below a folder."""
    text, top = os.fsdecode(data), str(folder)
    made = [f"k.{name}" for name in names.unique_suffixes([text])]
    if not names.whole_problem(text):
        made.append(tidy_key(text))
        names.check_keys("here", made)
    with contextlib.suppress(SourceError):
        made.append(Inner(text))
    for name in made:
        if not os.path.normpath(os.path.join(top, name)).startswith(f"{top}/"):
            raise AssertionError(f"{name!r} leads out")
    return bool(made)


TARGETS = {
    "tar": Target(tar_seeds, run_tar),
    **{name: Target(*pair) for name, pair in converted.TARGETS.items()},
    "sidecar": Target(sidecar_seeds, run_sidecar),
    "beton": Target(beton_seeds, run_beton),
    "recipe": Target(recipe_seeds, run_recipe),
    "journal": Target(journal_seeds, run_journal),
    "name": Target(name_seeds, run_name),
    "state": Target(state_seeds, run_state),
    **{name: Target(*pair) for name, pair in spans.TARGETS.items()},
    **{name: Target(*pair) for name, pair in boxes.TARGETS.items()},
    "values": Target(values.values_seeds, values.run_values),
}


class Count:
    """How many inputs were taken whole: a target that refuses all of them says nothing.

    libFuzzer ends the process without a word to Python, so each number goes to the file at once.
    """

    def __init__(self, target: Target, folder: Path, file: str) -> None:
        self.target, self.folder, self.taken = target, folder, 0
        self.file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)

    def run(self, data: bytes) -> None:
        if self.target.run(self.folder, data):
            self.taken += 1
            os.pwrite(self.file, b"%d\n" % self.taken, 0)


def main(arguments: list[str]) -> None:
    name, *options = arguments
    chosen = TARGETS[name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        seeds = chosen.seeds(folder)
        if options[:1] == ["--seeds"]:
            os.makedirs(options[1], exist_ok=True)
            for number, seed in enumerate(seeds):
                (Path(options[1]) / f"seed-{number}").write_bytes(seed)
            return
        file = str(folder / "taken")
        if options[:1] == ["--taken"]:
            _, file, *options = options
        atheris.Setup([sys.argv[0], *options], Count(chosen, folder, file).run)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
