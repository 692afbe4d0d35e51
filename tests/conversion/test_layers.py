"""Coefficient layers in the places of seek indexes: beside folders, in shards, in what is said."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import fastload
from fastload import _native, cli
from fastload.conversion import editing, repair, seek_writer, verify
from fastload.conversion.readers import open_reader
from fastload.errors import SampleError
from fastload.profiler import cold
from fastload.sources import layered, open_source, seek_said
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop
from tests.kernels.layer_helpers import SEAL, head_size

from .index_folder_helpers import blobs, index

COEFFICIENTS = seek_writer.COEFFICIENTS
OPS = [RandomResizedCrop((16, 24)), RandomHorizontalFlip()]


def want(paths):
    return [_native.jpeg_layer(Path(path).read_bytes()) for path in paths]


def loaded(data):
    """A batch of all, how its images were decoded, and what is said of that beforehand."""
    loader = fastload.DataLoader(
        fastload.open(data, OPS), 7, num_workers=1, seed=4, backend="native"
    )
    images, _ = next(iter(loader))
    return images, loader.decodes(), str(loader.explain())


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(cli, "VERBS", ("convert", "index"))
    monkeypatch.setattr("sys.argv", ["fastload", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        cli.main()
        raise SystemExit(0)
    return end.value.code or 0, *capsys.readouterr()


def test_beside_a_folder(small):
    before, _, said = loaded(small)
    assert "seek index: 0 of 7 images" in said
    summary = index(small, COEFFICIENTS)
    source = open_source(small)
    assert (summary.seek.indexed, blobs(source.seek, 7)) == (7, want(source.paths))
    assert verify.verify(verify.prepare(str(small)), 1).damages == ()
    after, ways, said = loaded(small)
    assert torch.equal(before, after)
    assert (ways["indexed"], ways["refused"]) == (7, 0)
    assert "coefficient layer: 7 of 7 images" in said


def test_stale_and_damaged_ones_fall_back_to_the_jpeg(small):
    index(small, COEFFICIENTS)
    files = sorted(small.glob("*/*"))
    shutil.copy(files[3], files[5])
    size = (small / "fastload.seek").stat().st_size
    with open(small / "fastload.seek", "r+b") as layers:
        layers.seek(size // 2)
        layers.write(bytes(8))
    found, ways, _ = loaded(small)
    assert ways["refused"] >= 1
    assert ways["indexed"] + ways["whole"] == 7
    for path in small.glob("fastload.seek*"):
        path.unlink()
    assert torch.equal(found, loaded(small)[0])


def test_in_shards(tools, small, tmp_path):
    out = tmp_path / "out"
    tools.convert(small, out, seek_step=COEFFICIENTS)
    assert verify.verify(verify.prepare(str(out)), 1).damages == ()
    source = open_source(out)
    assert seek_said.describe("use", source, None) == (
        "coefficient layer: 7 of 7 images, whose JPEGs are not read"
    )
    images, ways, _ = loaded(out)
    assert ways["indexed"] == 7
    assert torch.equal(images, loaded(small)[0])


@pytest.fixture
def shards(tools, small, tmp_path):
    """A data set of 7 images with layers, and its images in the order of its rows."""
    out = tmp_path / "out"
    tools.convert(small, out, seek_step=COEFFICIENTS)
    return out


def place(source, sample, *, layer):
    """The file, the first byte and the bytes of a sample, or of its layer."""
    at = source.locate(np.array([sample]))
    files, file, offset, size = at.seek if layer else (source.files, *at[:3])
    return files.path(int(file[0])), int(offset[0]), int(size[0])


def overwrite(source, sample, *, layer, begin=0):
    """Zeros from byte `begin` on."""
    path, offset, size = place(source, sample, layer=layer)
    with open(path, "r+b") as file:
        file.seek(offset + begin)
        file.write(bytes(size - begin))


def rows(source, sample):
    """Where the rows of a sample's layer begin."""
    path, offset, size = place(source, sample, layer=True)
    return head_size(Path(path).read_bytes()[offset : offset + size]) + SEAL


def test_shards_do_not_read_what_a_layer_proves(shards):
    want, _, said = loaded(shards)
    assert "coefficient layer: 7 of 7 images, whose JPEGs are not read" in said
    source = open_source(shards)
    for sample in range(7):
        path, offset, size = place(source, sample, layer=True)
        with open(path, "rb") as file:
            file.seek(offset)
            assert layered.read_as_loaded(source, sample) == file.read(size)
        overwrite(source, sample, layer=False)
    found, ways, _ = loaded(shards)
    assert (ways["indexed"], ways["refused"]) == (7, 0)
    assert torch.equal(found, want)
    off = fastload.DataLoader(fastload.open(shards, OPS), 7, num_workers=1, seek_index="off")
    with pytest.raises(SampleError, match="checksum mismatch"):
        next(iter(off))


def test_a_refused_layer_asks_the_jpeg(shards):
    want = loaded(shards)[0]
    source = open_source(shards)
    for sample in (1, 4):
        overwrite(source, sample, layer=True, begin=rows(source, sample))
    overwrite(source, 5, layer=True)
    found, ways, _ = loaded(shards)
    assert (ways["indexed"], ways["refused"], ways["whole"]) == (4, 3, 3)
    assert torch.equal(found, want)
    overwrite(source, 4, layer=False)
    with pytest.raises(SampleError, match="checksum mismatch"):
        loaded(shards)


def test_verify_names_the_damaged_layer(shards):
    source = open_source(shards)
    overwrite(source, 3, layer=True, begin=rows(source, 3))
    found = verify.verify(verify.prepare(str(shards)), 1).damages
    assert [damage.what for damage in found] == [
        "checksum of its seek index differs; run fastload index again"
    ]
    assert found[0].start == place(source, 3, layer=True)[1]


def test_what_is_read_ahead(shards, small):
    source = open_source(shards)
    location = source.locate(np.arange(7))
    assert layered.likely(location, location.seek).all()
    assert not layered.likely(location, None).any()
    assert not layered.likely(location._replace(checksum=None), location.seek).any()
    reading = cold.measure(source, 0.2)
    assert reading.bytes_per_image > location.size.mean()
    folder = open_source(small)
    assert layered.read_as_loaded(folder, 2) == Path(folder.paths[2]).read_bytes()


def test_a_lost_sidecar_is_made_again(tools, small, tmp_path):
    out = tmp_path / "out"
    tools.convert(small, out, seek_step=COEFFICIENTS, shard_bytes=8192)
    before = tools.contents(out)
    sidecars = sorted(out.glob("*.seek"))
    assert len(sidecars) > 1
    sidecars[0].unlink()
    repair.run(str(out), open_reader(str(small)), editing.Edits(), 1)
    assert tools.contents(out) == before


def test_the_verbs(small, tmp_path, monkeypatch, capsys):
    code, out, _ = run(
        monkeypatch, capsys, "index", small, "--layer", "coefficients", "--json", "-"
    )
    said = json.loads(out)
    assert (code, said["layer"], said["indexed"]) == (0, "coefficients", 7)
    assert said["seek_bytes"] == (small / "fastload.seek").stat().st_size
    convert = ("convert", small, tmp_path / "out", "--layer", "coefficients")
    code, out, _ = run(monkeypatch, capsys, *convert, "--dry-run")
    assert (code, "1.5 times as fast" in " ".join(out.split())) == (0, True)
    code, out, err = run(monkeypatch, capsys, *convert)
    assert (code, "coefficient layer" in out + err) == (0, True)
    assert seek_said.kind(open_source(tmp_path / "out"), None) == "coefficient layer"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--layer", "coefficient"), "layer: got 'coefficient', want 'seek' or 'coefficients'"),
        (("--no-seek", "--layer", "coefficients"), "--no-seek leaves out --layer coefficients"),
    ],
)
def test_what_the_verbs_refuse(small, tmp_path, monkeypatch, capsys, arguments, why):
    code, _, err = run(monkeypatch, capsys, "convert", small, tmp_path / "out", *arguments)
    assert code == 2
    assert why in " ".join(err.replace("│", " ").split())
