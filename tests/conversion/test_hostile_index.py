"""No index makes `open_source` crash, hang, or raise anything but SourceError; no single flipped
bit passes.
"""

import json
import random

import numpy as np
import pyarrow as pa
import pytest

from fastload import _native
from fastload.conversion import index_writer
from fastload.errors import SourceError
from fastload.sources import arrow, open_source, shard_index, shards

from .index_helpers import converted, put, refusal, rewritten


@pytest.fixture
def data(tools, tmp_path):
    return converted(tools, tmp_path)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
def test_flipped_bits_are_found(data, every):
    """One of each byte, or every one."""
    for name in ("index.arrow", "index.arrow.xxh3"):
        content = bytearray((data / name).read_bytes())
        with open(data / name, "r+b", buffering=0) as file:
            for at, byte in enumerate(content):
                for bit in range(8) if every else (at % 8,):
                    file.seek(at)
                    file.write(bytes([byte ^ 1 << bit]))
                    with pytest.raises(SourceError):
                        shards.load(str(data))
                file.seek(at)
                file.write(bytes([byte]))
    assert len(open_source(data)) == 2


@pytest.mark.long
def test_every_truncation_is_found(data):
    for name in ("index.arrow", "index.arrow.xxh3"):
        content = (data / name).read_bytes()
        for length in range(len(content)):
            (data / name).write_bytes(content[:length])
            refusal(data)
        (data / name).write_bytes(content + b"\n")
        refusal(data)
        (data / name).write_bytes(content)
    assert len(open_source(data)) == 2


def test_text_of_a_damaged_index(data):
    content = bytearray((data / "index.arrow").read_bytes())
    want = f"{_native.xxh3(bytes(content)):016x}"
    content[100] ^= 4
    put(data, content, signed=False)
    got = f"{_native.xxh3(bytes(content)):016x}"
    text = (
        f"is damaged (checksum got {got}, index.arrow.xxh3 says '{want}'); restore both, or "
        "convert again"
    )
    assert refusal(data) == f"{data}/index.arrow: {text}"


def test_missing_and_empty_parts(data):
    content = (data / "index.arrow").read_bytes()
    put(data, b"")
    assert refusal(data) == f"{data}/index.arrow: is empty (0 bytes); convert again"
    put(data, content)
    (data / "index.arrow.xxh3").unlink()
    text = "cannot be read (No such file or directory); restore it, or convert again"
    assert refusal(data) == f"{data}/index.arrow.xxh3: {text}"
    (data / "index.arrow").unlink()
    (data / "index.arrow.xxh3").write_bytes(b"x")
    text = "shards without index.arrow, so a conversion did not finish; run fastload convert again"
    assert refusal(data) == f"{data}: {text}"


@pytest.mark.long
def test_signed_mutations_never_crash(data):
    """An attacker can make the checksum fit, so the parser itself must hold. 1500 seeded
    mutations.
    """
    content = (data / "index.arrow").read_bytes()
    draw = random.Random(1)
    opened = 0
    for _ in range(1500):
        changed = bytearray(content)
        for _ in range(draw.choice((1, 1, 2, 8))):
            at = draw.randrange(len(changed) - 8)
            kind = draw.randrange(5)
            if kind == 0:
                changed[at] ^= 1 << draw.randrange(8)
            elif kind == 1:
                changed[at : at + 4] = draw.choice(
                    (0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000)
                ).to_bytes(4, "little")
            elif kind == 2:
                at &= ~7
                changed[at : at + 8] = draw.choice(
                    (0, 2**31, 2**40, 2**62, 2**63 - 1, 2**64 - 1)
                ).to_bytes(8, "little")
            elif kind == 3:
                del changed[at : at + draw.randrange(1, 64)]
            else:
                changed = changed[: at + 8]
            if len(changed) < 16:
                break
        put(data, bytes(changed))
        try:
            source = open_source(data)
        except SourceError:
            continue
        opened += 1
        read_all(source)
    assert opened > 10  # some bits mean nothing: then the data set is as it was


def read_all(source):
    file, offset, size, _, seek, *_ = source.locate(np.arange(len(source)))
    for sample in range(len(source)):
        source.files.read(int(file[sample]), int(offset[sample]), int(size[sample]))
        source.name(sample)
        if seek is not None:
            seek.files.read(
                int(seek.file[sample]), int(seek.offset[sample]), int(seek.size[sample])
            )


def test_two_sums_belong_to_an_index_being_replaced(data):
    line, other = (
        arrow.sum_line(_native.xxh3((data / "index.arrow").read_bytes())),
        b"0123456789abcdef\n",
    )
    for said in (
        line,
        line + other,
        other + line,
    ):  # a line alone: as data sets had it before blocks were said
        (data / "index.arrow.xxh3").write_bytes(said)
        assert len(open_source(data)) == 2
    for said in (
        other + other,
        line + other[:-1],
        line + b"\n",
        other + line + line,
        line + line.upper(),
    ):
        if said != line + line:
            (data / "index.arrow.xxh3").write_bytes(said)
            assert "is damaged (checksum got " in refusal(data)


def test_all_problems_at_once(data):
    change = {"label": pa.array([9, 9]), "offset": pa.array([-1, -1])}
    put(data, rewritten(data, change))
    (data / "shard-000000.tar").write_bytes(b"short")
    size = json.loads(
        pa.ipc.open_file(pa.py_buffer((data / "index.arrow").read_bytes())).schema.metadata[
            b"fastload"
        ]
    )["shards"][0]["bytes"]
    assert refusal(data).splitlines() == [
        f"{data}/index.arrow: bytes outside the shard in 2 of 2 rows (first: row 0); convert again",
        f"{data}/index.arrow: label outside 0..1 in 2 of 2 rows (first: row 0); convert again",
        (
            f"{data}/shard-000000.tar: size differs (got 5 bytes, want {size}); restore it, or "
            "convert again"
        ),
    ]
    (data / "shard-000000.tar").unlink()
    assert refusal(data).splitlines()[2] == (
        f"{data}/shard-000000.tar: cannot be opened (No such file or directory); restore it, or "
        "convert again"
    )


def test_a_large_index_opens(tmp_path):
    """100 000 samples in 20 shards: rows, names and locations at both ends.

    The shards are sparse files.
    """
    count, per = 100_000, 5000
    names = [shard_index.Shard(f"shard-{n:06d}.tar", per * 2048, n) for n in range(count // per)]
    for shard in names:
        with open(tmp_path / shard.name, "wb") as file:
            file.truncate(shard.bytes)
    place = np.arange(count)
    columns = {
        "shard": place // per, "offset": place % per * 2048 + 512, "size": np.full(count, 1000),
        "label": place % 10,
        "height": np.full(count, 3), "width": np.full(count, 5), "checksum": place,
        "index_offset": place * 0, "index_size": place * 0,
    }  # fmt: skip
    arrays = {
        name: pa.array(columns[name].astype(kind)) for name, kind in shard_index.NUMBERS.items()
    }
    arrays["key"] = pa.array([f"c/{n}" for n in range(count)])
    arrays["format"] = pa.array(["png"] * count).dictionary_encode()
    put(
        tmp_path,
        bytes(
            index_writer.encode(
                pa, arrays, index_writer.metadata(count, [str(n) for n in range(10)], names)
            )
        ),
    )
    source = open_source(tmp_path)
    assert len(source) == count
    np.testing.assert_array_equal(source.labels, columns["label"])
    chosen = np.random.default_rng(0).permutation(count)
    file, offset, size, checksum, seek, *_ = source.locate(chosen)
    assert seek is None
    for got, name in ((file, "shard"), (offset, "offset"), (size, "size"), (checksum, "checksum")):
        np.testing.assert_array_equal(got, columns[name][chosen])
    assert source.name(99_999) == f"{tmp_path}/shard-000019.tar:c/99999"
