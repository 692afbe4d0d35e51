"""A third party's package adds formats and a backend, and everything that takes one knows them."""

import base64
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import fastload
from fastload.cli import doctor
from fastload.conversion import job, readers, verify
from fastload.conversion.inspect import inspect
from fastload.errors import BackendError, ConversionError, SourceError, UsageError
from fastload.files import formats
from fastload.sources import open_source
from fastload.transforms import CenterCrop, Resize, ToTensor

OPS = [Resize(24), CenterCrop(16), ToTensor()]


def convert(source, target, to, **options):
    choice = readers.Choice(format=options.pop("read_as", None))
    made = job.prepare(str(source), str(target), job.Options(to=to, **options), choice)
    return job.run(made)


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


@pytest.fixture
def data(toy, folder, tmp_path):
    """The images of `folder` as the toy format, in three parts."""
    convert(folder, tmp_path / "data", "toy", shard_bytes=40_000)
    return tmp_path / "data"


@pytest.fixture
def album(toy, folder, tmp_path):
    reader = readers.open_reader(folder)
    lines = [
        f"{item.key} {reader.classes[item.label]} {base64.b64encode(item.data).decode()}\n"
        for item in readers.records(reader)
    ]
    (tmp_path / "x.album").write_text("".join(lines))
    return tmp_path / "x.album"


def run(toy, *arguments):
    """A verb of the command line, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "fastload", *map(str, arguments)],
        check=False, capture_output=True, text=True, timeout=300, cwd=toy,
    )  # fmt: skip


def test_what_was_written_is_opened_as_it_was(data, folder):
    assert len(list(data.glob("images-*.bin"))) > 2
    ours, theirs = fastload.open(folder, OPS), fastload.open(data, OPS)
    assert (len(theirs), theirs.classes) == (len(ours), ours.classes)
    assert theirs.targets == ours.targets
    for sample in (0, 17, 39):
        assert torch.equal(theirs[sample][0], ours[sample][0])


@pytest.mark.parametrize("workers", [0, 2])
def test_the_loader_gives_the_same_batches(data, folder, workers):
    loaders = [
        fastload.DataLoader(fastload.open(where, OPS), 8, shuffle=True, num_workers=workers, seed=3)
        for where in (folder, data)
    ]
    assert loaders[1].explain().startswith("backend native")
    for ours, theirs in zip(*loaders, strict=True):
        assert all(torch.equal(*pair) for pair in zip(ours, theirs, strict=True))


def test_a_copy_in_another_process_reads_the_same(data):
    source = open_source(data)
    _ = source.files
    again = pickle.loads(pickle.dumps(source))
    assert again.name(3) == source.name(3)
    assert np.array_equal(again.locate(np.arange(9)).offset, source.locate(np.arange(9)).offset)


def test_conversions_both_ways_keep_every_byte(data, folder, tmp_path):
    convert(data, tmp_path / "shards", "shards")
    convert(tmp_path / "shards", tmp_path / "again", "toy", shard_bytes=40_000)
    want = [record.data for record in readers.records(readers.open_reader(folder))]
    for where in (data, tmp_path / "shards", tmp_path / "again"):
        reader = readers.open_reader(str(where))
        assert sorted(record.data for record in readers.records(reader)) == sorted(want)
        assert verify.verify(verify.prepare(str(where))).damages == ()


def test_a_reader_of_what_nobody_trains_on(album, folder, tmp_path):
    with pytest.raises(SourceError, match=r"training reads no toy-album .*; run fastload convert"):
        fastload.open(album)
    convert(album, tmp_path / "shards", "shards")
    ours, theirs = fastload.open(folder), fastload.open(tmp_path / "shards")
    assert theirs.classes == ours.classes
    assert theirs.targets == ours.targets
    assert inspect(str(album)).kind == "toy-album"
    assert inspect(str(album)).samples == 40


def test_a_reader_whose_columns_do_not_fit(album, monkeypatch):
    import toy.reader

    real = toy.reader.open_reader

    def wrong(*arguments):
        made = real(*arguments)
        return replace(made, keys=[*made.keys[:-1], made.keys[0]], classes=made.classes[:2])

    monkeypatch.setattr(toy.reader, "open_reader", wrong)
    with pytest.raises(SourceError) as caught:
        readers.open_reader(str(album))
    assert str(caught.value) == (
        f"{album}: its reader 'toy-album' of fastload-toy has keys that are there twice, labels 0 "
        "to 2 of 2 classes for 40 samples; update that package"
    )


def test_a_writer_leaves_nothing_or_what_resumes(data, folder, tmp_path):
    with pytest.raises(ConversionError, match="holds a data set already"):
        convert(folder, data, "toy")
    before = contents(data)
    convert(folder, data, "toy", overwrite=True, shard_bytes=40_000, workers=1)
    assert contents(data) == before  # whatever the number of threads
    made = convert(folder, data, "toy", resume=True, shard_bytes=40_000)
    assert made.whole
    (data / "mine").write_text("x")
    with pytest.raises(ConversionError, match="is not empty"):
        convert(folder, data, "toy", overwrite=True)


def test_a_writer_cannot_leave_its_folder(toy, folder, tmp_path, monkeypatch):
    import toy.writer

    monkeypatch.setattr(toy.writer, "INDEX", "../escaped")
    with pytest.raises(SourceError) as caught:
        convert(folder, tmp_path / "out", "toy")
    assert "escaped" in str(caught.value)
    assert not (tmp_path / "escaped").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_inspect_says_what_it_is(toy, data):
    found = run(toy, "inspect", data, "--json", toy / "facts.json")
    assert found.returncode == 0, found.stderr
    assert "toy data set (images.toy in a folder)" in found.stdout
    facts = json.loads((toy / "facts.json").read_text())
    assert (facts["kind"], facts["samples"], facts["classes"]) == ("toy", 40, 3)


@pytest.mark.long
def test_convert_shows_and_takes_the_names(toy, folder, album):
    shown = run(toy, "convert", "--help").stdout
    assert "toy" in shown
    assert run(toy, "convert", folder, toy / "out", "--to", "toy").returncode == 0
    assert run(toy, "convert", toy / "out", toy / "shards", "--from", "toy").returncode == 0
    done = run(toy, "convert", album, toy / "no", "--from", "toys")
    assert (done.returncode, done.stdout) == (2, "")
    assert "format: 'toys' is unknown" in done.stderr
    assert done.stderr.endswith("; did you mean toy?\n")


def test_a_backend_makes_the_batches(data, folder):
    want, loader = (
        fastload.DataLoader(fastload.open(data, OPS), 8, backend=backend)
        for backend in ("torch", "toy-mirror")
    )
    assert loader.explain().startswith("backend toy-mirror of fastload-toy, the caller's thread")
    for ours, theirs in zip(want, loader, strict=True):
        assert torch.equal(theirs[0], ours[0].flip(-1))
        assert torch.equal(theirs[1], ours[1])
    auto = fastload.DataLoader(fastload.open(data, OPS), 8)
    assert auto.explain().startswith("backend native")


def test_a_backends_refusal_is_its_reason(data):
    views = fastload.transforms.Views([OPS, OPS])
    with pytest.raises(BackendError) as caught:
        list(fastload.DataLoader(fastload.open(data, views), 8, backend="toy-mirror"))
    assert "backend toy-mirror cannot run this plan: several views are not mirrored" in str(
        caught.value
    )


@pytest.mark.long
def test_show_draws_a_batch_of_it(toy, data):
    done = run(
        toy, "show", data, "--recipe", "baseline", "--backend", "toy-mirror", "--images", 4,
        "-o", toy / "sheet.png",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "by the toy-mirror backend" in done.stdout
    assert (toy / "sheet.png").stat().st_size > 1000


@pytest.mark.long
def test_profile_measures_it(toy, data):
    done = run(
        toy, "profile", "--data", data, "--recipe", "baseline", "--backend", "toy-mirror",
        "--step-rate", 40, "--seconds", 2, "--workers", 0, "--batch-size", 2, "--json", "-",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["setting"]["backend"] == "toy-mirror"


def test_doctor_lists_what_was_added(toy, broken):
    found = {(one["group"], one["name"]): one for one in doctor.extensions()}
    assert found["fastload.sources", "toy"]["distribution"] == "fastload-toy"
    assert found["fastload.backends", "toy-mirror"]["version"] == "1.0"
    assert found["fastload.writers", "toy"]["problem"] is None
    assert found["fastload.ops", "Square"]["problem"] is None
    assert "(ZeroDivisionError: division by zero)" in found["fastload.readers", "broken"]["problem"]


def test_a_broken_package_breaks_only_what_uses_it(broken, folder, tmp_path):
    assert len(fastload.DataLoader(fastload.open(folder, OPS), 8)) == 5
    convert(folder, tmp_path / "shards", "shards")
    where = "in broken-toy: cannot be loaded (ZeroDivisionError: division by zero); update or"
    with pytest.raises(SourceError) as opened:
        fastload.open(folder, format="broken")
    with pytest.raises(ConversionError) as written:
        convert(folder, tmp_path / "out", "broken")
    with pytest.raises(BackendError) as chosen:
        fastload.DataLoader(fastload.open(folder, OPS), 8, backend="broken")
    for caught, group in ((opened, "sources"), (written, "writers"), (chosen, "backends")):
        want = f"entry point 'broken' of fastload.{group} {where} uninstall broken-toy"
        assert str(caught.value) == want
    (tmp_path / "x").write_text("x")
    with pytest.raises(SourceError) as unknown:  # it might have known the file
        fastload.open(tmp_path / "x")
    lines = str(unknown.value).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(f"entry point 'broken' of fastload.sources {where}")


def test_unknown_names(folder, tmp_path):
    with pytest.raises(SourceError, match="format 'toy' is unknown"):
        fastload.open(folder, format="toy")
    with pytest.raises(UsageError, match="to: got 'toy', want one of shards, beton"):
        convert(folder, tmp_path / "out", "toy")
    with pytest.raises(UsageError, match="format: 'toy' is unknown"):
        readers.open_reader(folder, readers.Choice(format="toy"))


def test_no_other_package_is_imported_where_ours_fits(toy, folder, tmp_path):
    convert(folder, tmp_path / "shards", "shards")
    sys.modules.pop("toy", None)
    open_source(tmp_path / "shards")
    readers.open_reader(str(tmp_path / "shards"))
    assert "toy" not in sys.modules
    assert "toy" in formats.known(formats.SOURCES)
    assert "toy" not in sys.modules  # its name costs no import
