"""Lance data sets of images as that library writes them, where it is installed."""

import numpy as np
import pyarrow as pa
import pytest

import fastload
from fastload.errors import SourceError
from fastload.sources import fields, lance_library, open_source
from tests.sources import lance_files
from tests.sources.format_helpers import COUNT, encoded_of, error_of, image, label

NUMBERS = range(COUNT)


@pytest.fixture
def lance():
    return pytest.importorskip("lance", reason="the package pylance is not installed")


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_what_lance_writes(lance, tmp_path, version):
    data = fastload.open(lance_files.by_lance(tmp_path / "x.lance", version))
    assert encoded_of(data.pipeline.source) == list(map(image, NUMBERS))
    assert data.targets == list(map(label, NUMBERS))


def test_images_in_files_of_their_own(lance, tmp_path):
    """Larger ones, in files of version 2.2: many together, and one each."""
    sizes = {4: 100_000, 5: 80_000, 6: 4_300_000, 11: 4_200_000, 12: 4_500_000}
    images = [image(n) + bytes(sizes.get(n, 0)) for n in NUMBERS]
    path = lance_files.by_lance(tmp_path / "x.lance", "2.2", images)
    source = open_source(path)
    assert encoded_of(source) == images
    assert len(source.paths) == 3 + 1 + 3


def test_what_is_done_to_a_data_set(lance, tmp_path):
    """Rows are deleted and appended, columns added, all is overwritten: each a new version."""
    path = lance_files.by_lance(tmp_path / "x.lance")
    data = lance.dataset(str(path))
    assert fastload.open(path).targets == list(map(label, NUMBERS))
    data.delete("label = 1 or label = 4")
    kept = [n for n in NUMBERS if label(n) not in (1, 4)]
    assert encoded_of(fastload.open(path).pipeline.source) == list(map(image, kept))
    data.add_columns({"more": "label + 100"})
    more = fastload.open(path, fields=("image", "more"), target=("more", "label"))
    assert more.targets == [label(n) + 100 for n in kept]
    assert more[2][1] == {"more": label(2) + 100, "label": label(2) + 100}
    lance.write_dataset(data.to_table(columns=["label"]).slice(0, 0), str(tmp_path / "empty.lance"))
    data = lance.dataset(str(lance_files.by_lance(tmp_path / "y.lance", rows=COUNT)))
    data.optimize.compact_files()
    assert len(fastload.open(tmp_path / "y.lance")) == COUNT


def test_large_values_are_read_a_few_at_a_time(lance, tmp_path, monkeypatch):
    monkeypatch.setattr("fastload.system.limits.AT_ONCE", 5000)
    raw = [b"%d" % n * 500 for n in NUMBERS]
    path = lance_files.by_lance(tmp_path / "x.lance", raw=raw)
    table = lance_library.opened(str(path))
    assert {len(batch) for batch in table.batches(["image"], 0)} == {10}
    assert max(len(batch) for batch in table.batches(["raw"], 0)) < 10
    source = open_source(path, target=("raw",))
    assert fields.values(source, source.fields[0], np.array([3, 22])) == [raw[3], raw[22]]


def test_what_is_no_column_of_blobs(lance, tmp_path):
    table = pa.table({"image": [image(0)], "label": [1]})
    lance.write_dataset(table, str(tmp_path / "x.lance"))
    assert error_of(tmp_path / "x.lance") == (
        f"{tmp_path}/x.lance: column 'image' is no column of blobs, and of others Lance does not "
        'tell where their values lie; write it again with the field metadata {"lance-encoding:blob"'
        ': "true"}, or write Parquet (docs/migrate/lance.md), and open that'
    )


def test_blobs_at_a_uri_and_clones(lance, tmp_path):
    (tmp_path / "0.jpg").write_bytes(image(0))
    blobs = lance.blob_array([image(1), lance.Blob.from_uri(f"file://{tmp_path}/0.jpg")])
    table = pa.table(
        {"image": blobs, "label": [1, 2]},
        schema=pa.schema([lance.blob_field("image"), pa.field("label", pa.int64())]),
    )
    path = tmp_path / "x.lance"
    lance.write_dataset(
        table, str(path), data_storage_version="2.2", allow_external_blob_outside_bases=True
    )
    assert error_of(path) == (
        f"{path}: row 1 has its image at a URI, which is not followed; write the data set again "
        'with external_blob_mode="ingest"'
    )
    whole = lance.dataset(str(lance_files.by_lance(tmp_path / "y.lance")))
    whole.shallow_clone(str(tmp_path / "z.lance"), whole.version)
    assert error_of(tmp_path / "z.lance") == (
        f"{tmp_path}/z.lance: has files in other folders or stores, as a shallow clone has; make a "
        "deep clone of it"
    )


@pytest.mark.parametrize("bytes_", [8, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["_versions/*.manifest", "data/*.lance"])
def test_damaged_files(lance, tmp_path, kind, bytes_):
    """One byte is another, at places all over the file and in its last, which describes it."""
    path = lance_files.by_lance(tmp_path / "x.lance", rows=COUNT)
    (file,) = path.glob(kind)
    data = file.read_bytes()
    ends = np.linspace(len(data) - 400, len(data) - 1, bytes_, dtype=int)
    for at in [*np.linspace(0, len(data) - 1, bytes_, dtype=int), *ends]:
        file.write_bytes(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
        try:
            found = fastload.open(path)
        except SourceError as error:
            assert str(error).startswith(str(path))  # noqa: PT017 - either may be
        else:
            assert 0 < len(found) <= COUNT
