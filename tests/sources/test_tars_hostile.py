"""Tars that are damaged or forged, and what no tar can be opened as: one typed line that names the
tar, never a wrong sample.
"""

import gzip
import os
import re
import tarfile

import pytest

import fastload
from fastload.conversion.readers import open_reader
from fastload.errors import PipelineError, SampleError, SourceError
from fastload.files import patterns
from fastload.sources import open_source
from tests.sources.tar_helpers import contents, folder_of, forged, image, put, refused, sample

GNU = tarfile.GNU_FORMAT


@pytest.fixture
def path(tmp_path):
    """Two samples."""
    return put(tmp_path / "a.tar", sample("k", 0, "0") + sample("l", 1, "1"), GNU)


def test_every_truncation_names_the_tar_or_loses_nothing(path):
    with open(path, "rb") as file:
        whole = file.read()
    with tarfile.open(path) as archive:
        last = archive.getmembers()[-1]
    first, end = contents(path), last.offset_data + 512  # of the last member, padded
    for length in [*range(0, end + 512, 192), end - 1, end, end + 511]:
        with open(path, "wb") as file:
            file.write(whole[:length])
        text = refused(path)
        assert re.fullmatch(rf"{path}: .* byte [0-9]+ of {length}\b.*", text), text
    with open(path, "wb") as file:
        file.write(whole[: end + 512])
    assert contents(path) == first


@pytest.mark.parametrize(
    "size",
    [
        b"77777777777\0",
        b"-0000000001\0",
        b"0x000000010\0",
        b"\x80" + b"\0" * 3 + (1 << 63).to_bytes(8, "big"),
        b"\x80" + b"\xff" * 11,
        b"\xff" * 11 + b"\xfe",
        b"-0000001000\0",  # -512: where this header is
        b"\xff" * 10 + b"\xfc\0",  # -1,024: the one before
        b"\xff" + b"\0" * 11,
    ],
    ids=repr,
)
@pytest.mark.parametrize("member", [0, 1, 3])
def test_forged_sizes(path, size, member):
    with tarfile.open(path) as archive:
        at = archive.getmembers()[member].offset
    with open(path, "r+b") as file:
        header = os.pread(file.fileno(), 512, at)
        os.pwrite(file.fileno(), forged(header, size), at)
    text = refused(path)
    assert all(line.startswith(f"{path}: ") for line in text.split("\n"))
    assert "restore" in text


@pytest.mark.parametrize("name", [".//", ".//etc/a.jpg", ".//a.jpg"])
def test_names_that_are_absolute_behind_a_dot(path, name):
    with tarfile.open(path, "w", format=GNU) as archive:
        archive.addfile(tarfile.TarInfo(f"{name}x"))
        archive.addfile(tarfile.TarInfo("./b.jpg"))
    assert f"member '{name}x' has an absolute path" in refused(path)
    with pytest.raises(SourceError, match=f"member '{name}x' has an absolute path"):
        open_reader(path)


def test_a_member_is_there_twice_also_behind_a_dot(path):
    with tarfile.open(path, "w", format=GNU) as archive:
        for name in ("cat/a.jpg", "./cat/a.jpg"):
            archive.addfile(tarfile.TarInfo(name))
    text = "member './cat/a.jpg' is there twice; make the archive again with one name for each"
    assert refused(path) == f"{path}: {text}"
    with pytest.raises(SourceError, match=re.escape(text)):
        open_reader(path)


@pytest.mark.parametrize("left", [0, 1, 20, 500])
def test_a_cut_off_sparse_map(path, left):
    """GNU's header of a sparse file says that its map goes on in the next block."""
    header = bytearray(tarfile.TarInfo("c.jpg").tobuf(GNU))
    header[156:157], header[482] = tarfile.GNUTYPE_SPARSE, 1
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    with open(path, "wb") as file:
        file.write(bytes(header) + bytes(left))
    text = f"{path}: is no tar archive, or damaged at byte 0 of {512 + left}"
    assert refused(path).startswith(text)
    with pytest.raises(SourceError, match="is no tar archive, or damaged"):
        open_reader(path)


def test_a_flipped_bit_in_a_header_is_no_other_sample(path):
    with open(path, "rb") as file:
        whole = file.read()
    first = contents(path)
    with tarfile.open(path) as archive:
        headers = [member.offset for member in archive]
    for at in [header + field for header in headers for field in (0, 100, 124, 135, 150, 156)]:
        damaged = bytearray(whole)
        damaged[at] ^= 2
        with open(path, "wb") as file:
            file.write(damaged)
        assert refused(path).startswith(f"{path}: ")
    with open(path, "wb") as file:
        file.write(whole)
    assert contents(path) == first


@pytest.mark.parametrize(
    ("members", "text"),
    [
        (
            [("../k.jpg", b"x")],
            "member '../k.jpg' has a path with '..'; make the archive again without",
        ),
        (
            [("/k.jpg", b"x")],
            "member '/k.jpg' has an absolute path; make the archive again with relative ones",
        ),
        (
            [("k.jpg", b"x"), ("k.jpg", b"y")],
            "member 'k.jpg' is there twice; make the archive again with one name for each",
        ),
        (
            [("k.jpg", b"x"), ("l.jpg", b"x"), ("k.cls", b"0")],
            "sample 'k' is there twice; make the archive again with one name for each",
        ),
        (
            [("k.jpg", b"x"), ("k.JPG", b"y")],
            "sample 'k' is there twice; make the archive again with one name for each",
        ),
        (
            [("k.jpg", b"x"), ("k.png", b"y")],
            "sample 'k' has 2 images (jpg, png), want one; correct the archive",
        ),
        (
            [("n01440764.tar", b"x" * 2048)],
            "sample 'n01440764' has no image (has tar), want one; correct the archive",
        ),
        (
            [("k.jpg", b"x"), ("k.cls", b"0"), ("l.jpg", b"x")],
            (
                'l.jpg has no label, as 1 of 2 samples (want KEY.cls, or "label" in KEY.json); '
                "add them"
            ),
        ),
        (
            [("k.jpg", b"x"), ("k.cls", b"99999999")],
            "label 99999999 is no class number (want 0 to 1048575); correct the labels",
        ),
        ([], "no images in 1 archives; give others"),
        ([("dir/README", b"x")], "no images in 1 archives; give others"),
    ],
)
def test_samples_that_are_wrong(tmp_path, members, text):
    where = put(tmp_path / "a.tar", members, GNU)
    assert refused(where) == f"{where}: {text}"


def test_the_inside_of_a_tar_in_a_tar_is_no_sample(tmp_path, path):
    with open(path, "rb") as file:
        inner = ("k.inner.tar", file.read())
    where = put(tmp_path / "b.tar", [*sample("k", 3), inner], GNU)
    assert contents(where) == [(0, image(3)[1])]


def test_links_and_pipes_are_refused_and_pickles_left_alone(tmp_path):
    where = tmp_path / "a.tar"
    with tarfile.open(where, "w") as archive:
        for name, kind in (("l.jpg", tarfile.SYMTYPE), ("h.jpg", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert refused(where).count("is a link to '/etc/passwd'") == 2
    put(where, [*sample("k", 0), ("k.pyd", b"\x80\x04N."), ("k.pth", b"\x80\x04N.")], GNU)
    assert contents(where) == [(0, image(0)[1])]


def test_a_hole_is_not_read(tmp_path):
    info = tarfile.TarInfo("k.jpg")
    info.size = 100 << 30
    with open(tmp_path / "a.tar", "wb") as file:
        file.write(info.tobuf(GNU))
        file.truncate(101 << 30)
    assert refused(tmp_path / "a.tar") == (
        f"{tmp_path}/a.tar: member 'k.jpg' is too large (got {100 << 30} bytes, want at most "
        "536870912); remove it"
    )


def test_control_characters_do_not_reach_messages(tmp_path):
    where = put(tmp_path / "a.tar", sample("a\nb\x1b[2J", 0), GNU)
    assert open_source(where).name(0) == f"{where}:a_b_[2J.jpg"
    put(where, [("a\nb.c\nd", b"x"), *sample("k", 0)], GNU)
    assert refused(where) == (
        f"{where}: sample 'a\\nb' has no image (has c_d), want one; correct the archive"
    )


def test_a_tar_that_is_cut_off_while_it_is_open(path):
    data = fastload.open(path)
    os.truncate(path, 1024)
    with pytest.raises(SampleError, match=r"a\.tar:l\.jpeg"):
        data[1]
    with pytest.raises(SourceError):
        fastload.open(path)


def test_what_is_compressed_is_to_be_converted(tmp_path, path):
    with open(path, "rb") as file:
        packed = gzip.compress(file.read())
    (tmp_path / "p").mkdir()
    for name in ("a.tar.gz", "b.tgz"):
        (tmp_path / "p" / name).write_bytes(packed)
        where = f"{tmp_path}/p/{name}"
        assert refused(where) == (
            f"{where}: is compressed, want plain tars; run fastload convert {where} DST, and open "
            "DST"
        )
    assert "run fastload convert" in refused(tmp_path / "p")
    put(tmp_path / "p" / "c.tar", sample("k", 0), GNU)
    assert refused(tmp_path / "p") == (
        f"{tmp_path}/p: a.tar.gz is compressed, want plain tars; give a pattern of plain ones, or "
        f"run fastload convert {tmp_path}/p DST, and open DST"
    )
    assert "is compressed" in refused(f"{tmp_path}/p/{{a,b}}.tar.gz")


def test_what_cannot_be_named_or_masked(tmp_path, path):
    assert refused(f"{tmp_path}/{{a,b,c}}.tar") == (
        f"{tmp_path}/b.tar: is no file (2 such of 3 in {tmp_path}/{{a,b,c}}.tar); correct the "
        "pattern"
    )
    assert "names more than 1000000 files" in refused(f"{tmp_path}/{{0..9999999999}}.tar")
    assert "names more than 1000000 files" in refused(f"{tmp_path}/{{0..1999}}-{{0..1999}}.tar")
    with pytest.raises(PipelineError, match="masks: are read from folders of images"):
        fastload.open(path, masks=str(tmp_path))


def test_braces(tmp_path):
    assert patterns.expanded("a-{08..11}.tar") == [f"a-{n}.tar" for n in ("08", "09", "10", "11")]
    assert patterns.expanded("{1..3}") == ["1", "2", "3"]
    assert patterns.expanded("{x,yz}-{2..1}") == ["x-2", "x-1", "yz-2", "yz-1"]
    assert patterns.expanded("{}{a}{b,}") == ["{}{a}b", "{}{a}"]
    assert not any(map(patterns.is_pattern, ("a{b}c", "plain.tar", "a{}.tar", "{1..b}")))
    where = folder_of(tmp_path / "{0..1}", 4, 2)  # what is there by that name is meant
    assert len(open_source(where)) == 4
