"""Arrow files that are no index of fastload's: other schemas, metadata, columns and sidecars."""

import pyarrow as pa
import pytest

from .index_helpers import converted, put, refusal, rewritten


@pytest.fixture
def data(tools, tmp_path):
    return converted(tools, tmp_path)


def test_other_arrow_files(data):
    path = f"{data}/index.arrow"
    plain = pa.table({"x": [1, 2]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, plain.schema) as writer:
        writer.write_table(plain)
    put(data, sink.getvalue().to_pybytes())
    assert (
        refusal(data)
        == f"{path}: is an Arrow file of another program (no metadata 'fastload'); give a "
        "converted data set"
    )
    for content in (
        b"x",
        b"ARROW1\0\0",
        b"ARROW1\0\0ARROW1",
        b"PAR1" * 9,
        bytes(100),
        b"\xff" * 5000,
    ):
        put(data, content)
        assert refusal(data).startswith(f"{path}: is not a fastload index (")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            {"version": 2},
            "format version is 2, this fastload reads 1; use the fastload that wrote it",
        ),
        ({"samples": 3}, "a record batch has 2 rows and 0 nulls, want 3 and 0; convert again"),
        (
            {"samples": 2**62},
            f"has 1 record batches, want {2**50} for {2**62} samples; convert again",
        ),
        ({"samples": 4097}, "has 1 record batches, want 2 for 4097 samples; convert again"),
        ({"samples": 0}, "holds no samples; convert again"),
        ({"samples": True}, "holds no samples; convert again"),
        ({"shards": []}, "holds no samples; convert again"),
        ({"classes": [1]}, "is not a fastload index (a class name is not text); convert again"),
        (
            {"classes": None},
            "is not a fastload index ('NoneType' object is not iterable); convert again",
        ),
        (
            {"shards": [{"name": "../in/a.tar", "bytes": 5, "xxh3": "0"}]},
            "is not a fastload index (shard '../in/a.tar' of 5 bytes); convert again",
        ),
        (
            {"shards": [{"name": "shard-000000.tar", "bytes": -5, "xxh3": "0"}]},
            "is not a fastload index (shard 'shard-000000.tar' of -5 bytes); convert again",
        ),
    ],
)
def test_metadata(data, text, said):
    put(data, rewritten(data, text=text))
    assert refusal(data) == f"{data}/index.arrow: {said}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"offset": pa.array([512, 2**63 - 1])},
            "bytes outside the shard in 1 of 2 rows (first: row 1); convert again",
        ),
        (
            {"size": pa.array([2**63 - 1, 2**63 - 1])},
            "bytes outside the shard in 2 of 2 rows (first: row 0); convert again",
        ),
        (
            {"size": pa.array([5, 0])},
            "bytes outside the shard in 1 of 2 rows (first: row 1); convert again",
        ),
        (
            {"offset": pa.array([-1, -(2**63)])},
            "bytes outside the shard in 2 of 2 rows (first: row 0); convert again",
        ),
        (
            {"shard": pa.array([0, 1], pa.int32())},
            "bytes outside the shard in 1 of 2 rows (first: row 1); convert again",
        ),
        (
            {"shard": pa.array([-(2**31), 0], pa.int32())},
            "bytes outside the shard in 1 of 2 rows (first: row 0); convert again",
        ),
        (
            {"label": pa.array([0, 2])},
            "label outside 0..1 in 1 of 2 rows (first: row 1); convert again",
        ),
        (
            {"label": pa.array([-1, 0])},
            "label outside 0..1 in 1 of 2 rows (first: row 0); convert again",
        ),
        (
            {"size": pa.array([1, 2], pa.int32())},
            "has other columns than version 1 of the format; convert again",
        ),
        (
            {"more": pa.array([1, 2])},
            "has other columns than version 1 of the format; convert again",
        ),
    ],
)
def test_columns(data, change, said):
    put(data, rewritten(data, change))
    assert refusal(data) == f"{data}/index.arrow: {said}"


@pytest.mark.parametrize(
    ("at", "size"), [(0, 9), (16, 2**63 - 1), (2**63 - 1, 2), (-1, 1), (16, -1), (16, 10_000)]
)
def test_seek_index_outside_the_sidecar(data, at, size):
    put(
        data,
        rewritten(data, {"index_offset": pa.array([0, at]), "index_size": pa.array([0, size])}),
    )
    assert (
        refusal(data)
        == f"{data}/index.arrow: seek index outside the sidecar in 1 of 2 rows (first: row 1); "
        "convert again"
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "seek index outside the sidecar in 2 of 2 rows (first: row 0); convert again"),
        (
            [{"name": "../x.seek", "bytes": 5, "xxh3": "0"}],
            "is not a fastload index (sidecar '../x.seek' of 5 bytes); convert again",
        ),
        (
            [{"name": "shard-000000.seek", "bytes": 5, "xxh3": "0"}] * 2,
            "is not a fastload index (2 sidecars for 1 shards); convert again",
        ),
    ],
)
def test_sidecars_in_the_metadata(data, files, said):
    put(data, rewritten(data, text={"sidecars": files}))
    assert refusal(data) == f"{data}/index.arrow: {said}"


@pytest.mark.parametrize("said", [-1, 3, 1.5, True, "2", [1]])
def test_how_many_were_transcoded_in_the_metadata(data, said):
    put(data, rewritten(data, text={"transcoded": said}))
    assert (
        refusal(data)
        == f"{data}/index.arrow: is not a fastload index ({said!r} of 2 samples transcoded); "
        "convert again"
    )


def test_compressed_index_is_refused(data):
    put(data, rewritten(data, options=pa.ipc.IpcWriteOptions(compression="zstd")))
    assert (
        refusal(data)
        == f"{data}/index.arrow: is not a fastload index (a record batch is compressed); convert "
        "again"
    )
