"""Archives that somebody else made: one typed line for each thing that is wrong,
and nothing is written.
"""

import gzip
import json
import os
import pickle
import stat
import tarfile
import zipfile

import pytest

from fastload.conversion.readers import Choice, open_reader, records
from fastload.conversion.samples import BadSampleError
from tests.conversion.archives import refused, special, tar_of, zip_of
from tests.sources.tar_helpers import forged

NO_LABEL = 'has no label (want KEY.cls, or "label" in KEY.json); add it, or pass --labels none'


def test_what_would_leave_a_tar_is_refused_all_at_once(tmp_path):
    path = tar_of(
        tmp_path / "a.tar",
        ("c/ok.jpg", b"x"), ("/etc/passwd", b"x"), ("c/../../up.jpg", b"x"), special("c/soft.jpg",
        tarfile.SYMTYPE, "/etc/passwd"),
        special("c/hard.jpg", tarfile.LNKTYPE, "c/ok.jpg"), special("c/null", tarfile.CHRTYPE),
        special("c/disk", tarfile.BLKTYPE),
        special("c/pipe", tarfile.FIFOTYPE), ("c/ok.jpg", b"y"), ("c/model.pkl", b"x"),
    )  # fmt: skip
    files = "make the archive again with files (tar --dereference --hard-dereference)"
    assert refused(path).splitlines() == [
        (
            f"{path}: member '/etc/passwd' has an absolute path; make the archive again with "
            "relative ones"
        ),
        f"{path}: member 'c/../../up.jpg' has a path with '..'; make the archive again without",
        f"{path}: member 'c/soft.jpg' is a link to '/etc/passwd'; {files}",
        f"{path}: member 'c/hard.jpg' is a link to 'c/ok.jpg'; {files}",
        f"{path}: member 'c/null' is no regular file; make the archive again without",
        f"{path}: member 'c/disk' is no regular file; make the archive again without",
        f"{path}: member 'c/pipe' is no regular file; make the archive again without",
        f"{path}: member 'c/ok.jpg' is there twice; make the archive again with one name for each",
        (
            f"{path}: member 'c/model.pkl' is pickled, and fastload never unpickles; write it as "
            "JSON, text or an image"
        ),
    ]


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ([("k.jpg", b"x"), ("k.cls", b"1"), ("m.jpg", b"x")], f"sample 'm' {NO_LABEL}"),
        (
            [("k.jpg", b"x"), ("k.png", b"x"), ("k.cls", b"1")],
            "sample 'k' has 2 images (jpg, png), want one; correct the archive",
        ),
        (
            [("k.txt", b"x"), ("k.cls", b"1")],
            "sample 'k' has no image (has txt, cls), want one; correct the archive",
        ),
        (
            [("k.jpg", b"x"), ("k.cls", b"1"), ("l.jpg", b"x"), ("l.cls", b"1"), ("k.json", b"1")],
            "sample 'k' is there twice; make the archive again with one name for each",
        ),
    ],
)  # fmt: skip
def test_webdataset_samples_that_are_wrong(tmp_path, members, text):
    path = tar_of(tmp_path / "a.tar", *members)
    assert refused(path) == f"{path}: {text}"


def test_labels_that_are_wrong(tmp_path):
    path = tar_of(tmp_path / "a.tar", ("k.jpg", b"x"), ("k.cls", b"99999999"))
    assert (
        refused(path)
        == f"{path}: label 99999999 is no class number (want 0 to 1048575); correct the labels"
    )
    path = tar_of(tmp_path / "b.tar", ("k.jpg", b"x"))
    assert refused(path) == f"{path}: sample 'k' {NO_LABEL}"
    assert open_reader(str(path), Choice(labels="none")).classes == ("unlabelled",)


def test_damaged_archives(tools, tmp_path):
    path = tar_of(tmp_path / "a.tar", *[(f"c/{n}.jpg", tools.encode(9, 14, n)) for n in range(3)])
    whole = path.read_bytes()
    with tarfile.open(path) as archive:
        second = archive.getmembers()[1]
    path.write_bytes(whole[: second.offset + 100])
    assert (
        refused(path)
        == f"{path}: is damaged or cut off at byte {second.offset} of {second.offset + 100}; "
        "restore it"
    )
    path.write_bytes(whole[:600])  # within the first file
    assert (
        refused(path)
        == f"{path}: is no tar archive, or damaged at byte {second.offset} of 600 (unexpected end "
        "of data); restore it"
    )
    content = bytearray(whole)
    content[148] ^= 1  # the first header's checksum
    path.write_bytes(content)
    assert (
        refused(path)
        == f"{path}: is no tar archive, or damaged at byte 0 of {len(whole)} (bad checksum); "
        "restore it"
    )
    path.write_bytes(b"")
    assert refused(path).startswith(f"{path}: is no tar archive, or damaged at byte 0 of 0 (")
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(whole)[:-20])
    assert refused(tmp_path / "a.tar.gz").startswith(
        f"{tmp_path}/a.tar.gz: is no tar archive, or damaged ("
    )
    (tmp_path / "a.tar.gz").write_bytes(b"no gzip")
    assert refused(tmp_path / "a.tar.gz") == (
        f"{tmp_path}/a.tar.gz: is no tar archive, or damaged (Not a gzipped file (b'no')); restore "
        "it"
    )


def test_every_truncation_of_a_tar_is_an_error_or_loses_nothing(tools, tmp_path):
    path = tar_of(tmp_path / "a.tar", *[(f"c/{n}.jpg", tools.encode(3, 5, n)) for n in range(2)])
    whole = path.read_bytes()
    end = max(at for at in range(0, len(whole), 512) if any(whole[at : at + 512])) + 512
    for length in range(0, end + 512, 64):
        path.write_bytes(whole[:length])
        refused(path)
    path.write_bytes(whole[: end + 512])
    assert len(open_reader(str(path))) == 2


def test_a_header_that_is_damaged_in_the_middle_is_not_taken_for_the_end(tools, tmp_path):
    path = tar_of(tmp_path / "a.tar", *[(f"c/{n}.jpg", tools.encode(3, 5, n)) for n in range(3)])
    with tarfile.open(path) as archive:
        second = archive.getmembers()[1].offset
    content = bytearray(path.read_bytes())
    content[second] ^= 1
    path.write_bytes(content)
    assert (
        refused(path)
        == f"{path}: is damaged or cut off at byte {second} of {len(content)}; restore it"
    )


def test_a_size_that_leads_back_to_its_own_header_comes_to_an_end(tools, tmp_path):
    path = tar_of(tmp_path / "a.tar", *[(f"c/{n}.jpg", tools.encode(3, 5, n)) for n in range(2)])
    with tarfile.open(path) as archive:
        second = archive.getmembers()[1].offset
    content = bytearray(path.read_bytes())
    content[second : second + 512] = forged(content[second : second + 512], b"-0000001000\0")
    path.write_bytes(content)
    where = f"byte {second} of {len(content)}"
    assert refused(path) in {
        f"{path}: is no tar archive, or damaged at {where} (a member of -512 bytes); restore it",
        f"{path}: is damaged or cut off at {where}; restore it",  # Python up to 3.11.2
    }


def test_names_that_are_not_utf8(tools, tmp_path):
    data = tools.encode(3, 5)
    path = tar_of(
        tmp_path / "a.tar", (os.fsdecode(b"c/\xff\xfe.jpg"), data), ("c/\u00e9.jpg", data)
    )
    assert open_reader(str(path)).keys == ["c/\ufffd\ufffd", "c/\u00e9"]
    assert [record.data for record in records(open_reader(str(path)))] == [data, data]


def test_zip_archives(tools, tmp_path):
    link = zipfile.ZipInfo("c/link.jpg")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = zip_of(
        tmp_path / "a.zip",
        ("c/ok.jpg", b"x"),
        ("/abs.jpg", b"x"),
        ("c/../up.jpg", b"x"),
        (link, b"/etc/passwd"),
        ("c/a.pt", b"x"),
    )
    assert refused(path).splitlines() == [
        (
            f"{path}: member '/abs.jpg' has an absolute path; make the archive again with relative "
            "ones"
        ),
        f"{path}: member 'c/../up.jpg' has a path with '..'; make the archive again without",
        f"{path}: member 'c/link.jpg' is a link; make the archive again with files",
        (
            f"{path}: member 'c/a.pt' is pickled, and fastload never unpickles; write it as JSON, "
            "text or an image"
        ),
    ]
    path = zip_of(tmp_path / "d.zip", ("c/ok.jpg", b"x"), (zipfile.ZipInfo(""), b"x"))
    assert refused(path) == f"{path}: member '' has no name; make the archive again"
    (tmp_path / "b.zip").write_bytes(b"no zip")
    assert (
        refused(tmp_path / "b.zip")
        == f"{tmp_path}/b.zip: is no zip archive, or damaged (File is not a zip file); restore it"
    )
    path = zip_of(tmp_path / "c.zip", ("c/a.jpg", tools.encode(30, 40)))
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadSampleError) as bad:
        open_reader(str(path)).read(0)
    assert (
        str(bad.value) == "cannot be unpacked (Bad CRC-32 for file 'c/a.jpg'); restore the archive"
    )


def test_pickles_are_never_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    for name in ("k.pyd", "k.pickle", "k.pth"):
        path = tar_of(
            tmp_path / "a.tar", ("k.jpg", b"x"), (name, pickle.dumps(Trap())), ("k.cls", b"0")
        )
        text = "is pickled, and fastload never unpickles; write it as JSON, text or an image"
        assert refused(path) == f"{path}: member {name!r} {text}"
    assert not (tmp_path / "sprung").exists()


def test_classes_beside_shards(tmp_path):
    tar_of(tmp_path / "a.tar", ("k.jpg", b"x"), ("k.cls", b"1"))
    for content, text in (
        ("{", f"{tmp_path}/classes.json: cannot be read ("),
        (
            json.dumps(["a", "a"]),
            f"{tmp_path}/classes.json: is no list of different names; correct or remove it",
        ),
        (
            json.dumps(["a"]),
            (
                f"{tmp_path}: label 1 is above the 1 classes that have names; correct the labels "
                "or the names"
            ),
        ),
    ):
        (tmp_path / "classes.json").write_text(content)
        assert refused(tmp_path).startswith(text)
