"""Small data sets made on the spot, and children that may die."""

import io
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fastload import cli
from fastload.conversion import beton_writer, job
from fastload.conversion.readers import ANYTHING, Choice, open_reader, records
from fastload.files.below import DirEntry, opened
from fastload.files.names import Inner
from tests.children import in_child


def encode(
    height: int, width: int, seed: int = 0, mode: str = "RGB", format: str = "JPEG", **how: object
) -> bytes:
    channels = {"L": 1, "RGB": 3, "CMYK": 4, "I;16": 1}[mode]
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)
    if mode == "I;16":
        image = Image.fromarray(pixels[:, :, 0].astype(np.uint16) * 257)
    else:
        image = Image.fromarray(
            pixels if channels > 1 else pixels[:, :, 0], mode=None if mode != "CMYK" else "CMYK"
        )
    out = io.BytesIO()
    image.save(out, format, **how)
    return out.getvalue()


def write_tree(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def convert(source: Path | str, target: Path | str, **options: object) -> job.ConversionSummary:
    """A whole conversion with one worker, unless told otherwise."""
    return job.run(job.prepare(str(source), str(target), job.Options(**{"workers": 1, **options})))


def convert_to(
    source: Path | str, target: Path | str, to: str, choice: Choice = ANYTHING, **options: object
) -> object:
    """A conversion to any format, with one worker unless told otherwise."""
    if to == "beton":
        how = beton_writer.Options(**{"workers": 1, **options})
        return beton_writer.run(open_reader(str(source), choice), str(target), how)
    return job.run(
        job.prepare(
            str(source), str(target), job.Options(**{"workers": 1, "to": to, **options}), choice
        )
    )


def samples(source: Path | str, choice: Choice = ANYTHING) -> list[tuple[str, bytes, str]]:
    """Key, bytes and class of every sample, sorted: what must survive any conversion."""
    reader = open_reader(str(source), choice)
    return sorted(
        (record.key, record.data, reader.classes[record.label]) for record in records(reader)
    )


def kill_at(patch: pytest.MonkeyPatch, k: int) -> None:
    """SIGKILL this process before its kth write, fsync, rename or unlink."""
    counter = itertools.count(1)

    def wrap(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            if next(counter) == k:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return call

    for name in ("write", "writev", "fsync", "rename", "unlink"):
        patch.setattr(os, name, wrap(getattr(os, name)))


def entry(path: Path | str) -> DirEntry:
    """Where a file of this path goes."""
    return DirEntry(opened(str(Path(path).parent)), Inner(Path(path).name))


class Tools:
    """What tests of this folder share; importlib mode has no imports between test files."""

    encode = staticmethod(encode)
    write_tree = staticmethod(write_tree)
    contents = staticmethod(contents)
    convert = staticmethod(convert)
    convert_to = staticmethod(convert_to)
    samples = staticmethod(samples)
    in_child = staticmethod(in_child)
    entry = staticmethod(entry)
    kill_at = staticmethod(kill_at)


@pytest.fixture(scope="session")
def tools() -> type[Tools]:
    return Tools


@pytest.fixture
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For tests with hundreds of fsyncs: what they prove needs no disk, which takes milliseconds
    for each.
    """
    memory = "/dev/shm"
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < 32 << 20:
        yield tmp_path_factory.mktemp("disk")
        return
    with tempfile.TemporaryDirectory(prefix="fastload-test-", dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Callable[..., tuple[int, str, str]]]:
    """command_line(VERB, …)(ARGUMENT, …): a command in this process, of these verbs only.

    Its exit code, stdout and stderr.
    """

    def of(*verbs: str) -> Callable[..., tuple[int, str, str]]:
        monkeypatch.setattr(cli, "VERBS", verbs)

        def run(*arguments: object) -> tuple[int, str, str]:
            monkeypatch.setattr("sys.argv", ["fastload", *map(str, arguments)])
            try:
                cli.main()
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
            said = capsys.readouterr()
            return code, said.out, said.err

        return run

    return of


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """FFCV files are written in rounds of two samples."""
    monkeypatch.setattr(beton_writer, "TASK", 1)
    monkeypatch.setattr(beton_writer, "ROUND", 2)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Seven images in two classes, none square."""
    files = {
        f"{'cat' if n % 2 else 'dog'}/{n}.JPEG": encode(11 + n, 17 + 2 * n, n, quality=60)
        for n in range(7)
    }
    return write_tree(tmp_path / "small", files)
