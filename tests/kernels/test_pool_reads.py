"""Who reads: the threads that decode, as long as reading waits for nothing; else the readers."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from fastload import _native as native
from tests.waiting import until

from .helpers import HEIGHT, WIDTH, fetch, files, jpeg, picture, scene, table, whole
from .leases import unopened

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="other systems do not tell a thread how often it has waited"
)
TASKS = Path("/proc/self/task")
FEW, MANY = 8, 300  # images of a job; MANY are more reads than readers do after one that waited


def waits(thread: Path) -> int:
    """How often a thread has waited so far."""
    lines = (thread / "status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("voluntary")).split()[1])


class Pool:
    """One thread that decodes, and one reader."""

    def __init__(self) -> None:
        before = set(TASKS.iterdir())
        self.pool = native.Pool(1, 1)
        assert until(lambda: self.named(before, "fastload-r0"))
        (self.reader,) = self.named(before, "fastload-r0")

    @staticmethod
    def named(before: set[Path], name: str) -> list[Path]:
        found = []
        for task in set(TASKS.iterdir()) - before:
            with suppress(OSError):  # it may end meanwhile
                found += [task] * ((task / "comm").read_text().strip() == name)
        return found

    def reader_works(self, source: native.Files) -> bool:
        """Whether the reader has woken for a job's reads."""
        before = waits(self.reader)
        fetch(self.pool, source).wait_fetched()
        return waits(self.reader) > before

    @property
    def busy(self) -> list[str]:
        """What is read now, and by whom."""
        return [f"{thread} {what}" for thread, what, _ in self.pool.running()]


@pytest.fixture
def some(tmp_path: Path) -> native.Files:
    return files(tmp_path, [jpeg(scene(30, 40))] * FEW)


@pytest.fixture
def calm(tmp_path: Path, some: native.Files) -> Pool:
    """A pool that has seen reads that wait for nothing."""
    (tmp_path / "many").mkdir()
    made = Pool()
    many = files(tmp_path / "many", [jpeg(scene(30, 40))] * MANY)
    assert until(lambda: not made.reader_works(many))
    assert until(lambda: not made.reader_works(some))
    return made


@contextmanager
def held(folder: Path) -> Iterator[tuple[native.Files, str]]:
    """A file that nobody can open before the context ends, and its path."""
    path = folder / "held.jpg"
    path.write_bytes(jpeg(scene(30, 40)))
    with unopened(path):
        yield native.Files([str(path)], False), str(path)


def test_a_new_pool_has_its_readers_read(some: native.Files):
    made = Pool()
    assert until(lambda: made.reader_works(some))


def test_the_thread_that_decodes_reads_what_lies_in_memory(
    tmp_path: Path, some: native.Files, calm: Pool
):
    with held(tmp_path) as (source, path):
        job, other = fetch(calm.pool, source), fetch(calm.pool, some)
        assert until(lambda: calm.busy == [f"fastload-0 reads {path}"])
        assert not other.done  # the reader leaves it alone
    for each in (job, other):
        each.wait_fetched()
        assert set(each.status.tolist()) == {native.OK}


def test_after_a_read_that_has_waited_the_readers_read(
    tmp_path: Path, some: native.Files, calm: Pool
):
    before = waits(calm.reader)
    with held(tmp_path) as (source, _):
        job = fetch(calm.pool, source)
        assert until(lambda: calm.busy)
    job.wait_fetched()
    assert until(lambda: waits(calm.reader) > before)
    with held(tmp_path) as (source, _):
        job = fetch(calm.pool, source)
        assert until(lambda: calm.busy)
        other = fetch(calm.pool, some)
        assert until(lambda: other.done)  # whichever of the two threads is held
        assert not job.done
    job.wait_fetched()


def test_a_batch_is_made_before_the_next_one_is_read(tmp_path: Path, calm: Pool):
    (tmp_path / "first").mkdir()
    source = files(tmp_path / "first", [jpeg(scene(30, 40))] * MANY)
    crops = whole(np.tile([30, 40], (MANY, 1)), HEIGHT, WIDTH)
    out = np.full((MANY, 3, HEIGHT, WIDTH), np.nan, np.float32)
    made = [picture(crops, "bilinear", table(), out, HEIGHT, WIDTH, False)]
    with held(tmp_path) as (next_one, _):
        first = fetch(calm.pool, source)
        first.then(made, [[]], seed=0, epoch=0, most_pixels=0)
        second = fetch(calm.pool, next_one)
        assert until(lambda: first.done)
        assert not np.isnan(out).any()
        assert not second.done
    second.wait_fetched()
