"""verify, index, filter and repair by other processes: what threads give, whoever dies."""

import os

import numpy as np
import pytest

from fastload.conversion import job, verify
from fastload.conversion import where as conditions
from fastload.conversion.cluster import engines
from fastload.conversion.readers import Choice
from fastload.conversion.spread import filter as filtering
from fastload.conversion.spread import index as spread_index
from fastload.conversion.spread import repair as spread_repair
from fastload.conversion.spread import verify as spread_verify
from fastload.errors import ConversionError, UsageError
from fastload.sources import staging
from fastload.sources.shards import ShardSource

from .fleet_helpers import die, fail, fleet
from .shard_helpers import folder
from .spread_helpers import by_threads, damaged, flip, on, rows_by_threads, rows_of

__all__ = ["damaged", "folder", "on"]


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.fixture(autouse=True)
def large():
    """Not that of shard_helpers: these data sets are small."""


def test_shards_are_verified(damaged, on):
    want, seen = by_threads(damaged), []
    got = spread_verify.run(
        str(damaged), verify.prepare(str(damaged)), on, lambda *done: seen.append(done)
    )
    assert got == want
    assert len(got.damages) == 4
    assert np.array(seen).sum(axis=0)[0] == 7
    assert sum(each.units for each in on.spread.workers.values()) == len(
        list(damaged.glob("*.seek"))
    )


def test_a_folder_is_verified(tools, small, on, monkeypatch):
    (small / "cat" / "a.jpg").write_bytes(b"")
    (small / "dog" / "b.png").write_bytes(tools.encode(30, 40, format="PNG")[:900])
    monkeypatch.chdir(small.parent)
    got = spread_verify.run("small", verify.prepare("small"), on, each=2)
    assert got == by_threads("small")
    assert [str(damage) for damage in got.damages] == [
        "small/cat/a.jpg: is empty (0 bytes); mend or remove the file",
        "small/dog/b.png: cannot be decoded (image file is truncated); mend or remove the file",
    ]


def test_a_damaged_index_needs_no_worker(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out")
    flip(tmp_path / "out" / "index.arrow", 900)
    got = spread_verify.run(
        str(tmp_path / "out"), verify.prepare(str(tmp_path / "out")), job.On(fleet())
    )
    assert got == by_threads(tmp_path / "out")


def test_another_data_set_is_refused(tools, small):
    prepared = verify.prepare(str(small))
    (small / "cat" / "9.JPEG").write_bytes(tools.encode(9, 8))
    with pytest.raises(ConversionError) as error:
        spread_verify.run(str(small), prepared, job.On(fleet()))
    assert str(error.value) == (
        f"{small}: is not what this began with, as this process sees it; give all machines the "
        "same files, and leave them unchanged"
    )


def test_all_machines_fail(damaged):
    with pytest.raises(ConversionError) as error:
        spread_verify.run(str(damaged), verify.prepare(str(damaged)), job.On(fleet(1, fail("0"))))
    assert str(error.value).endswith("; mend that, and run it again")


@pytest.mark.parametrize(
    "condition",
    [
        "size > 1000 and label in (1, 2, 3)",
        pytest.param("endswith(key, '7')", marks=pytest.mark.long),
    ],
)
def test_a_condition_holds_for_the_same_rows(folder, on, condition, monkeypatch):
    want = rows_by_threads(folder, condition).tolist()

    def never(_):
        raise AssertionError("all rows are in memory")

    monkeypatch.setattr(ShardSource, "index", property(never))
    got = rows_of(filtering.rows(str(folder), condition, on, each=1))
    assert got.tolist() == want
    assert len(got) > 500


@pytest.mark.parametrize("told", ["at once", "by a worker"])
def test_what_is_no_condition_is_said_as_by_threads(folder, told, monkeypatch):
    condition, real, me = "depth > 3", conditions.mask, os.getpid()

    def mask(where, classes, batches, condition):
        """As if only a later row told."""
        first = os.getpid() == me and len(batches) == 1
        return np.ones(4096, bool) if first else real(where, classes, batches, condition)

    if told == "by a worker":
        monkeypatch.setattr(conditions, "mask", mask)
    said = []
    for rows in (rows_by_threads, lambda *given: filtering.rows(*given, job.On(fleet()), each=1)):
        with pytest.raises(UsageError) as error:
            rows(str(folder), condition)
        said.append(str(error.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("verb", ["verify", "index", "repair"])
def test_a_url_is_refused(verb):
    with pytest.raises(UsageError) as error:
        if verb == "index":
            spread_index.Workers(job.On(fleet()), "s3://b/p")
        elif verb == "repair":
            spread_repair.run("out", "s3://b/p", job.On(fleet()), Choice())
        else:
            spread_verify.run("s3://b/p", object(), job.On(fleet()))
    assert str(error.value) == (
        f"{verb}: --on takes data in a folder that all workers see (got s3://b/p); leave --on out"
    )


@pytest.fixture
def fastload(monkeypatch, command_line):
    monkeypatch.setattr(engines, "fleet_of", lambda *_: fleet(2, die(1, "0")))
    return command_line("verify", "index", "filter", "repair")


def test_the_verbs_print_the_same_and_who_did_it(fastload, damaged, small, tmp_path):
    """JSON and tables are those of threads; then there is a row for each worker."""
    plain = fastload("verify", damaged)
    code, out, err = fastload("verify", damaged, "--on", "processes")
    assert (code, out[: len(plain[1])]) == (plain[0], plain[1]) == (1, plain[1])
    assert out[len(plain[1]) :].startswith("worker  parts  images  images/s\n")
    assert all(
        line.endswith("; it is made again") or line.startswith("given to a second worker")
        for line in err.splitlines()
    )
    for words in (["verify", damaged], ["filter", damaged, tmp_path / "f", "--where", "label == 0",
                                        "--overwrite"]):  # fmt: skip
        said = [fastload(*words, "--json", "-", *more)[:2] for more in ([], ["--on", "processes"])]
        assert said[0] == said[1]
    code, out, _ = fastload("repair", damaged, small, "--on", "processes")
    assert (code, "files made again 4" in " ".join(out.split()), "worker" in out) == (0, True, True)
    code, out, _ = fastload("index", damaged, "--on", "processes")
    assert (code, "seek index" in out, "worker" in out) == (0, True, True)
    assert by_threads(damaged).damages == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--unique", "--on", "processes"],
         "filter: --on finds what meets --where (got --unique alone); leave it out\n"),
        (["--unique", "--workers", "2"],
         "filter: --workers says how many --on has (got no --on); leave it out\n"),
    ],
)  # fmt: skip
def test_what_would_change_nothing_is_refused(fastload, tmp_path, words, said):
    code, _, err = fastload("filter", tmp_path / "in", tmp_path / "out", *words)
    assert code in (1, 2)
    assert err.endswith(said)


def test_a_url_is_refused_before_anything_is_brought(fastload, monkeypatch):
    def never(*_):
        raise AssertionError("it was asked for")

    monkeypatch.setattr(staging, "staged", never)
    code, _, err = fastload("verify", "s3://b/p", "--on", "processes")
    assert code in (1, 2)
    assert err.endswith("(got s3://b/p); leave --on out\n")
