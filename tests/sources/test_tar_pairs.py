"""Tars of folders of classes: whose caption is whose, and what macOS puts beside the files."""

import tarfile

import pytest

from fastload.conversion.readers import open_reader
from fastload.errors import SourceError
from fastload.lowering import open as open_dataset
from fastload.sources import open_source
from fastload.sources.fields import target_of
from tests.sources.tar_helpers import image, put

APPLE = b"\0\5\x16\7" + bytes(80)


def texts(path):
    source = open_dataset(path, target="txt").pipeline.source
    target = target_of("txt")
    return {source.name(n).rpartition(":")[2]: target.of_one(source, n) for n in range(len(source))}


def test_each_image_has_its_own_caption(tmp_path):
    """As many files of texts as images, and one of them is of no image."""
    data = [image(number)[1] for number in range(3)]
    members = [
        ("cat/a.jpg", data[0]), ("cat/a.png", data[2]), ("cat/a.txt", b"of a"),
        ("cat/b.txt", b"of nothing"), ("dog/c.jpg", data[1]), ("dog/c.txt", b"of c"),
    ]  # fmt: skip
    path = put(tmp_path / "a.tar", members, tarfile.GNU_FORMAT)
    assert texts(path) == {"cat/a.jpg": "of a", "cat/a.png": "of a", "dog/c.jpg": "of c"}


def test_an_image_without_a_caption_is_told(tmp_path):
    data = [image(number)[1] for number in range(2)]
    members = [("cat/a.jpg", data[0]), ("cat/readme.txt", b"x"), ("dog/c.jpg", data[1])]
    path = put(tmp_path / "a.tar", [*members, ("dog/c.txt", b"of c")], tarfile.GNU_FORMAT)
    with pytest.raises(SourceError, match=r"1 of 2 samples have no 'txt' \(first .*cat/a.jpg"):
        texts(path)


@pytest.mark.parametrize("label", [False, True])
def test_attributes_of_macos_are_no_samples(tmp_path, label):
    members = [("._top", APPLE)]
    for number, name in enumerate(("cat", "dog")):
        files = [(f"top/{name}/1.jpg", image(number)[1])]
        files += [(f"top/{name}/1.cls", b"%d" % number)] * label
        for inner, data in files:
            before, _, last = inner.rpartition("/")
            members += [(f"{before}/._{last}", APPLE), (inner, data)]
    path = put(tmp_path / "a.tar", members, tarfile.PAX_FORMAT)
    source, reader = open_source(path), open_reader(path)
    want = ("0", "1") if label else ("cat", "dog")
    assert source.classes == reader.classes == want
    assert source.labels.tolist() == reader.labels.tolist() == [0, 1]


def test_folders_with_a_line_end(tmp_path):
    """WebDataset takes them, and none of them is to be lost."""
    files = [("c\nat/1.jpg", image(0)[1]), ("dog/2.jpg", image(1)[1])]
    path = put(tmp_path / "a.tar", files, tarfile.PAX_FORMAT)
    assert open_reader(path).labels.tolist() == open_source(path).labels.tolist() == [0, 1]
    labels = [("c\nat/1.cls", b"1"), ("dog/2.cls", b"0")]
    members = [files[0], labels[0], files[1], labels[1]]
    path = put(tmp_path / "b.tar", members, tarfile.PAX_FORMAT)
    assert open_reader(path).labels.tolist() == open_source(path).labels.tolist() == [1, 0]
