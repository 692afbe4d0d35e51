"""What Python threads share of the engine: with the GIL, and in Pythons without one."""

import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest

from fastload import _native as native

from .helpers import fetch, files, jpeg, one_batch, scene

THREADS = 8
SAYS = hasattr(sys, "_is_gil_enabled")  # whether this Python can say if it has a GIL


def together(*work: Callable[[], object]) -> None:
    """Each in a thread of its own, begun at once; raises what the first of them raises."""
    start, errors = threading.Barrier(len(work)), list[BaseException]()

    def begin(one: Callable[[], object]) -> None:
        start.wait()
        try:
            one()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.skipif(not SAYS, reason="needs Python 3.13 or later")
def test_importing_the_module_leaves_the_gil_as_it_was():
    code = (
        "import importlib.util as util, sys\n"
        "before = sys._is_gil_enabled()\n"
        f"spec = util.spec_from_file_location('fastload._native', {native.__file__!r})\n"
        "spec.loader.exec_module(util.module_from_spec(spec))\n"
        "print(before == sys._is_gil_enabled())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_hash_that_grows_in_many_threads_misses_nothing():
    part, each = b"fastload" * 5, 2000
    grown = native.Xxh3()

    def grow() -> None:
        for _ in range(each):
            grown.update(part)

    together(*[grow] * THREADS)
    assert grown.digest() == native.xxh3(part * each * THREADS)


def test_a_claim_that_many_threads_drop_is_dropped_once():
    most = native.claims_most()
    for _ in range(200):
        claim = native.Claim(most)
        together(*[claim.drop] * THREADS)
        assert claim.bytes == 0
    first = native.Claim(most - 1)
    second = native.Claim(1)  # what was dropped more than once would let a third one in
    assert first.bytes + second.bytes == most


def test_many_threads_look_at_one_job(batch):
    pool = native.Pool(2)
    alone = fetch(pool, batch)
    alone.wait_fetched()

    def look(job: native.Job) -> None:
        while not job.wait(1.0):
            pass
        job.wait_fetched()
        for n in range(len(job)):
            assert len(job.payload(n)) == len(batch.read(n, 0, -1))
            job.message(n), job.code(n)
        assert len(job.status) == len(job.late) == len(job)

    for _ in range(20):
        job = fetch(pool, batch)
        together(*[lambda job=job: look(job)] * THREADS)
        np.testing.assert_array_equal(job.status, alone.status)
        np.testing.assert_array_equal(job.sizes, alone.sizes)


def test_many_threads_give_one_job_its_pixels(tmp_path):
    count = 64
    pool = native.Pool(2)
    source = files(tmp_path, [b"no image"] * count)
    pixels = [scene(5 + n, 7, n) for n in range(count)]
    for _ in range(20):
        job = fetch(pool, source)
        job.wait_fetched()

        def give(first: int, job: native.Job = job) -> None:
            for n in range(first, count, THREADS):
                job.set_pixels(n, pixels[n])

        together(*[lambda first=first: give(first) for first in range(THREADS)])
        np.testing.assert_array_equal(job.sizes, [image.shape[:2] for image in pixels])
        job.wait_done()


def test_jobs_come_and_go_in_many_threads_of_one_pool(batch):
    pool = native.Pool(2)
    wanted = one_batch(pool, batch)[1]

    def use() -> None:
        for _ in range(10):
            fetch(pool, batch)  # dropped at once
            np.testing.assert_array_equal(one_batch(pool, batch)[1], wanted)
            pool.running(), pool.stats(), pool.ways()

    together(*[use] * THREADS)


def test_images_are_opened_and_closed_in_many_threads(tmp_path):
    data = [jpeg(scene(30 + n, 50 - n, n)) for n in range(8)]
    wanted = [native.decode(one) for one in data]

    def use() -> None:
        for _ in range(20):
            source = files_of(tmp_path)
            for n, one in enumerate(data):
                assert source.read(n, 0, -1) == one
                np.testing.assert_array_equal(native.decode(one), wanted[n])

    def files_of(folder) -> native.Files:
        return native.Files([str(folder / f"{n}.bin") for n in range(len(data))], True)

    files(tmp_path, data)
    together(*[use] * THREADS)


def test_a_list_may_change_while_it_is_compared():
    held = [[object(), n] for n in range(500)]
    rows = [tuple(row) for row in held]
    now, over = [*held], threading.Event()

    def change() -> None:
        for _ in range(300):
            del now[100:]
            held[50].append(None)
            now.extend(held[100:])
            del held[50][2:]
        over.set()

    def compare() -> None:
        while not over.is_set():
            native.same_items(held, now)
            native.same_rows(rows, now)

    together(change, compare, compare)
    assert native.same_items(held, now)
    assert native.same_rows(rows, now)
