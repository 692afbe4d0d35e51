"""Conversions to a store whose shards other processes make."""

from collections import deque

import pytest

from fastload.conversion import distributed, job
from fastload.conversion.cluster import fleet, worker
from fastload.conversion.cluster.fleet import Event
from fastload.conversion.workers import Stop
from fastload.errors import ConversionError
from tests.remote.written import PLAIN, files

pytestmark = pytest.mark.long  # the server alone takes seconds


def options(bucket, tmp_path, **more):
    scratch = str(tmp_path / "scratch")
    return job.Options(**PLAIN, scratch=scratch, storage_options=bucket.options(""), **more)


class Inline:
    """Two workers in this very process: a store's client does not survive a fork."""

    name = "inline"
    size = 2

    def __init__(self):
        self.events = deque()

    def begin(self, work, units):
        self.work = work
        self.events += [Event(fleet.READY, name) for name in "ab"]

    def give(self, name, order):
        def tell(said):
            self.events.append(Event(fleet.SIGN, name, order.number, said))

        said = worker.made(self.work, order, tell, Stop())
        self.events.append(Event(said.pop("kind"), name, order.number, said))

    def stop(self, name):
        """It has ended already."""

    def wait(self, seconds):
        events, self.events = list(self.events), deque()
        return events

    def close(self):
        self.events.clear()


def test_workers_upload_and_the_bytes_are_the_same(images, shards, bucket, prefix, tmp_path):
    url = f"s3://{bucket.name}/{prefix}"
    on = job.On(Inline())
    summary = job.run(job.prepare(images, url, options(bucket, tmp_path)), on=on)
    assert bucket.contents(prefix) == files(shards)
    assert sum(each.units for each in summary.spread.workers.values()) == summary.shards > 4
    assert list((tmp_path / "scratch").iterdir()) == []


def test_any_engine_uploads_more_than_once(images, shards, bucket, prefix, tmp_path):
    url = f"s3://{bucket.name}/{prefix}"
    recipe = distributed.begin(images, url, options(bucket, tmp_path))
    made = [distributed.unit(recipe, number) for number in (2, 0, 2, 1)]
    assert bucket.options("") == recipe.options.storage_options
    summary = distributed.finish(recipe, made)
    assert bucket.contents(prefix) == files(shards)
    assert 0 < summary.resumed < summary.samples
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_worker_of_an_earlier_run_leaves_nothing(images, shards, bucket, prefix, tmp_path):
    url = f"s3://{bucket.name}/{prefix}"
    old = distributed.begin(images, url, options(bucket, tmp_path))
    job.run(job.prepare(images, url, options(bucket, tmp_path)))
    with pytest.raises(ConversionError, match="this conversion is over or was begun anew"):
        distributed.unit(old, 0)
    assert bucket.contents(prefix) == files(shards)
