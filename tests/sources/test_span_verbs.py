"""The verbs of the command line on formats that are opened in place: they take what `fastload.open`
takes.
"""

import json
import struct

import pytest
import typer
from typer.testing import CliRunner

import fastload
from fastload.cli import convert, inspect, show, verify
from fastload.sources import lance_library
from tests.sources import lance_files, litdata_files, lmdb_files, parquet_files, tfrecord_files
from tests.sources.format_helpers import COUNT, encoded_of, image, label
from tests.sources.tar_helpers import contents

NUMBERS = range(COUNT)


def tfrecord(root):
    for part in range(2):
        examples = [
            tfrecord_files.example({"image/encoded": image(n), "image/class/label": label(n)})
            for n in NUMBERS[part * 10 : part * 10 + 10 + 3 * part]
        ]
        tfrecord_files.write(root / f"train-{part:05}-of-00002", examples)
    return root


def by_braces(root):
    return f"{tfrecord(root)}/train-{{00000..00001}}-of-00002"


def litdata(root):
    items = [litdata_files.item((image(n), struct.pack("<q", label(n)))) for n in NUMBERS]
    described = [litdata_files.described("chunk-0-0.bin", COUNT)]
    return litdata_files.write(root, {"chunk-0-0.bin": litdata_files.chunk(items)}, described)


def lmdb(root):
    return lmdb_files.write(root, {b"%d/%03d.jpg" % (label(n), n): image(n) for n in NUMBERS})


@pytest.fixture
def run():
    """run("show", PATH, …): a verb in this process."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    for verb in (convert, inspect, show, verify):
        verb.register(app)

    def invoke(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None, result.exception
        return result.output

    return invoke


def parquet(root):
    parquet_files.write(root / "data" / "train-00000-of-00001.parquet")
    return root


def lance(root):
    """What a library tells of it is kept, so that it is not asked again."""
    told = lance_files.write(root, beside=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lance_library, "opened", lambda _: told)
        fastload.open(root)
    return root


FORMATS = [tfrecord, by_braces, litdata, lmdb, parquet, lance]


@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
def test_verbs(run, tmp_path, make):
    path = make(tmp_path / "in")
    said = json.loads(run("inspect", path, "--json", "-"))
    assert (said["samples"], said["classes"]) == (COUNT, 5)
    said = json.loads(run("verify", path, "--json", "-"))
    assert (said["ok"], said["samples"]) == (True, COUNT)
    run("show", path, "-o", tmp_path / "sheet.png", "--batch-size", "4")
    assert (tmp_path / "sheet.png").read_bytes()[:4] == b"\x89PNG"
    run("convert", path, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(path)
    assert contents(path) == [(label(number), image(number)) for number in NUMBERS]


@pytest.mark.parametrize("make", [tfrecord, litdata, lmdb], ids=lambda make: make.__name__)
def test_through_the_cache(tmp_path, make):
    pytest.importorskip("obstore")
    path = make(tmp_path / "in")
    data = fastload.open(path, cache=tmp_path / "cache")
    source = data.pipeline.source
    assert source.labels.tolist() == [label(number) for number in NUMBERS]
    assert encoded_of(source) == [image(number) for number in NUMBERS]


@pytest.mark.parametrize("make", [tfrecord, litdata, lmdb, lance], ids=lambda make: make.__name__)
def test_a_file_that_is_cut_off_while_it_is_open(tmp_path, make):
    """Its lost samples are bad samples, and the others stay."""
    data = fastload.open(make(tmp_path / "in"))
    source = data.pipeline.source
    last = max(range(len(source)), key=source.offset.tolist().__getitem__)
    path = source.paths[int(source.file[last])]
    with open(path, "r+b") as file:
        file.truncate(int(source.offset[last]) + 10)
    with pytest.raises(fastload.SampleError):
        data[last]
    assert data[0][1] == 0
