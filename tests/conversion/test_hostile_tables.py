"""Lists and tables that are damaged or lie."""

import pytest

from fastload.conversion.readers import open_reader
from fastload.conversion.samples import BadSampleError
from fastload.errors import SourceError
from tests.conversion.archives import refused


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("", ["{path}: has no rows; give a list with a header and a row for each image"]),
        (
            "a,b\n1,2\n",
            [
                (
                    "{path}: no column with paths (has a, b, want one of path, file_name, "
                    "filename, image, file); name it so"
                )
            ],
        ),
        (
            "path\nx.jpg\n",
            [
                (
                    "{path}: no column with labels (has path, want one of label, class, "
                    "class_name, target); add it, or pass --labels none"
                )
            ],
        ),
        (
            "path,label\n/etc/passwd,1\n../x.jpg,1\n,1\nx.jpg,\n",
            [
                "{path}, line 2: path '/etc/passwd' is absolute; give it relative to --root",
                "{path}, line 3: path '../x.jpg' leads out of the folder; give it without '..'",
                "{path}, line 4: path '' is no path; correct it",
                "{path}, line 5: has no label; add it, or pass --labels none",
            ],
        ),
        (
            "path,label\nx.jpg,1\nx.jpg,2\n",
            ["{path}: 'x.jpg' is there twice; remove one of its rows"],
        ),
    ],
)
def test_lists(tmp_path, content, texts):
    path = tmp_path / "list.csv"
    path.write_text(content)
    assert refused(path).splitlines() == [text.format(path=path) for text in texts]


def test_lists_that_are_no_text(tmp_path):
    (tmp_path / "list.csv").write_bytes(b"path,label\n\xff,1\n")
    assert refused(tmp_path / "list.csv").startswith(
        f"{tmp_path}/list.csv: cannot be read ('utf-8' codec can't decode byte 0xff"
    )
    (tmp_path / "list.jsonl").write_text("[1]\n")
    assert (
        refused(tmp_path / "list.jsonl")
        == f"{tmp_path}/list.jsonl, line 1: is no JSON object; write one per line"
    )
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    assert refused(tmp_path / "deep.jsonl").startswith(f"{tmp_path}/deep.jsonl: cannot be read (")


def test_tables(tools, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 no table")
    assert refused(path).startswith(f"{path}: cannot be read (")
    pq.write_table(pa.table({"x": [1]}), path)
    assert (
        refused(path)
        == f"{path}: no column with images (has x; want bytes, or a struct with bytes); give "
        "another file"
    )
    pq.write_table(pa.table({"image": [b"x"]}), path)
    want = "label, labels, fine_label, cls, class, target, or a ClassLabel"
    assert (
        refused(path)
        == f"{path}: no column with labels (want one of {want}); add it, or pass --labels none"
    )
    pq.write_table(pa.table({"image": [b"x", b"y"], "label": [1, None]}), path)
    assert refused(path) == f"{path}: 1 of 2 rows have no label; remove them, or pass --labels none"
    pq.write_table(
        pa.table({"image": pa.array([], pa.binary()), "label": pa.array([], pa.int64())}), path
    )
    assert refused(path) == f"{path}: holds no rows; give other files"
    pq.write_table(pa.table({"image": [tools.encode(3, 5), None], "label": [1, 0]}), path)
    reader = open_reader(str(path))
    # Nothing is empty, and listed as such
    assert [reader.read(0), reader.read(1)] == [tools.encode(3, 5), b""]


def test_every_flipped_bit_of_a_tables_page_is_found(tools, small, tmp_path):
    """Parquet's own page checksums, which we write and check."""
    tools.convert_to(small, tmp_path / "out", "parquet")
    path = next((tmp_path / "out").glob("*.parquet"))
    content = bytearray(path.read_bytes())
    want = tools.samples(tmp_path / "out")
    at = bytes(content).index(want[0][1]) + 100
    for bit in range(8):
        content[at] ^= 1 << bit
        path.write_bytes(content)
        content[at] ^= 1 << bit
        with pytest.raises((BadSampleError, SourceError)) as found:
            tools.samples(tmp_path / "out")
        assert "could not verify page integrity, CRC checksum verification failed" in str(
            found.value
        )


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_table_with_paths_in_place_of_images(tmp_path, suffix):
    """As Hugging Face's `to_parquet` writes a folder of images."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    rows = [{"bytes": None, "path": f"cat/{number}.jpg"} for number in range(3)]
    table = pa.table({"image": pa.array(rows, kind), "label": pa.array([0, 0, 0])})
    path = tmp_path / f"x.{suffix}"
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    assert refused(path) == (
        f"{path}: column image holds paths of files, and no image; embed the images before you "
        "write the table (docs/migrate/huggingface.md), or convert their folder"
    )
