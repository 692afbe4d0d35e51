"""Data sets of other formats in a store, larger than the cache: the same batches as from the local
disk, whatever of them the cache has.
"""

import json
import pickle
import shutil
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from torch.utils.data import Subset

import fastload
from fastload import DataLoader, DistributedSampler, ShuffleSampler
from fastload.errors import CacheError, SourceError
from fastload.files import arrivals
from fastload.sources import read
from tests.remote.conftest import CACHE, OPS, PIECE, batches
from tests.sources import beside_files, span_helpers
from tests.sources.tar_helpers import put

FORMS = ("tars", "pattern", "mds", "parquet")
pytestmark = pytest.mark.usefixtures("pieces")


def far(data):
    return data.pipeline.source.remote


@pytest.mark.parametrize("form", FORMS)
def test_the_same_batches(form, stored, opened, tmp_path):
    where = span_helpers.lay(tmp_path / "local", form, span_helpers.images())
    local, data = fastload.open(where, OPS), opened(stored(where))
    assert data.pipeline.source.paths != local.pipeline.source.paths
    assert not far(data).access.fits
    assert (len(data), data.classes) == (len(local), local.classes)
    want = batches(local, shuffle=False)
    assert batches(data, shuffle=False) == want
    assert batches(data, shuffle=False, workers=0) == want
    assert batches(data, shuffle=False, backend="torch", workers=0) == want
    loader = DataLoader(data, 7, shuffle=True, seed=3, num_workers=2)
    assert "mixed in blocks" in loader.explain().splitlines()[-1]
    mixed = sorted(label for _, labels in loader for label in labels.tolist())
    assert mixed == sorted(local.targets)


def test_an_object_is_looked_at_once(stored, opened, tmp_path):
    where = span_helpers.lay(tmp_path / "local", "tars", span_helpers.images())
    url = stored(where)
    first = far(opened(url)).access
    assert first.store.traffic.bytes >= first.layout.bytes
    again = far(opened(url)).access
    assert again.store.traffic.bytes < PIECE
    assert again.folder == first.folder


def test_another_machine_may_have_a_copy_of_what_was_found(stored, opened, tmp_path, monkeypatch):
    url = stored(span_helpers.lay(tmp_path / "local", "tars", span_helpers.images()))
    want = batches(opened(url), shuffle=False)
    shutil.rmtree(tmp_path / "disk")
    spans = tmp_path / "user" / "fastload" / "spans"
    shutil.copytree(spans, tmp_path / "other" / "fastload" / "spans")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    again = opened(url)
    assert far(again).access.store.traffic.bytes < PIECE
    assert batches(again, shuffle=False) == want


def test_a_changed_object_is_another_data_set(bucket, prefix, stored, opened, tmp_path):
    images = span_helpers.images()
    where = span_helpers.lay(tmp_path / "local", "tars", images)
    url = stored(where)
    before = opened(url)
    put(
        tmp_path / "0.tar",
        [("9.jpg", images[9]), ("9.cls", b"5")],
        tarfile.GNU_FORMAT,
    )
    bucket.put(f"{prefix}/0.tar", (tmp_path / "0.tar").read_bytes())
    after = opened(url)
    assert len(after) == len(before) - span_helpers.EACH + 1
    assert read(after.pipeline.source, 0) == images[9]


def test_samples_are_read_by_themselves(stored, opened, tmp_path):
    images = span_helpers.images()
    data = opened(stored(span_helpers.lay(tmp_path / "local", "mds", images)))
    source, access = data.pipeline.source, far(data).access
    before = access.store.traffic.bytes
    assert [read(source, n) for n in (19, 3, 11)] == [images[n] for n in (19, 3, 11)]
    longest = max(map(len, images))
    assert access.store.traffic.bytes - before <= 3 * (longest + 2 * PIECE)


@pytest.mark.parametrize("form", ["litdata", "table", "tfrecord"])
def test_what_lies_beside_the_images(form, stored, opened, tmp_path):
    make, fields = beside_files.FORMS[form]
    where = make(tmp_path / "local")
    names = tuple(fields)
    local = fastload.open(where, OPS, target=names)
    data = opened(stored(where), target=names, cache_bytes=4 * PIECE)
    assert not far(data).access.fits
    for n in range(len(local)):
        target, want = data[n][1], local[n][1]
        assert read(data.pipeline.source, n) == beside_files.image(n)
        assert {name: str(value) for name, value in target.items()} == {
            name: str(value) for name, value in want.items()
        }
    loader = DataLoader(data, 4, shuffle=False, num_workers=1)
    texts = [text for _, target in loader for text in target[names[0]]]
    assert texts == [target[names[0]] for _, target in (local[n] for n in range(len(local)))]


def _captioned(root):
    members = [
        member
        for n, image in enumerate(span_helpers.images())
        for member in ((f"{n:03}.jpg", image), (f"{n:03}.txt", f"no. {n}".encode()))
    ]
    (root / "local").mkdir()
    put(root / "local" / "0.tar", members[:20], tarfile.GNU_FORMAT)
    put(root / "local" / "1.tar", members[20:], tarfile.GNU_FORMAT)
    return root / "local"


def test_captions_of_tars(stored, opened, tmp_path):
    data = opened(stored(_captioned(tmp_path)), target="txt")
    texts = [text for _, some in DataLoader(data, 6, shuffle=True, seed=1) for text in some]
    assert sorted(texts) == sorted(f"no. {n}" for n in range(span_helpers.COUNT))


@pytest.mark.parametrize("form", ["tars", "tfrecord"])
def test_one_look_finds_the_captions_too(form, stored, opened, tmp_path):
    if form == "tars":
        where, name = _captioned(tmp_path), "txt"
    else:
        where, name = beside_files.tfrecord(tmp_path / "local"), "image/caption"
    url = stored(where)
    small = {"cache_bytes": 4 * PIECE}
    access = far(opened(url, target=name, **small)).access
    assert access.layout.bytes <= access.store.traffic.bytes < 1.5 * access.layout.bytes
    again = far(opened(url, target=name, **small)).access.store.traffic.bytes
    # A first record says which features there are
    assert again <= (0 if form == "tars" else max(access.layout.sizes))
    with pytest.raises(SourceError, match="has no 'other' beside its images"):
        opened(url, target="other", **small)


def test_ranks_and_batch_sizes_share_an_order(stored, opened, tmp_path):
    where = span_helpers.lay(tmp_path / "local", "tars", span_helpers.images())
    data = opened(stored(where))
    want = list(ShuffleSampler(data, 5))
    assert sorted(want) == list(range(len(data)))
    assert want != sorted(want)
    ranks = [list(DistributedSampler(data, 2, rank, seed=5)) for rank in range(2)]
    assert [one for pair in zip(*ranks, strict=True) for one in pair] == want


def test_images_in_another_order_than_they_lie(stored, opened, tmp_path):
    """MDS does not say in which order samples lie; here they lie the other way round."""
    images = span_helpers.images()
    where = Path(span_helpers.lay(tmp_path / "local", "mds", images))
    index = json.loads((where / "index.json").read_text())
    index["shards"].reverse()
    (where / "index.json").write_text(json.dumps(index))
    data = opened(stored(where))
    order = far(data).order()
    places = order.samples(np.arange(len(data)))
    assert sorted(places.tolist()) == list(range(len(data)))
    source = data.pipeline.source
    names = [source.paths[file] for file in source.file[places]]
    assert names == sorted(names)
    assert batches(data, shuffle=False) == batches(fastload.open(where, OPS), shuffle=False)


def test_another_process_and_a_removed_cache(stored, opened, tmp_path):
    where = span_helpers.lay(tmp_path / "local", "parquet", span_helpers.images())
    data = opened(stored(where))
    want = batches(fastload.open(where, OPS), shuffle=False)
    again = pickle.loads(pickle.dumps(data))
    assert batches(again, shuffle=False) == want
    assert batches(data, shuffle=False) == want
    shutil.rmtree(far(data).access.entry.folder)
    assert batches(data, shuffle=False) == want


def test_some_samples(stored, opened, tmp_path):
    where = span_helpers.lay(tmp_path / "local", "tars", span_helpers.images())
    local, data = fastload.open(where, OPS), opened(stored(where))
    some = [19, 4, 4, 0, 7]
    want = [labels.tolist() for _, labels in DataLoader(Subset(local, some), 2)]
    got = [labels.tolist() for _, labels in DataLoader(Subset(data, some), 2)]
    assert got == want


def test_what_fits_is_brought_whole(stored, opened, tmp_path):
    where = span_helpers.lay(tmp_path / "local", "tars", span_helpers.images())
    data = opened(stored(where), cache_bytes=1 << 30)
    assert far(data) is None
    assert batches(data) == batches(fastload.open(where, OPS))


def test_names_are_those_of_the_store(stored, opened, tmp_path):
    where = span_helpers.lay(tmp_path / "local", "tars", span_helpers.images())
    url = stored(where)
    source = opened(url).pipeline.source
    assert source.where == url
    assert source.name(6) == f"{url}/1.tar:00006.jpg"


def test_other_formats_have_to_fit(stored, opened, tmp_path):
    folder = tmp_path / "local"
    folder.mkdir()
    for n, image in enumerate(span_helpers.images()):
        (folder / f"{n}.jpg").write_bytes(image)
    url = stored(folder)
    with pytest.raises(CacheError) as error:
        opened(url)
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert str(error.value) == (
        f"{url}: has {size} bytes, and the cache may take {CACHE}; give a larger cache_bytes, or "
        "convert it to fastload's shards, which come in parts"
    )


def test_a_mix_wants_whole_parts(stored, opened, tmp_path):
    where = span_helpers.lay(tmp_path / "local", "tars", span_helpers.images())
    url = stored(where)
    with pytest.raises(SourceError) as error:
        fastload.mix([(opened(url), 1), (fastload.open(where, OPS), 1)])
    assert str(error.value) == (
        f"{url}: is larger than the cache, and the parts of a mix are brought whole, since a batch "
        "reads from several; give a larger cache_bytes"
    )


def test_damage_is_told_as_on_the_local_disk(stored, opened, tmp_path):
    where = Path(span_helpers.lay(tmp_path / "local", "mds", span_helpers.images()))
    shard = bytearray((where / "1.mds").read_bytes())
    shard[4:8] = struct.pack("<I", 1)
    (where / "1.mds").write_bytes(shard)
    with pytest.raises(SourceError, match="has samples outside of it, or too small ones"):
        opened(stored(where))


def test_files_that_lie_there_do_not_arrive(tmp_path):
    path = str(tmp_path / "x.tar")
    assert arrivals.of(path) is None
    assert arrivals.shown(path) == path
    with arrivals.present(path):
        pass
