"""Files beside the images of converted shards: of a large index they are kept as rows."""

import pickle
import tarfile

import numpy as np
import pytest

from fastload.conversion import job
from fastload.errors import SourceError
from fastload.sources import Concat, Subset, fields, open_source, shard_fields, span_index
from tests.conversion import shard_helpers as helpers
from tests.sources import tar_helpers

large, unread, by = helpers.large, helpers.unread, helpers.by
COUNT = 9


@pytest.fixture
def data(tmp_path):
    """Captions of all images, and JSON of all but the third."""
    members = []
    for n in range(COUNT):
        members += tar_helpers.sample(f"{n}", n, "0")
        members.append((f"{n}.txt", f"no. {n}".encode()))
        if n != 2:
            members.append((f"{n}.json", b"[%d]" % n))
    tars = tmp_path / "tars"
    tars.mkdir()
    tar_helpers.put(tars / "0.tar", members, tarfile.USTAR_FORMAT)
    job.run(
        job.prepare(str(tars), str(tmp_path / "out"), job.Options(workers=1, shard_bytes=20000))
    )
    return tmp_path / "out"


def texts(source, chosen):
    return fields.values(source, source.fields[0], np.array(chosen))


def want(chosen):
    return [f"no. {n}" for n in chosen]


def test_captions_are_kept_and_read_again(data, unread, by):
    source = open_source(data, target=["txt"])
    assert source.whole is None
    assert texts(source, [8, 0, 8]) == want([8, 0, 8])
    unread()
    again = open_source(data, target=["txt"])
    assert texts(again, range(COUNT)) == want(range(COUNT))
    assert texts(pickle.loads(pickle.dumps(again)), [3]) == want([3])


def test_parts_and_joined_sets_have_them(data):
    source = open_source(data, target=["txt"])
    some = Subset(source, np.array([5, 1, 7]))
    assert texts(some, [0, 2]) == want([5, 7])
    both = Concat((some, source))
    assert texts(both, [1, 3, 11]) == want([1, 0, 8])


def test_errors_are_those_of_a_small_index(data, monkeypatch):
    said = []
    for name in ("json", "png", "no\nname"):
        with pytest.raises(SourceError) as refused:
            open_source(data, target=[name])
        said.append(str(refused.value))
    monkeypatch.undo()
    for name, text in zip(("json", "png", "no\nname"), said, strict=True):
        with pytest.raises(SourceError) as refused:
            open_source(data, target=[name])
        assert str(refused.value) == text
    assert said[0].startswith(f"{data}: 1 of 9 samples have no 'json' (first {data}/shard-")
    assert said[1].startswith(f"{data}: has no 'png' beside its images (has ")


def test_a_flipped_byte_of_a_caption_is_found(data):
    source = open_source(data, target=["txt"])
    place = source.fields[0]
    shard = data / f"shard-{int(source.locate(np.array([4])).file[0]):06d}.tar"
    content = bytearray(shard.read_bytes())
    content[int(place.offset[4])] ^= 1
    shard.write_bytes(content)
    source = open_source(data, target=["txt"])
    with pytest.raises(
        fields.SampleError, match=r":4, txt, sample 4: checksum mismatch \(got [0-9a-f]{16}, want "
    ):
        texts(source, [4])
    assert texts(source, [3]) == want([3])


def test_places_of_another_index_are_made_anew(data):
    open_source(data, target=["txt"])
    kept = span_index.path_of("shards", str(data), "field", "txt")
    rows = shard_fields.kept_rows.recall(shard_fields.FieldRows, kept)
    other = shard_fields.KeptWriter(kept, shard_fields.COLUMNS)
    other.writer.add([np.zeros(COUNT, np.int64)] * 3, b"", (0,))
    other.finish({"checksum": rows.index_checksum ^ 1})
    other.close()
    assert texts(open_source(data, target=["txt"]), [6]) == want([6])
