"""What a hostile Lance data set may say of where its images lie: they are read inside of its own
files, or there is one typed error.
"""

import os
import sys
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastload
from fastload.errors import SourceError
from fastload.files import cache
from fastload.sources import lance_library, open_source
from fastload.sources.lance_places import places
from fastload.system import limits
from tests.sources import lance_files
from tests.sources.format_helpers import COUNT, image, refused
from tests.sources.lance_files import descriptors

NUMBERS = st.integers(0, 400) | st.sampled_from([1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
ROWS = st.lists(
    st.tuples(NUMBERS, NUMBERS, st.integers(0, 5), st.integers(0, 3), st.booleans()),
    min_size=1, max_size=6,
)  # fmt: skip
NAMES = st.sampled_from(["0.lance", "1.lance", "../x", "/etc/passwd", "a//b", ".", "", "n\n", "l"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of one fragment with files beside it, and a link out of it."""
    root = tmp_path_factory.mktemp("lance") / "x.lance"
    told = lance_files.write(root, parts=((0, COUNT),), beside=True)
    (root / "outside").write_bytes(image(1))
    (root / "data" / "l").symlink_to(root / "outside")
    return root, told


def hostile(told, rows, name, kinds):
    """The same data set, of which these things are told."""
    positions, sizes, kind, numbers, nulls = map(list, zip(*rows, strict=True))
    said = descriptors(positions, sizes, *((kind, numbers) if kinds else (None, None)), nulls)
    fragment = told.fragments[0]._replace(files={"image": name})
    return SimpleNamespace(
        where=told.where, schema=told.schema.remove(1), blobs=told.blobs, version=1,
        fragments=[fragment], head=None,
        batches=lambda *_: iter([pa.record_batch([said], ["image"])]),
    )  # fmt: skip


@given(rows=ROWS, name=NAMES, kinds=st.booleans(), target=st.booleans())
def test_any_places(folder, rows, name, kinds, target):
    root, told = folder
    said = hostile(told, rows, name, kinds)
    said.head = lambda _, row, size: _head(said, row, size)
    with pytest.MonkeyPatch.context() as patch, cache.nowhere():
        patch.setattr(lance_library, "opened", lambda _: said)
        try:
            source = open_source(root, target=("image",) if target else ())
        except SourceError as error:
            assert str(error).startswith(str(root))  # noqa: PT017 - either may be
            return
    inside = os.path.realpath(root / "data") + os.sep
    for file, offset, size in zip(source.file, source.offset, source.size, strict=True):
        path = source.paths[file]
        assert os.path.realpath(path).startswith(inside)
        assert 0 <= offset < offset + size <= os.path.getsize(path)
    assert len(source) == len(rows)


def _head(said, row, size):
    """As a library would read it that does not see what is wrong."""
    (batch,) = said.batches(["image"], 0)
    found = places(said.where, "image", batch.column(0), said.fragments[0].files["image"], 0)
    with open(f"{said.where}/data/{found.names[found.file[row]]}", "rb") as file:
        return os.pread(file.fileno(), size, int(found.offset[row]))


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ((0, 1 << 20, 0, 0, False), ("row 1 has its image outside of 0.lance (ends at 1048576, "
         "the file has 33846 bytes); restore it")),
        (((1 << 63) - 1, 9, 0, 0, False), ("row 1 has its image outside of 0.lance (ends at "
         "9223372036854775816, the file has 33846 bytes); restore it")),
        ((1 << 63, 9, 0, 0, False), "column 'image' has a position of 2**63 or more; restore it"),
        ((0, 9, 3, 0, False), ("row 1 has its image at a URI, which is not followed; write the "
         'data set again with external_blob_mode="ingest"')),
        ((0, 9, 4, 0, False), ("row 1 has its image in a blob of kind 4 (want 0, 1 or 2); write "
         "it again with an older version of Lance")),
        ((0, 9, 1, 0, False), "row 1 has its image in a file of no number; restore it"),
        ((0, 0, 0, 0, False), "row 1 has no image (image is null or empty); remove it"),
        ((0, 9, 0, 0, True), "row 1 has no image (image is null or empty); remove it"),
    ],
)  # fmt: skip
def test_what_cannot_be(folder, monkeypatch, row, error):
    root, told = folder
    said = hostile(told, [(64, 99, 0, 0, False), row], "0.lance", kinds=True)
    monkeypatch.setattr(lance_library, "opened", lambda _: said)
    got = refused(root)
    size = os.path.getsize(root / "data" / "0.lance")
    assert got == f"{root}: {error.replace('33846', str(size))}"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("../x", "{0}: names a data file '../x', which has a path with '..'; restore it"),
        ("/x", "{0}: names a data file '/x', which has an absolute path; restore it"),
        ("l", "{0}/data/l: is a link out of data; put the file itself there"),
        ("no", ("{0}/data/no: cannot be read (No such file or directory); restore it, or make "
         "it readable")),
    ],
)  # fmt: skip
def test_names_that_lead_out(folder, monkeypatch, name, error):
    root, told = folder
    said = hostile(told, [(0, 99, 0, 0, False)], name, kinds=True)
    monkeypatch.setattr(lance_library, "opened", lambda _: said)
    assert refused(root) == error.format(root)


def test_other_bytes_than_the_library_reads(folder, monkeypatch):
    root, told = folder
    monkeypatch.setattr(lance_library, "opened", lambda _: told)
    monkeypatch.setattr(told, "heads", lambda _: b"other")
    assert refused(root) == (  # the first one in the data file: row 0 has a file of its own
        f"{root}: row 2 has other bytes in 0.lance than Lance reads; write the data set again, or "
        "run fastload with pylance 14"
    )


class PanicException(BaseException):
    """As Rust's are in Python."""


PanicException.__module__ = "pyo3_runtime"


@pytest.fixture
def library(monkeypatch):
    """library(error): a library `lance` that raises it."""

    def raising(error):
        module = ModuleType("lance")

        def dataset(path):
            raise error

        module.dataset = dataset
        monkeypatch.setitem(sys.modules, "lance", module)

    return raising


@pytest.mark.parametrize(
    "kind", [PanicException, ValueError, OSError, pa.ArrowException], ids=lambda kind: kind.__name__
)
def test_what_the_library_raises(folder, library, kind):
    library(kind("a\nb"))
    assert refused(folder[0]) == f"{folder[0]}: Lance cannot read it (a b); restore it"


def test_what_ends_a_program_is_no_error_of_a_data_set(folder, library):
    library(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fastload.open(folder[0])


def test_without_the_library(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "lance", None)
    assert refused(folder[0]) == (
        f"{folder[0]}: the first look at a Lance data set needs lance (not installed); pip install "
        "'fastload-torch[lance]'"
    )


def test_the_library_gets_an_absolute_path(tmp_path, monkeypatch):
    """Whatever it looks like, it is no URL."""
    lance_files.write(tmp_path / "s3:" / "x.lance")
    asked, module = [], ModuleType("lance")
    module.dataset = lambda path: asked.append(path) or (_ for _ in ()).throw(ValueError("no"))
    monkeypatch.setitem(sys.modules, "lance", module)
    monkeypatch.chdir(tmp_path)
    assert refused("s3:/x.lance") == "s3:/x.lance: Lance cannot read it (no); restore it"
    assert asked == [f"{tmp_path}/s3:/x.lance"]


def test_more_rows_than_can_be_there():
    lance_library.check_rows("x", limits.PARQUET_ROWS, 1)
    lance_library.check_rows("x", 8 << 20, 1 << 20)
    with pytest.raises(SourceError) as error:
        lance_library.check_rows("x", (8 << 20) + 1, 1 << 20)
    assert str(error.value) == (
        "x: 8388609 rows cannot lie in data files of 1048576 bytes; restore it"
    )


def test_no_versions(tmp_path):
    (tmp_path / "_versions").mkdir()
    assert refused(tmp_path) == (
        f"{tmp_path}: has no versions in _versions; give the folder of a Lance data set, such as "
        "train.lance"
    )
    (tmp_path / "_versions").rmdir()
    (tmp_path / "_versions").write_bytes(b"")
    assert refused(tmp_path) == (
        f"{tmp_path}/_versions: cannot be read (Not a directory); give the folder of a Lance data "
        "set, such as train.lance"
    )
