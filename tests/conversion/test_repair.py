"""verify names what is damaged, down to one bit; repair makes it again from the source, and nothing
else.
"""

import os
import random

import pytest

from fastload.conversion import editing, repair, verify, verify_shards
from fastload.conversion.readers import open_reader
from fastload.errors import ConversionError, SourceError
from fastload.sources import open_source


def damages(folder):
    return verify.verify(verify.prepare(str(folder)), 1).damages


def mend(where, source, **edits):
    return repair.run(str(where), open_reader(str(source)), editing.Edits(**edits), 1)


def flip(path, at, bit=0):
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit]))


@pytest.fixture
def pairs(tools, tmp_path):
    files = {f"images/{n}.jpg": tools.encode(8 + n, 13, n) for n in range(4)}
    files |= {f"masks/{n}.png": tools.encode(8 + n, 13, n + 50, "L", "PNG") for n in range(4)}
    return tools.write_tree(tmp_path / "pairs", files)


@pytest.mark.long
def test_10000_flipped_bits_of_shards_with_extras_are_found_and_named(tools, pairs, tmp_path):
    out = tmp_path / "out"
    tools.convert_to(pairs, out, "shards")
    index = verify.prepare(str(out))
    (rows,) = verify.rows_of(index)
    content = bytearray((out / "shard-000000.tar").read_bytes())
    spans = {}
    for row in range(4):
        offset, size = (int(index.columns[name].all()[row]) for name in ("offset", "size"))
        spans |= {
            at: (offset, offset + size, index.key(row)) for at in range(offset, offset + size)
        }
        for extra in index.extras[row]:
            spans |= {
                at: (extra.offset, extra.offset + extra.size, index.key(row))
                for at in range(extra.offset, extra.offset + extra.size)
            }
    draw, view = random.Random(1), memoryview(content)
    for _ in range(10_000):
        at, bit = draw.randrange(len(content)), draw.randrange(8)
        content[at] ^= 1 << bit
        (damage,) = verify_shards.check_shard(index, 0, rows, view)
        content[at] ^= 1 << bit
        where = spans.get(at)
        assert (
            (damage.start, damage.end, damage.key) == where
            if where
            else (damage.start, damage.end) == (at, at + 1)
        )
    assert verify_shards.check_shard(index, 0, rows, view) == []


def test_every_bit_of_the_index_header_and_10000_of_its_body_are_found(tools, small, tmp_path):
    out = tmp_path / "out"
    tools.convert_to(small, out, "shards", shard_bytes=5000)
    path = out / "index.arrow"
    content = bytearray(path.read_bytes())
    header = 2048  # the magic, and the schema with its metadata
    draw = random.Random(2)
    bits = [(at, bit) for at in range(header) for bit in range(8)]
    bits += [(draw.randrange(header, len(content)), draw.randrange(8)) for _ in range(10_000)]
    checked = memoryview(content)
    from fastload import _native

    whole = _native.xxh3(checked)
    for at, bit in bits:
        content[at] ^= 1 << bit
        assert _native.xxh3(checked) != whole  # what every open compares
        content[at] ^= 1 << bit
    for at, bit in draw.sample(bits, 60):  # and that it does
        flip(path, at, bit)
        with pytest.raises(SourceError):
            open_source(out)
        (damage,) = damages(out)
        assert (damage.start, damage.what.split(";")[0]) == (
            0,
            "checksum of these bytes of the index differs",
        )
        flip(path, at, bit)
    assert damages(out) == ()


def test_a_damaged_seek_index_is_named_with_its_sample(tools, tmp_path):
    root = tools.write_tree(
        tmp_path / "in", {f"c/{n}.jpg": tools.encode(90 + n, 130, n) for n in range(3)}
    )
    out = tmp_path / "out"
    tools.convert_to(root, out, "shards")
    index = open_source(out).index
    path, size = out / "shard-000000.seek", (out / "shard-000000.seek").stat().st_size
    places = [
        (int(index.columns["index_offset"].all()[n]), int(index.columns["index_size"].all()[n]))
        for n in range(3)
    ]
    for at in range(0, size, 7):
        flip(path, at, at % 8)
        (damage,) = damages(out)
        flip(path, at, at % 8)
        mine = [n for n, (start, length) in enumerate(places) if start <= at < start + length]
        if mine:
            start, length = places[mine[0]]
            assert str(damage) == (
                f"{path}, bytes {start}..{start + length}, sample c/{mine[0]}: checksum of its "
                "seek index differs; run fastload index again"
            )
        else:
            assert (damage.start, damage.end, damage.key) == (0, size, None)
    flip(path, 3)
    flip(path, places[1][0] + 5)
    done = mend(out, root)
    assert (done.files, done.samples) == (("shard-000000.seek",), 0)
    assert damages(out) == ()


@pytest.mark.parametrize("shuffle", [None, 3])
def test_only_what_is_damaged_is_made_again(tools, small, tmp_path, shuffle):
    out = tmp_path / "out"
    tools.convert_to(small, out, "shards", shard_bytes=5000, shuffle=shuffle)
    before = tools.contents(out)
    assert mend(out, small) == repair.RepairSummary((), 0, 0)
    shards = sorted(out.glob("*.tar"))
    flip(shards[0], 700)
    flip(shards[1], 3)  # a header: nothing has to come from the source
    shards[-1].unlink()
    times = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    lost = int((open_index(out).columns["shard"].all() == len(shards) - 1).sum())
    done = mend(out, small)
    assert set(done.files) == {shards[0].name, shards[1].name, shards[-1].name}
    assert done.samples == 1 + lost
    assert tools.contents(out) == before
    kept = {path.name for path in out.iterdir()} - set(done.files)
    assert all((out / name).stat().st_mtime_ns == times[name] for name in kept)


def open_index(folder):
    return verify.prepare(str(folder))


def test_extras_and_edits_are_made_again(tools, pairs, tmp_path):
    out = tmp_path / "out"
    tools.convert_to(pairs, out, "shards", edits=editing.Edits(max_side=9))
    before = tools.contents(out)
    (out / "shard-000000.tar").unlink()
    with pytest.raises(ConversionError) as refused:
        mend(out, pairs)
    assert "sample 0: the source has other bytes (checksum got " in str(refused.value)
    assert mend(out, pairs, max_side=9).samples == 8
    assert tools.contents(out) == before


def test_what_cannot_be_mended_is_said_and_the_rest_is_mended(tools, small, tmp_path):
    out = tmp_path / "out"
    tools.convert_to(small, out, "shards", shard_bytes=5000)
    shards = sorted(out.glob("*.tar"))
    (small / "cat" / "1.JPEG").unlink()
    flip(shards[0], 700)
    flip(shards[-1], 700)
    with pytest.raises(ConversionError) as refused:
        mend(out, small)
    assert str(refused.value).splitlines() == [
        f"{out}: 1 files mended, 1 not",
        f"{shards[0]}: sample cat/1: is not in {small}; give the source of the conversion",
    ]
    assert {os.path.basename(damage.file) for damage in damages(out)} == {shards[0].name}
    flip(out / "index.arrow", 100)
    with pytest.raises(ConversionError) as refused:
        mend(out, small)
    assert str(refused.value).endswith("; convert the source again, with --overwrite")


def test_what_has_no_checksums_is_decoded(tools, small, tmp_path):
    (small / "cat" / "9.jpg").write_bytes(b"no image")
    tools.convert_to(small, tmp_path / "out", "webdataset", check="none")
    report = verify.verify(verify.prepare(str(tmp_path / "out")), 1)
    assert (report.kind, report.samples) == ("samples", 8)
    (damage,) = report.damages
    assert (damage.what, damage.file) == (
        "is no image that Pillow knows; mend or remove the file",
        f"{tmp_path}/out:cat/9",
    )
