"""Data sets in a store that grow: what a folder would hold, whoever is killed meanwhile."""

import pickle
import shutil

import pytest

import fastload
from fastload.conversion import job as conversions
from fastload.conversion.options import Options
from fastload.conversion.readers import from_iterable
from fastload.conversion.versions import job, stored
from fastload.conversion.versions.listing import listing
from fastload.errors import ConversionError, SourceError
from fastload.remote.stores import Store
from fastload.sources import read

SMALL = {"workers": 1, "shard_bytes": 1024}


@pytest.fixture
def samples(encode, make_image):
    images = [encode(make_image(9 + n, 13, n)) for n in range(16)]
    return lambda *rows: from_iterable([(f"c/{n}", images[n], 0) for n in rows], ["c"])


@pytest.fixture
def far(bucket, request, samples, monkeypatch, tmp_path):
    """A data set of three samples: its URL, and the options that write there."""
    for name, value in bucket.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url = f"s3://{bucket.name}/{request.node.name}"
    conversions.run(conversions.prepare_reader(samples(0, 1, 2), url, Options(**SMALL)))
    return url


def keys(where, version=None):
    index = fastload.open(where, version=version).pipeline.source.index
    return [index.key(row) for row in range(len(index))]


def files(bucket, url):
    """Without what tells of times."""
    contents = bucket.contents(url.rpartition("/")[2])
    contents.pop("versions.jsonl", None)
    return contents


def test_the_same_files_as_in_a_folder(bucket, far, samples, tmp_path):
    local = str(tmp_path / "local")
    conversions.run(conversions.prepare_reader(samples(0, 1, 2), local, Options(**SMALL)))
    before = fastload.open(far).pipeline.source
    sent = pickle.dumps(before)
    for where in (far, local):
        done = job.append(samples(2, 3, 4, 5), where, Options(**SMALL))
        assert (done.version, done.added, done.there, done.samples) == (2, 3, 1, 6)
        done = job.delete(where, ["c/1", "c/4"])
        assert (done.version, done.deleted, done.samples) == (3, 2, 4)
        done = job.append(samples(*range(7)), where, Options(**SMALL), delete=["c/0", "c/4"])
        assert (done.version, done.added, done.deleted, done.gone) == (4, 3, 1, 1)
    here = {path.name: path.read_bytes() for path in (tmp_path / "local").iterdir()}
    del here["versions.jsonl"]
    assert files(bucket, far) == here
    assert [one[:1] + one[2:] for one in listing(far)] == [
        one[:1] + one[2:] for one in listing(local)
    ]
    later = pickle.loads(sent)
    assert [read(source, n) for source in (before, later) for n in range(3)] == [
        read(before, n) for n in range(3)
    ] * 2
    shutil.rmtree(tmp_path / "cache")  # another machine has only the store
    assert len(pickle.loads(sent)) == 3
    assert [keys(far, n) for n in range(1, 5)] == [keys(local, n) for n in range(1, 5)]
    with pytest.raises(SourceError, match=r"has no version 5 \(has 1 to 4\)"):
        fastload.open(far, version=5)
    assert list(tmp_path.glob("cache/fastload/converting/*")) == []


class KilledError(BaseException):
    """In the place of a SIGKILL: nothing after it is done."""


CALLS = ("put", "put_if", "copy", "delete")


def killed_at(monkeypatch, step):
    """Before the given write to the store, and no write after it."""
    count = [0]

    def wrap(real):
        def call(self, *arguments):
            count[0] += 1
            if count[0] >= step:
                raise KilledError
            return real(self, *arguments)

        return call

    for name in CALLS:
        monkeypatch.setattr(Store, name, wrap(getattr(Store, name)))


@pytest.mark.long
def test_killed_before_each_write(far, samples, monkeypatch):
    """The old version or the new one is there, whole; the next one needs --resume."""
    outcomes = []
    for step in range(2, 99):
        old, new = keys(far), f"c/{step + 1}"
        with monkeypatch.context() as patch:
            killed_at(patch, step)
            try:
                job.append(samples(step + 1), far, Options(**SMALL))
            except KilledError:
                ended = False
            else:
                ended = True
        assert keys(far) in (old, [*old, new])
        outcomes.append(len(keys(far)) > len(old))
        if ended:
            break
        with pytest.raises(ConversionError, match="another append is writing there, or was killed"):
            job.append(samples(step + 1), far, Options(**SMALL))
        job.append(samples(step + 1), far, Options(**SMALL, resume=True))
        assert keys(far) == [*old, new]
    assert set(outcomes) == {False, True}
    assert outcomes == sorted(outcomes)
    assert len(listing(far)) == len(outcomes) + 1


@pytest.mark.parametrize("looks", [True, False])
def test_the_later_of_two_at_once_is_refused(far, samples, monkeypatch, looks):
    """Also where it does not look for the mark: the index is no more what it was."""
    real = stored.StoredPlace._keep
    if not looks:
        monkeypatch.setattr(stored.StoredPlace, "_is_mine", lambda _: True)

    def meanwhile(self, version):
        real(self, version)
        monkeypatch.setattr(stored.StoredPlace, "_keep", real)
        job.append(samples(5), far, Options(**SMALL, resume=True))

    monkeypatch.setattr(stored.StoredPlace, "_keep", meanwhile)
    with pytest.raises(ConversionError, match="somebody else has changed it meanwhile"):
        job.append(samples(4), far, Options(**SMALL))
    assert keys(far) == ["c/0", "c/1", "c/2", "c/5"]
    assert job.append(samples(4), far, Options(**SMALL)).version == 3
    with pytest.raises(SourceError, match="is no converted data set"):
        job.append(samples(4), f"{far}/nothing", Options(**SMALL))
