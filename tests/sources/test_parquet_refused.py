"""Parquet that is well made and not read: what is encrypted, named twice, or of another type."""

import base64
import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastload
from fastload.conversion.readers import tables
from fastload.conversion.readers.base import Choice
from fastload.errors import SourceError
from fastload.sources import open_source
from fastload.sources.thrift import BINARY, Thrift
from tests.sources.format_helpers import image, refused
from tests.sources.parquet_files import write

COUNT = 3
IMAGES = [image(number) for number in range(COUNT)]


def of(**columns):
    return pa.table({"image": IMAGES, **columns})


def encrypted(path, *, plaintext_footer):
    keys = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(keys.KmsClient):
        def __init__(self, config):
            keys.KmsClient.__init__(self)

        def wrap_key(self, key, master):
            return base64.b64encode(key)

        def unwrap_key(self, key, master):
            return base64.b64decode(key)

    config = keys.EncryptionConfiguration(
        footer_key="a", column_keys={"b": ["image"]}, plaintext_footer=plaintext_footer
    )
    made = keys.CryptoFactory(Keys).file_encryption_properties(keys.KmsConnectionConfig(), config)
    whole = of(label=[0] * COUNT)
    with pq.ParquetWriter(path, whole.schema, encryption_properties=made) as writer:
        writer.write_table(whole)
    return path


def test_encrypted_columns_do_not_end_the_process(tmp_path):
    """Arrow ends it where metadata of such a column are asked for."""
    path = encrypted(tmp_path / "a.parquet", plaintext_footer=True)
    error = f"{path}: has encrypted columns (want plain ones); write it again without encryption"
    assert refused(path) == error
    with pytest.raises(SourceError) as raised:
        tables.open_reader(str(path), [str(path)], Choice())
    assert str(raised.value) == error


def test_encrypted_files(tmp_path):
    assert "Could not read encrypted" in refused(
        encrypted(tmp_path / "a.parquet", plaintext_footer=False)
    )


def test_two_columns_of_one_name(tmp_path):
    twins = pa.Table.from_arrays([pa.array(IMAGES)] * 2, names=["image", "image"])
    path = write(tmp_path / "a.parquet", twins)
    assert refused(path) == (
        f"{path}: has 2 columns called 'image'; write it again with a name for each"
    )


@pytest.mark.parametrize("labels", [[1.0] * COUNT, [dt.date(2026, 1, 1)] * COUNT])
def test_labels_of_another_type_are_not_passed_over(tmp_path, labels):
    """All images would be of one class, and nobody told."""
    path = write(tmp_path / "a.parquet", of(label=labels))
    kind = pa.array(labels).type
    assert refused(path) == (
        f"{path}: has no column 'label' of labels (has 'image' (binary), 'label' ({kind}); labels "
        "are integers or text); name the columns with images and labels: fields=(IMAGE, LABEL)"
    )


def test_lists_of_labels_are_for_target(tmp_path):
    path = write(tmp_path / "a.parquet", of(label=[[1, 2]] * COUNT))
    source = open_source(str(path))
    assert source.classes == ("unlabelled",)


def test_labels_beyond_64_bits(tmp_path):
    path = write(tmp_path / "a.parquet", of(label=pa.array([1 << 63] * COUNT, pa.uint64())))
    assert refused(path) == f"{path}: column label has a label of 2**63 or more; correct it"


@pytest.mark.parametrize(
    ("value", "kind"),
    [(dt.datetime(2026, 1, 1), "timestamp[us]"), ([b"x"], "list<element: binary>")],
)
def test_values_that_are_no_json(tmp_path, value, kind):
    values = [value] * COUNT
    path = write(tmp_path / "a.parquet", of(when=values))
    with pytest.raises(SourceError) as raised:
        fastload.open(str(path), target="when")
    assert str(raised.value) == (
        f"{path}: column 'when' is of type {kind} (want text, numbers, bytes, or "
        "lists and structs of text and numbers); name another column"
    )


STRUCT = bytes([0x15, 6, 0x19, 0x2C, 0x15, 2, 0, 0x25, 2, 0, 0x1B, 1, 0x85, 1, 97, 2, 0x11, 0])


def test_the_fields_of_a_thrift_struct():
    """An i32; a list of structs with an i32 each, fields 1 and 2; a map of a text; a truth."""
    assert Thrift(STRUCT).paths() == {(1,), (2,), (2, 1), (2, 2), (3,), (4,)}


@pytest.mark.parametrize("length", range(len(STRUCT)))
def test_a_thrift_struct_that_is_cut_off(length):
    with pytest.raises(IndexError):
        Thrift(STRUCT[:length]).paths()


@pytest.mark.parametrize(
    "data",
    [
        b"\x19\xf5\xff\xff\xff\xff\x0f\x00",  # a list of 2^32 numbers
        b"\x19\x19" * 50_000,  # lists of lists
        b"\x1c" * 50_000,  # structs in structs
        b"\x15" + b"\xff" * 50,  # a number without an end
        b"\x1d\x00",  # a kind that is none
    ],
)
def test_thrift_that_is_none(data):
    with pytest.raises(IndexError):
        Thrift(data).paths()


@pytest.mark.parametrize("head", [0x1C, 0x15, 0x13])
def test_a_list_of_other_items_than_its_readers_take(head):
    """One text, for those who do not look at the kind."""
    data = bytes([0x19, head, 2, 0x15, 2, 0, 0])
    with pytest.raises(IndexError):
        Thrift(data, lists={(1,): (BINARY, 1)}).paths()
    Thrift(bytes([0x19, 0x18, *data[2:]]), lists={(1,): (BINARY, 1)}).paths()


@pytest.mark.parametrize("least", [1, 2, 3])
def test_a_list_of_more_items_than_bytes_allow(least):
    """Two texts, of 2 bytes each."""
    thrift = Thrift(bytes([0x19, 0x28, 1, 97, 1, 97, 0]), lists={(1,): (BINARY, least)})
    if least < 3:
        assert thrift.paths() == {(1,)}
    else:
        with pytest.raises(IndexError):
            thrift.paths()


def test_a_list_that_is_a_set():
    Thrift(bytes([0x1A, 0x18, 1, 97, 0])).paths()
    with pytest.raises(IndexError):
        Thrift(bytes([0x1A, 0x18, 1, 97, 0]), lists={(1,): (BINARY, 1)}).paths()


@pytest.mark.parametrize("number", [-1, 1 << 15, (1 << 16) + 1])
def test_numbers_of_fields_have_fifteen_bits(number):
    """Others would cut it off to another field's."""
    rest, coded = 2 * number if number >= 0 else -2 * number - 1, bytearray([5])
    while rest > 127:
        coded.append(rest & 127 | 128)
        rest >>= 7
    data = bytes([*coded, rest, 0, 0])
    with pytest.raises(IndexError):
        Thrift(data).paths()
    with pytest.raises(IndexError):
        Thrift(data).struct(0, 0)
