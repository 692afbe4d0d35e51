"""seek_index where files, lists of files and indexes change between and within epochs: nothing
wrong is used, nothing right is lost.
"""

import os
import shutil

import pytest
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

from fastload.conversion import indexing
from fastload.sources import open_source
from tests.loader.seek_helpers import MERGED, indexed, logs, make, same, ways


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def test_a_file_that_becomes_another_of_the_same_size(copy):
    auto, off = make(copy), make(copy, "off")
    for _ in range(2):
        assert same(list(auto), list(off))
    files = sorted(copy.glob("*/*.jpg"), key=lambda path: path.stat().st_size)
    small, large = files[0].read_bytes(), files[-1].stat().st_size
    files[-1].write_bytes(small + bytes(large - len(small)))
    assert same(list(auto), list(off))
    assert ways(auto) == (79, 41, 1)
    for _ in range(2):
        assert same(list(auto), list(off))
    assert ways(auto) == (159, 41, 1)
    later = make(copy, "use")
    list(later)
    assert ways(later) == (40, 0, 0)


def test_an_index_beside_the_data_wins_and_is_filled_up(copy, encode, make_image):
    indexing.run(indexing.prepare(str(copy)), count=1)
    before = {name: (copy / name).read_bytes() for name in MERGED}
    (copy / "class1" / "new.jpg").write_bytes(encode(make_image(60, 41, 7)))
    auto = make(copy)
    for _ in range(3):
        list(auto)
    assert ways(auto) == (40 + 41 * 2, 1, 0)
    again = make(copy)
    list(again)
    assert ways(again) == (41, 0, 0)
    assert {name: (copy / name).read_bytes() for name in MERGED} == before
    assert os.path.dirname(open_source(copy).seek.path) == str(copy)


def test_a_stale_index_beside_the_data_is_refused_once(copy):
    indexing.run(indexing.prepare(str(copy)), count=1)
    files = sorted(copy.glob("*/*.jpg"))
    shutil.copy(files[5], files[8])
    auto, off = make(copy), make(copy, "off")
    for _ in range(4):
        assert same(list(auto), list(off))
    assert ways(auto) == (39 + 40 * 3, 1, 1)
    later = make(copy)
    list(later)
    assert ways(later) == (40, 0, 0)
    shutil.copy(files[6], files[8])
    indexing.run(indexing.prepare(str(copy)), count=1)  # now this one is newer than the cache
    later = make(copy)
    list(later)
    assert ways(later) == (40, 0, 0)


def test_the_index_beside_the_data_is_made_anew_meanwhile(copy):
    indexing.run(indexing.prepare(str(copy)), count=1)
    auto, off = make(copy), make(copy, "off")
    assert same(list(auto), list(off))
    indexing.run(indexing.prepare(str(copy)), 1, count=1)
    assert same(list(auto), list(off))
    for path in copy.glob("fastload.seek*"):
        path.unlink()
    for _ in range(2):
        assert same(list(auto), list(off))
    assert ways(auto) == (120, 40, 0)


def test_fastload_index_meanwhile(copy):
    auto, off = make(copy), make(copy, "off")
    assert same(list(auto), list(off))
    batches = iter(auto)
    first = [next(batches)]
    indexing.run(indexing.prepare(str(copy)), count=1)
    assert same([*first, *batches], list(off))
    assert same(list(auto), list(off))
    assert ways(auto) == (80, 40, 0)
    later = make(copy)
    list(later)
    assert (ways(later), os.path.dirname(open_source(copy).seek.path)) == ((40, 0, 0), str(copy))


def test_other_lists_of_the_same_folder(copy, encode, make_image):
    """Loaders whose lists of files differ add to the same cache and lose nothing of each
    other's.
    """
    transform = v1.Compose([v1.RandomResizedCrop(16), v1.PILToTensor()])
    part = ImageFolder(copy, transform)
    part.samples = part.samples[5:25]
    auto = make(part)
    for _ in range(2):
        list(auto)
    assert ways(auto) == (20, 20, 0)
    (copy / "class0" / "aaa.jpg").write_bytes(encode(make_image(33, 41, 1)))
    whole = make(copy)
    for _ in range(2):
        list(whole)
    assert ways(whole) == (20 + 41, 21, 0)
    assert indexed(copy) == 41
    for path in sorted(copy.glob("class2/*.jpg"))[:3]:
        path.unlink()
    later = make(copy)
    list(later)
    assert ways(later) == (38, 0, 0)


def test_a_log_of_another_list_is_adopted(copy):
    transform = v1.Compose([v1.RandomResizedCrop(16), v1.PILToTensor()])
    part = ImageFolder(copy, transform)
    part.samples = part.samples[5:25]
    list(make(part))  # its log is what it leaves
    assert len(logs(copy)) == 1
    whole = make(copy)
    list(whole)
    assert ways(whole) == (20, 20, 0)
    assert len(logs(copy)) == 1  # its own
