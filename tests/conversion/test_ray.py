"""A conversion on a real Ray cluster of this machine; skipped where Ray is not installed."""

import importlib.util
import os

import pytest

from fastload.conversion import indexing, job, repair, verify
from fastload.conversion.spread import filter as spread_filter
from fastload.conversion.spread import index as spread_index
from fastload.conversion.spread import repair as spread_repair
from fastload.conversion.spread import verify as spread_verify

from .format_helpers import convert, found
from .spread_helpers import rows_by_threads, rows_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None,
        reason="Ray is not installed (pip install 'fastload-torch[ray]')",
    ),
]


@pytest.fixture(scope="module")
def ray():
    """A cluster of two CPUs, whose workers find this very fastload."""
    import ray

    root = os.path.dirname(os.path.dirname(os.path.abspath(job.__file__)))
    paths = [os.path.dirname(root), os.environ.get("PYTHONPATH", "")]
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, logging_level="error",
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, paths))}},
    )  # fmt: skip
    yield ray
    ray.shutdown()


def spread(small, out, lines=None, **options):
    from fastload.conversion.cluster.ray_fleet import Ray

    on = job.On(Ray(count=2), (lines if lines is not None else []).append)
    how = job.Options(shard_bytes=3000, **options)
    return job.run(job.prepare(str(small), str(out), how), on=on)


def test_actors_give_the_same_bytes_and_may_be_killed(ray, tools, small, tmp_path, monkeypatch):
    from fastload.conversion.cluster import driver

    convert(tools, small, tmp_path / "whole", "shards")
    summary = spread(small, tmp_path / "out")
    assert found(tools, tmp_path / "out") == found(tools, tmp_path / "whole")
    assert all("/" in name for name in summary.spread.workers)  # the host is named

    real, killed = driver.Driver._look, []

    def look(self, now):
        real(self, now)
        if not killed and self.has:
            actor = self.fleet.actors[next(iter(self.has))]
            killed.append(ray.kill(actor.handle, no_restart=True))

    monkeypatch.setattr(driver.Driver, "_look", look)
    lines = []
    spread(small, tmp_path / "again", lines)
    assert found(tools, tmp_path / "again") == found(tools, tmp_path / "whole")
    assert killed == [None]
    assert "ended (" in lines[0]
    assert lines[0].endswith("it is made again")


def test_other_verbs_give_what_threads_give(ray, tools, small, tmp_path):
    from fastload.conversion.cluster.ray_fleet import Ray

    def on():
        return job.On(Ray(count=2))

    out = tmp_path / "out"
    tools.convert(small, out, shard_bytes=3000)
    whole = tools.contents(out)
    sorted(out.glob("*.tar"))[1].unlink()
    sorted(out.glob("*.seek"))[0].write_bytes(b"")
    index = verify.prepare(str(out))
    report = verify.verify(index, 1)
    assert len(report.damages) == 2
    by = on()
    assert spread_verify.run(str(out), index, by) == report
    assert all("/" in name for name in by.spread.workers)
    done = spread_repair.run(str(out), str(small), on())
    assert (len(done.files), done.damages, tools.contents(out)) == (2, 2, whole)
    assert repair.run(str(out), job.readers.open_reader(str(small))).damages == 0
    rows = rows_of(spread_filter.rows(str(out), "label == 1", on()))
    assert rows.tolist() == rows_by_threads(out, "label == 1").tolist()
    for where in (out, small):
        indexing.run(indexing.prepare(str(where)), 4, 1)
        want = tools.contents(where)
        indexing.run(indexing.prepare(str(where)), 8, 1)
        makers = spread_index.Workers(on(), str(where), 2)
        indexing.run(indexing.prepare(str(where)), 4, makers=makers)
        assert tools.contents(where) == want
