"""Seek indexes of shards: right, the same for any number of workers, and never needed."""

import itertools
import os
import pickle
import random
import signal

import numpy as np
import pytest

from fastload import _native
from fastload.conversion import indexing, inspect, job, seek_writer, verify, verify_shards
from fastload.errors import ConversionError, UsageError
from fastload.files import below
from fastload.sources import open_source


def contents(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


def index(folder, step=8, count=1):
    return indexing.run(indexing.prepare(str(folder)), step, count)


def blobs(source):
    """The images, and what `locate` says their indexes are; None without."""
    place = source.locate(np.arange(len(source)))
    data = [
        source.files.read(f, o, s)
        for f, o, s in zip(
            place.file.tolist(), place.offset.tolist(), place.size.tolist(), strict=True
        )
    ]
    if place.seek is None:
        return data, [None] * len(source)
    files, *columns = place.seek
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return data, [files.read(file, offset, size) if size else None for file, offset, size in rows]


def damages(folder):
    return [str(damage) for damage in verify.verify(verify.prepare(str(folder)), 1).damages]


@pytest.fixture
def mixed(tools, small):
    """Also what has no index: progressive, CMYK, PNG; and grey, which has one."""
    files = {
        "cat/progressive.jpg": tools.encode(20, 30, 1, progressive=True),
        "cat/cmyk.jpg": tools.encode(20, 30, 2, mode="CMYK"),
        "dog/a.png": tools.encode(20, 30, 3, format="PNG"),
        "dog/grey.jpg": tools.encode(20, 30, 4, mode="L"),
    }
    return tools.write_tree(small, files)


@pytest.mark.parametrize("step", [0, 1, 8])
def test_round_trip(tools, mixed, tmp_path, step):
    summary = tools.convert(mixed, tmp_path / "out", shard_bytes=6000, seek_step=step)
    source = open_source(tmp_path / "out")
    data, found = blobs(source)
    assert len(source.index.shards) > 2
    assert [f for f, d in zip(found, data, strict=True) if f is not None] == [
        _native.jpeg_index(d, step) for d, f in zip(data, found, strict=True) if f
    ]
    none = {source.index.key(n) for n, f in enumerate(found) if f is None}
    assert none == {"cat/progressive", "cat/cmyk", "dog/a"}
    sizes = sum(path.stat().st_size for path in (tmp_path / "out").glob("*.seek"))
    assert (summary.seek.indexed, summary.seek.bytes, sum(summary.seek.reasons.values())) == (
        8,
        sizes,
        3,
    )
    assert summary.seek.reasons["not a JPEG"] == 1
    for path in (tmp_path / "out").glob("*.seek"):
        assert path.read_bytes()[:16] == seek_writer.header(step)
    assert damages(tmp_path / "out") == []


def test_same_bytes_for_any_number_of_workers_and_by_either_verb(tools, mixed, tmp_path):
    for workers in (1, 3):
        tools.convert(
            mixed,
            tmp_path / f"w{workers}",
            workers=workers,
            shard_bytes=4000,
            seek_step=2,
            shuffle=5,
        )
        tools.convert(
            mixed,
            tmp_path / f"later{workers}",
            workers=workers,
            shard_bytes=4000,
            seek_step=None,
            shuffle=5,
        )
        assert not list((tmp_path / f"later{workers}").glob("*.seek"))
        index(tmp_path / f"later{workers}", 2, workers)
    assert (
        contents(tmp_path / "w1")
        == contents(tmp_path / "w3")
        == contents(tmp_path / "later1")
        == contents(tmp_path / "later3")
    )


def test_another_step_replaces_the_sidecars(tools, small, tmp_path):
    tools.convert(small, tmp_path / "a", shard_bytes=6000, seek_step=1)
    tools.convert(small, tmp_path / "b", shard_bytes=6000, seek_step=0)
    assert contents(tmp_path / "a") != contents(tmp_path / "b")
    index(tmp_path / "a", 0)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_without_seek(tools, small, tmp_path):
    summary = tools.convert(small, tmp_path / "out", seek_step=None)
    assert summary.seek == seek_writer.Totals(0, 0, {})
    source = open_source(tmp_path / "out")
    assert (source.index.sidecars, source.locate(np.arange(7)).seek) == ((), None)
    facts = inspect.inspect(str(tmp_path / "out"))
    assert (facts.indexed, facts.seek_bytes, facts.warnings, damages(tmp_path / "out")) == (
        0,
        0,
        [],
        [],
    )


def test_a_pickled_source_has_its_indexes(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out")
    source = open_source(tmp_path / "out")
    assert blobs(pickle.loads(pickle.dumps(source))) == blobs(source)


def test_overwrite_without_seek_removes_the_sidecars(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out", shard_bytes=3000)
    tools.convert(small, tmp_path / "out", overwrite=True, seek_step=None)
    assert sorted(os.listdir(tmp_path / "out")) == [
        "index.arrow",
        "index.arrow.xxh3",
        "shard-000000.tar",
    ]


def test_a_missing_or_short_sidecar_still_loads(tools, small, tmp_path):
    out = tmp_path / "out"
    tools.convert(small, out, shard_bytes=9000)
    shards = len(list(out.glob("*.tar")))
    first, second = out / "shard-000000.seek", out / "shard-000001.seek"
    size = first.stat().st_size
    whole = blobs(open_source(out))
    first.write_bytes(first.read_bytes()[:-1])
    texts = [
        (
            f"{first}: size differs (got {size - 1} bytes, want {size}); restore it, or run "
            "fastload index"
        )
    ]
    data, found = blobs(open_source(out))
    lost = [n for n, blob in enumerate(found) if blob is None]
    assert 0 < len(lost) < 7
    assert (data, [b for b in found if b]) == (
        whole[0],
        [b for n, b in enumerate(whole[1]) if n not in lost],
    )
    assert inspect.inspect(str(out)).warnings == texts
    assert inspect.inspect(str(out)).indexed == 7 - len(lost)
    for path in (second, *out.glob("*.seek")):
        path.unlink(missing_ok=True)
    assert blobs(open_source(out)) == (whole[0], [None] * 7)
    text = "cannot be read (No such file or directory); run fastload index again"
    assert damages(out) == [f"{out}/shard-{n:06d}.seek: {text}" for n in range(shards)]
    index(out)
    assert blobs(open_source(out)) == whole


def test_every_flipped_bit_and_every_truncation_of_a_sidecar_is_damage(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out")
    files = open_source(tmp_path / "out").index.sidecars
    path, draw = tmp_path / "out" / "shard-000000.seek", random.Random(2)
    content = path.read_bytes()
    assert verify_shards.check_file(str(tmp_path / "out"), files[0]) == []
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        (damage,) = verify_shards.check_file(str(tmp_path / "out"), files[0])
        assert damage.what.startswith("checksum of the whole file differs (got ")
        path.write_bytes(content[:at])
        (damage,) = verify_shards.check_file(str(tmp_path / "out"), files[0])
        assert (
            damage.what
            == f"size differs (got {at} bytes, want {len(content)}); run fastload index again"
        )
    path.write_bytes(changed)
    text = (
        f"{len(content)}, sample dog/6: checksum of its seek index differs; run fastload index "
        "again"
    )
    assert [damage.split("..")[1] for damage in damages(tmp_path / "out")] == [text]


@pytest.mark.long
def test_killed_at_every_call_while_adding(tools, small, tmp_path, monkeypatch):
    """The data set opens all the time, with the old index or the new one; another run makes it
    whole.
    """
    plain, done = tmp_path / "plain", tmp_path / "done"
    tools.convert(small, plain, shard_bytes=9000, seek_step=None)
    tools.convert(small, done, shard_bytes=9000)
    outcomes = []
    for k in itertools.count(1):
        out = tools.write_tree(tmp_path / f"out{k}", contents(plain))

        def work(k=k, out=out):
            with monkeypatch.context() as patch:
                tools.kill_at(patch, k)
                return index(out).seek.indexed

        said = tools.in_child(work)
        assert verify.verify(verify.prepare(str(out)), 1).damages == ()
        data, found = blobs(open_source(out))
        assert data == blobs(open_source(plain))[0]
        outcomes.append(None not in found)
        if said == 7:
            break
        assert said == -signal.SIGKILL
        index(out)
        assert contents(out) == contents(done)
    assert [whole for whole, _ in itertools.groupby(outcomes)] == [False, True]
    assert len(outcomes) > 12


def test_a_failing_index_leaves_the_data_set_as_it_was(tools, small, tmp_path, monkeypatch):
    out = tmp_path / "out"
    tools.convert(small, out, seek_step=None)
    before = contents(out)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(below.Folder, "write", full)
        with pytest.raises(ConversionError) as refused:
            index(out)
    assert str(refused.value).startswith(
        f"{out}: cannot be written (No space left on device; needs up to "
    )
    assert contents(out) == before


def test_a_damaged_image_has_no_index(tools, small, tmp_path):
    out = tmp_path / "out"
    tools.convert(small, out, seek_step=None)
    content = bytearray((out / "shard-000000.tar").read_bytes())
    content[700] ^= 1
    (out / "shard-000000.tar").write_bytes(content)
    summary = index(out)
    assert (summary.seek.indexed, summary.seek.reasons) == (6, {"is damaged": 1})


def test_foreign_files_beside_shards_stay(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out", seek_step=None)
    (tmp_path / "out" / "README").write_text("mine")
    index(tmp_path / "out")
    assert (tmp_path / "out" / "README").read_text() == "mine"


def test_steps():
    for step in (-1, 65536):
        with pytest.raises(UsageError) as refused:
            job.Options(seek_step=step)
        assert (
            str(refused.value)
            == f"seek step: got {step} (want 0 to 65535 MCUs per entry); the default is 8"
        )
