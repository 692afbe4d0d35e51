"""Links in a folder of classes that lead back to where they lie."""

import os

import pytest

from fastload.errors import SourceError
from fastload.sources import open_source
from tests.conftest import encoded, textured


@pytest.fixture
def root(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.jpg").write_bytes(encoded(textured(20, 31, 0), "JPEG"))
    return tmp_path


LOOPS = {
    "itself": [("cat/a", ".")],
    "two": [("cat/a", "."), ("cat/b", ".")],  # there are 2^40 paths
    "above": [("cat/a", "..")],
    "each other": [("cat/a", "../dog"), ("dog/a", "../cat")],
    "a class": [("emu", ".")],
}


@pytest.mark.parametrize("links", LOOPS.values(), ids=LOOPS)
def test_loops_are_told(root, links):
    for place, target in links:
        os.symlink(target, root / place)
    with pytest.raises(SourceError) as raised:
        open_source(root)
    where, _, text = str(raised.value).partition(": ")
    assert text == "leads back to a folder that it lies in; remove the link"
    assert where.startswith(f"{root}/")


def test_other_links_are_followed(root, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "1.jpg").write_bytes(encoded(textured(20, 31, 1), "JPEG"))
    os.symlink(other, root / "cat" / "more")
    os.symlink("../dog", root / "cat" / "dogs")
    os.symlink("cat", root / "felis")
    source = open_source(root)
    assert [os.path.relpath(path, root) for path in source.paths] == [
        "cat/0.jpg", "cat/dogs/0.jpg", "cat/more/1.jpg", "dog/0.jpg",
        "felis/0.jpg", "felis/dogs/0.jpg", "felis/more/1.jpg",
    ]  # fmt: skip
