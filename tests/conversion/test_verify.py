"""verify finds every flipped bit and names it: file, bytes, sample."""

import os
import random
import re

import numpy as np
import pytest

from fastload.conversion import verify, verify_shards
from fastload.errors import SourceError
from fastload.sources import sums


def check(folder, count=1):
    return verify.verify(verify.prepare(str(folder)), count)


@pytest.fixture
def data(tools, tmp_path):
    """Two small images, one with a long name, in one shard."""
    files = {
        "a/0.png": tools.encode(2, 3, format="PNG"),
        f"b/{'n' * 120}.png": tools.encode(3, 2, 1, format="PNG"),
    }
    tools.convert(tools.write_tree(tmp_path / "in", files), tmp_path / "out")
    return tmp_path / "out"


def test_an_intact_data_set(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out", shard_bytes=5000)
    seen = []
    report = verify.verify(
        verify.prepare(str(tmp_path / "out")), 2, lambda images, count: seen.append((images, count))
    )
    size, aside = (
        sum(path.stat().st_size for path in (tmp_path / "out").glob(names))
        for names in ("*.tar", "*.seek")
    )
    assert report == verify.Report("shards", 1 + 2 * len(seen), 7, size + aside, ())
    assert np.array(seen).sum(axis=0).tolist() == [7, size]


@pytest.mark.long
def test_flipped_bits_of_every_byte_of_a_shard_are_found_and_named(data):
    draw = random.Random(5)
    index = verify.prepare(str(data))
    (rows,) = verify.rows_of(index)
    content = bytearray((data / "shard-000000.tar").read_bytes())
    view = memoryview(content)
    ranges = [
        (int(index.columns["offset"].all()[n]), int(index.columns["size"].all()[n]))
        for n in range(2)
    ]
    assert verify_shards.check_shard(index, 0, rows, view) == []
    for at in range(len(content)):
        for bit in draw.sample(range(8), 1):  # one of the bits of every byte
            content[at] ^= 1 << bit
            (damage,) = verify_shards.check_shard(index, 0, rows, view)
            content[at] ^= 1 << bit
            payload = [n for n, (offset, size) in enumerate(ranges) if offset <= at < offset + size]
            if payload:
                offset, size = ranges[payload[0]]
                assert (damage.start, damage.end, damage.key) == (
                    offset,
                    offset + size,
                    index.key(payload[0]),
                )
            else:
                assert (damage.start, damage.end, damage.what) == (
                    at,
                    at + 1,
                    "tar header, label or padding differs",
                )


def test_every_truncation_of_a_shard_is_found(data):
    index = verify.prepare(str(data))
    (rows,) = verify.rows_of(index)
    content = (data / "shard-000000.tar").read_bytes()
    for length in [*range(0, len(content), 5), *range(511, len(content), 512)]:
        found = verify_shards.check_shard(index, 0, rows, memoryview(content[:length]))
        assert (
            length,
            len(content),
            f"size differs (got {length} bytes, want {len(content)})",
        ) in [(d.start, d.end, d.what) for d in found]
        cut = {d.key for d in found if d.what == f"is cut off (the shard ends at byte {length})"}
        ends = index.columns["offset"].all() + index.columns["size"].all()
        assert cut == {index.key(n) for n in range(2) if ends[n] > length}
    longer = verify_shards.check_shard(index, 0, rows, memoryview(content + b"xyz"))
    assert [(d.start, d.end) for d in longer] == [(len(content), len(content) + 3)]


def test_texts(tools, small, tmp_path):
    out = tmp_path / "out"
    tools.convert(small, out, shard_bytes=5000)
    shards = sorted(out.glob("*.tar"))
    content = bytearray(shards[0].read_bytes())
    content[600] ^= 2
    content[0] ^= 2
    shards[0].write_bytes(content)
    shards[1].unlink()
    report = check(out, count=2)
    size = next(m for m in [re.search(r"bytes 512\.\.(\d+)", str(d)) for d in report.damages] if m)[
        1
    ]
    texts = [re.sub(r"[0-9a-f]{16}", "HASH", str(damage)) for damage in report.damages]
    assert texts == [
        f"{shards[0]}, bytes 0..1, sample cat/1: tar header, label or padding differs",
        (
            f"{shards[0]}, bytes 512..{size}, sample cat/1: checksum of the image differs (got "
            "HASH, want HASH)"
        ),
        f"{shards[1]}: cannot be read (No such file or directory); restore it, or convert again",
    ]


def test_swapped_shards_are_found(tools, tmp_path):
    """Same size, valid tar: only the checksums know."""
    image = tools.encode(7, 9)
    files = {f"c/{n}.jpg": image[:-2] + bytes([n]) + image[-2:] for n in range(2)}
    tools.convert(
        tools.write_tree(tmp_path / "in", files), tmp_path / "out", shard_bytes=1024, check="none"
    )
    one, two = sorted((tmp_path / "out").glob("*.tar"))
    os.rename(one, tmp_path / "x")
    os.rename(two, one)
    os.rename(tmp_path / "x", two)
    report = check(tmp_path / "out")
    assert {os.path.basename(damage.file) for damage in report.damages} == {one.name, two.name}


def test_a_damaged_index_is_a_damage(data):
    content = bytearray((data / "index.arrow").read_bytes())
    content[-1] ^= 1
    (data / "index.arrow").write_bytes(content)
    (damage,) = check(data).damages
    text = "checksum of these bytes of the index differs; restore them, or convert again"
    assert str(damage) == f"{data}/index.arrow, bytes 0..{len(content)}: {text}"
    # No blocks: it is damaged somewhere
    (data / "index.arrow.xxh3").write_bytes(b"0123456789abcdef\n")
    (damage,) = check(data).damages
    assert str(damage).startswith(f"{data}/index.arrow: is damaged (checksum got ")


def test_each_flipped_bit_of_an_index_is_found_in_its_block(data, monkeypatch):
    monkeypatch.setattr(sums, "BLOCK", 256)
    content = (data / "index.arrow").read_bytes()
    (data / "index.arrow.xxh3").write_bytes(sums.text(content))
    for at in range(0, len(content), 11):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        (data / "index.arrow").write_bytes(damaged)
        (damage,) = check(data).damages
        assert damage.start <= at < damage.end <= damage.start + 256
    (data / "index.arrow").write_bytes(content[:600])
    (damage,) = check(data).damages
    assert (damage.start, damage.end) == (512, (len(content) + 255) // 256 * 256)


def test_a_disk_error_is_named_and_the_rest_is_read(tools, small, tmp_path, monkeypatch):
    tools.convert(small, tmp_path / "out")
    monkeypatch.setattr(verify_shards, "READ", 1024)
    real = os.preadv

    def failing(file, buffers, offset):
        if offset == 1024:
            raise OSError(5, "Input/output error")
        return real(file, buffers, offset)

    monkeypatch.setattr(os, "preadv", failing)
    report = check(tmp_path / "out")
    path = tmp_path / "out" / "shard-000000.tar"
    texts = [str(damage) for damage in report.damages]
    assert f"{path}, bytes 1024..2048: cannot be read (Input/output error); check the disk" in texts
    assert max(damage.end for damage in report.damages if damage.end != path.stat().st_size) < 4096


def test_a_folder_is_decoded(tools, small, tmp_path):
    assert check(small).damages == ()
    (small / "cat" / "a.jpg").write_bytes(b"")
    (small / "dog" / "b.png").write_bytes(tools.encode(30, 40, format="PNG")[:900])
    report = check(small, count=2)
    assert (report.kind, report.files, report.samples) == ("folder", 9, 9)
    assert [str(damage) for damage in report.damages] == [
        f"{small}/cat/a.jpg: is empty (0 bytes); mend or remove the file",
        f"{small}/dog/b.png: cannot be decoded (image file is truncated); mend or remove the file",
    ]


def test_nothing_to_verify(tmp_path):
    with pytest.raises(SourceError) as refused:
        verify.prepare(str(tmp_path / "none"))
    assert str(refused.value) == f"{tmp_path}/none: does not exist; check the path"
