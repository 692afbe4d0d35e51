"""What a loader may need at worst: known from an index before anything is read."""

import warnings

import pytest

import fastload
from fastload import transforms as T
from fastload.conversion import job
from fastload.conversion.job import Options
from fastload.plan import preflight

OPS = [T.RandomResizedCrop((20, 30))]


@pytest.fixture
def shards(folder, tmp_path):
    job.run(job.prepare(folder, str(tmp_path / "out"), Options(workers=1)))
    return fastload.open(str(tmp_path / "out"), OPS)


def plan_of(data):
    return fastload.DataLoader(data, 4)._route.plan


def test_the_index_tells_the_largest_image_and_the_plan_the_slots(shards):
    found = preflight.need(plan_of(shards), threads=3, depth=6, batch=5)
    assert found == preflight.Need(
        slots=8 * 5 * 20 * 30 * 3, decoding=3 * 64 * 48 * 10, pixels=64 * 48
    )
    assert found.total == found.slots + found.decoding


def test_a_folder_tells_no_sizes(folder):
    assert preflight.need(plan_of(fastload.open(folder, OPS)), 3, 6, 5).decoding == 0


def test_more_than_there_is_is_a_warning_with_both_numbers(shards):
    found = plan_of(shards)
    text = (
        f"^{found.source.where}: up to 2,746 MiB may be needed (batches 2,746, the largest image "
        "of 0 megapixels in 1 threads 0), "
        "and there are 1,024; take fewer workers or smaller batches, or shrink the largest images$"
    )
    with pytest.warns(RuntimeWarning, match=text.replace("(", r"\(").replace(")", r"\)")):
        preflight.check(found, 0, 6, 200_000, most=1 << 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        preflight.check(found, 0, 6, 200_000, most=1 << 33)
        preflight.check(found, 0, 6, None, most=1 << 30)  # a batch sampler's batches: not known


def test_the_limit_is_the_groups_or_the_machines(monkeypatch):
    monkeypatch.setattr(preflight.machine, "memory_total", lambda: 100)
    monkeypatch.setattr(preflight.machine, "memory_limit", lambda: 30)
    assert preflight.limit() == 30
    monkeypatch.setattr(preflight.machine, "memory_limit", lambda: None)
    assert preflight.limit() == 100


def test_a_loader_says_it_when_it_starts(shards, monkeypatch):
    monkeypatch.setattr(preflight, "limit", lambda: 1000)
    with pytest.warns(RuntimeWarning, match="up to 0 MiB may be needed"):
        next(iter(fastload.DataLoader(shards, 4)))


def test_decoding_is_the_threads_shares_and_what_they_have_in_common():
    mib = 1 << 20
    assert preflight.decoding(4, 1000, 512 * mib) == 4 * 10_000
    giant = 100_000_000
    assert preflight.decoding(4, giant, 512 * mib) == 4 * 128 * mib + 1_000_000_000  # one alone
    assert preflight.decoding(4, giant, 2048 * mib) == 4 * 128 * mib + 2048 * mib
    assert preflight.decoding(0, giant, 512 * mib) == 1_000_000_000
