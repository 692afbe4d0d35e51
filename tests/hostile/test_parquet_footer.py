"""Footers of Parquet files that Arrow takes, and at which it ends the process later."""

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from fastload.conversion.readers import open_reader, table_files
from fastload.errors import SourceError
from fastload.sources import open_source
from tests.sources.format_helpers import image
from tests.sources.parquet_files import table, write

ROWS = 4
HISTOGRAM = b"\x36\x00\x00%c" % (2 * ROWS)  # three numbers: no value is missing
COLUMNS = "column 1 has 2 definition levels, want 3"


@pytest.fixture
def forged(tmp_path):
    """A file whose footer has other bytes in the place of some."""

    def make(there, instead):
        images = [image(number) for number in range(ROWS)]
        path = write(tmp_path / "a.parquet", table(images, list(range(ROWS))), compression="none")
        data = path.read_bytes()
        size = int.from_bytes(data[-8:-4], "little")
        footer, found = data[-8 - size : -8], there in data[-8 - size :]
        assert found
        footer = footer.replace(there, instead, 1)
        path.write_bytes(data[: -8 - size] + footer + len(footer).to_bytes(4, "little") + data[-4:])
        return path

    return make


@pytest.fixture
def lying(forged):
    """Its first column says how many values there are at two levels, and has three."""
    return forged(HISTOGRAM, b"\x26\x00%c" % (2 * ROWS))


@pytest.mark.parametrize("codec", [8, 33, -1])
def test_a_codec_that_there_is_not_is_refused(forged, codec):
    number = 2 * codec if codec >= 0 else -2 * codec - 1
    path = forged(b"\x05bytes\x15\x00", b"\x05bytes\x15%c" % number)
    text = f"column 1 is packed by codec {codec}, want 0 to 7"
    with pytest.raises(SourceError) as error:
        open_source(path)
    assert str(error.value) == f"{path}: cannot be read ({text}); restore it"
    with pytest.raises(ValueError, match=text):
        table_files.opened(str(path))


def test_a_chunk_has_the_name_of_its_column(forged):
    """Looked for by another name, it would pass unchecked."""
    path = forged(b"\x05bytes\x15\x00", b"\x05bytez\x15\x00")
    text = "row group 1 calls column 1 'image.bytez', want 'image.bytes'"
    with pytest.raises(SourceError) as error:
        open_source(path)
    assert str(error.value) == f"{path}: cannot be read ({text}); restore it"
    with pytest.raises(SourceError, match=text):
        open_reader(str(path))


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        (b"\x28\x05image\x05bytes", b"\x2c\x05image\x05bytes"),  # texts, called structs
        (b"\x15\x04\x19", b"\x15\x04\x19\xfc\x80\x89\x3d"),  # a schema of 1,000,000
    ],
)
def test_lists_are_passed_through_before_arrow_believes_them(forged, there, instead):
    """It reads texts whatever the list says, so what came then would pass unchecked; and it takes
    memory for as many items as the list says.
    """
    path = forged(there, instead)
    with pytest.raises(SourceError) as error:
        open_source(path)
    assert str(error.value) == f"{path}: cannot be read (its footer is damaged); restore it"
    with pytest.raises(ValueError, match="its footer is damaged"):
        table_files.opened(str(path))


def test_histograms_that_do_not_fit_are_refused(lying):
    with pytest.raises(SourceError) as error:
        open_source(lying)
    assert str(error.value) == f"{lying}: cannot be read ({COLUMNS}); restore it"


def test_so_are_they_by_conversions(lying):
    with pytest.raises(ValueError, match=COLUMNS):
        table_files.opened(str(lying))
