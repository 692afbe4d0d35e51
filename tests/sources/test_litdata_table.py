"""LitData's chunks whose samples are in a table of Arrow, as it writes dicts of plain values."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastload
from tests.sources.format_helpers import (
    COUNT,
    check_damaged,
    check_same_as_a_folder,
    encoded_of,
    image,
    label,
    refused,
)  # fmt: skip
from tests.sources.litdata_files import LEAF, chunk, config, described, of_dict, write

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

SPEC = of_dict(name=LEAF, image=LEAF, boxes=LEAF, small=LEAF, label=LEAF)
SETTINGS = config(("str", "bytes", "json", "bytes", "int"), SPEC)
WHOLE = [
    {
        "name": f"photo {number}", "image": image(number),
        "boxes": [{"x": 0.5, "tags": ["a"], "none": None}] * (number % 3),
        "small": b"x" * number, "label": label(number),
    }
    for number in range(COUNT)
]  # fmt: skip


def table(rows, batch=5, schema=None, **options):
    """The bytes of a chunk."""
    made = pa.Table.from_pylist(rows, schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, made.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        for start in range(0, len(rows), batch):
            out.write_table(made.slice(start, batch))
    data = sink.getvalue().to_pybytes()
    return chunk([b""] * len(rows), data + struct.pack("<I8s", len(data), b"LDARW01\0"))


def one(folder, data, samples, settings=SETTINGS):
    return write(folder, {"chunk-0-0.bin": data}, [described("chunk-0-0.bin", samples)], settings)


def test_the_batches_are_those_of_a_folder(tmp_path):
    parts = {"chunk-0-0.bin": WHOLE[:9], "chunk-0-1.bin": WHOLE[9:]}
    path = write(
        tmp_path / "l",
        {name: table(rows) for name, rows in parts.items()},
        [described(name, len(rows)) for name, rows in parts.items()],
        SETTINGS,
    )
    check_same_as_a_folder(path, tmp_path / "images")


def test_columns_by_name(tmp_path):
    rows = [{"a": image(1), "b": 1, "c": image(2), "d": -2}]
    settings = config(("bytes", "int", "bytes", "int"), of_dict(a=LEAF, b=LEAF, c=LEAF, d=LEAF))
    path = one(tmp_path, table(rows), 1, settings)
    chosen = fastload.open(path, fields=("c", "d"))
    assert encoded_of(chosen.pipeline.source) == [image(2)]
    assert chosen.targets == [-2]


ROW = {"image": image(1), "label": 1}
SMALL = config(("bytes", "int"), of_dict(image=LEAF, label=LEAF))
INT32 = [("image", pa.binary()), ("label", pa.int32())]
LARGE = [("image", pa.large_binary()), ("label", pa.int64())]
DAYS = [("day", pa.date32()), ("image", pa.binary()), ("label", pa.int64())]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (chunk([b""], table([ROW] * 2)[16:]), "has 2 samples, want 1; write the data set"),
        (table([ROW], compression="zstd"), "its record batches are compressed, want optimize(…,"),
        (table([{"image": image(1)}]), "it has no column 'label' of int64, has 'image'); write th"),
        (table([ROW], schema=pa.schema(INT32)), "it has no column 'label' of int64, has 'image',"),
        (table([ROW], schema=pa.schema(LARGE)), "it has no column 'image' of bytes, has 'image',"),
        (table([ROW], schema=pa.schema(DAYS)), "it has a column of type 8, too many columns, or t"),
        (table([{**ROW, "label": None}], schema=pa.schema(INT32[:1] + LARGE[1:])), "1 values are"),
        (table([{**ROW, "image": b""}]), "it has images that are empty"),
        (table([{**ROW, "image": b"x"}]), "leaf 'image' is no encoded image (begins with 78, want"),
        (chunk([b""], struct.pack("<I8s", 1 << 30, b"LDARW01\0")), "it has 1073741824 bytes in 24"),
        (chunk([b""], struct.pack("<I8s", 0, b"LDARW01\0")), "it has 0 bytes in 24); write the da"),
        (chunk([b""], b"x" * 50 + struct.pack("<I8s", 50, b"LDARW01\0")), "it does not end as an"),
    ],
)  # fmt: skip
def test_tables_that_are_refused(tmp_path, data, error):
    samples = struct.unpack_from("<I", data)[0]
    text = refused(one(tmp_path, data, samples, SMALL))
    assert text.startswith(f"{tmp_path}/chunk-0-0.bin: ")
    assert error in text


DATA = table([{"image": image(number), "label": number, "z": [number]} for number in range(4)], 2)


@given(data=st.data())
def test_damaged_tables(tmp_path_factory, data):
    """In the images, in Arrow's metadata at the end, and anywhere."""
    whole = bytearray(DATA)
    for _ in range(data.draw(st.integers(0, 6))):
        back = data.draw(st.integers(1, 700) | st.integers(1, len(whole)))
        whole[-back] = data.draw(st.sampled_from([0, 1, 4, 8, 127, 255]) | st.integers(0, 255))
    whole = whole[: data.draw(st.just(len(whole)) | st.integers(0, len(whole)))]
    settings = config(("bytes", "int", "json"), of_dict(image=LEAF, label=LEAF, z=LEAF))
    path = one(tmp_path_factory.mktemp("damaged"), bytes(whole), 4, settings)
    check_damaged(path, "chunk-0-0.bin: ")


def test_what_litdata_writes(tmp_path):
    pytest.importorskip("litdata", reason="litdata is not installed; it wants other torch")
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(str(tmp_path / "l"), chunk_bytes=1 << 15)
    for number, row in enumerate(WHOLE):
        writer[number] = row
    writer.done()
    writer.merge()
    path = tmp_path / "l" / "chunk-0-0.bin"
    assert path.read_bytes()[-8:] == b"LDARW01\0"
    check_same_as_a_folder(tmp_path / "l", tmp_path / "images")
