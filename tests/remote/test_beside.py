"""What lies beside the images of shards in a store comes with them, in the same requests."""

import pickle
import tarfile

import numpy as np
import pytest

import fastload
from fastload.conversion import job
from fastload.errors import SourceError
from fastload.sources import read
from tests.remote.conftest import OPS
from tests.remote.web import serving
from tests.sources import span_helpers
from tests.sources.tar_helpers import put

IMAGES = span_helpers.COUNT


def caption(number):
    return f"Nr. {number}, " + "sehr schön " * (number % 4) if number % 5 else ""


@pytest.fixture(scope="module")
def captioned(tmp_path_factory):
    """Shards with a text behind each image, and a JSON before it."""
    root = tmp_path_factory.mktemp("captioned")
    members = [
        member
        for n, image in enumerate(span_helpers.images())
        for member in (
            (f"{n:03}.json", b'{"label": %d}' % (n % 3)),
            (f"{n:03}.jpg", image),
            (f"{n:03}.txt", caption(n).encode()),
        )
    ]
    (root / "tars").mkdir()
    put(root / "tars" / "0.tar", members, tarfile.GNU_FORMAT)
    options = job.Options(shard_bytes=16 << 10, shuffle=5)
    job.run(job.prepare(str(root / "tars"), str(root / "shards"), options))
    return root / "shards"


@pytest.fixture
def web(captioned):
    with serving(captioned.parent) as server:
        yield server


@pytest.fixture
def opened(web, tmp_path):
    def of(target, **options):
        options = {"cache": tmp_path / "disk"} | options
        return fastload.open(f"{web.url}/shards", OPS, target=target, **options)

    return of


def epoch(data, **options):
    options = {"batch_size": 6, "shuffle": True, "seed": 2, "num_workers": 2} | options
    return [
        (images.numpy().tobytes(), str(target))
        for images, target in fastload.DataLoader(data, **options)
    ]


@pytest.mark.parametrize("target", ["txt", ("txt", "json")])
def test_as_from_the_local_disk(captioned, opened, target):
    local, data = fastload.open(captioned, OPS, target=target), opened(target)
    assert epoch(data) == epoch(local)
    assert epoch(data, backend="torch") == epoch(local, backend="torch")
    assert data[7][1] == local[7][1]
    again = pickle.loads(pickle.dumps(data))
    assert again[7][1] == local[7][1]


def test_only_what_is_asked_for_comes(opened, web):
    data = opened("txt")
    access = data.pipeline.source.remote.access
    assert data[3][1] == fastload.open(str(web.folder / "shards"), OPS, target="txt")[3][1]
    there = access.entry.marks[: len(data)] == 1
    assert there.sum() == 1


def test_a_cell_has_all_of_its_sample(captioned, opened):
    data = opened("txt")
    source = data.pipeline.source
    index, layout = source.index, source.remote.access.layout
    cells = source.remote.cells(np.arange(len(source)))
    places = index.extras.places()
    offset, size = (index.columns[name].all() for name in ("offset", "size"))
    for sample in range(len(source)):
        cell = int(cells[sample])
        first, last = layout.begin(cell), int(layout.ends[cell])
        image = (int(offset[sample]), int(size[sample]))
        files = places.of(np.array([sample]))
        assert len(files) == 2
        spans = [image, *zip(places.offset[files], places.size[files], strict=True)]
        assert all(first <= at and at + size <= last for at, size in spans)


def test_a_damaged_caption_is_asked_for_again(opened, web, captioned):
    want = epoch(fastload.open(captioned, OPS, target="txt"))
    web.faults = lambda path, count: "flip" if path.endswith(".tar") and count == 1 else ""
    data = opened("txt")
    assert epoch(data) == want
    assert data.pipeline.source.remote.access.store.traffic.retries > 0


def test_a_name_that_is_not_there(opened, web):
    with pytest.raises(SourceError) as error:
        opened("caption")
    assert str(error.value) == (
        f"{web.url}/shards: has no 'caption' beside its images (has json, txt); correct target"
    )


def test_a_small_cache(captioned, opened):
    data = opened("txt", cache_bytes=8 << 10)
    texts = [
        text for _, some in fastload.DataLoader(data, 6, shuffle=True, seed=1) for text in some
    ]
    assert sorted(texts) == sorted(caption(n) for n in range(IMAGES))
    assert len(read(data.pipeline.source, 0)) > 0


@pytest.mark.parametrize("cached", [False, True])
def test_shards_have_no_fields_to_choose_from(shards, tmp_path, cached):
    with pytest.raises(SourceError) as caught:
        fastload.open(shards, fields=("image", "label"), cache=tmp_path if cached else None)
    assert str(caught.value) == (
        f"{shards}: has no fields to choose from (got fastload's shards); leave fields out"
    )
