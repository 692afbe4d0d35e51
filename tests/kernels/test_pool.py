"""Pools: shared, dropped, forked, interrupted."""

import gc
import os
import resource
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from fastload import _native as native
from tests.waiting import until

from .helpers import HEIGHT, WIDTH, fetch, files, jpeg, one_batch, picture, scene, table, whole


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_a_dropped_job_does_not_write_any_more(tmp_path, threads):
    pool = native.Pool(threads)
    source = files(tmp_path, [jpeg(scene(300, 400))] * 40)
    for _ in range(5):
        job = fetch(pool, source)
        job.wait_fetched()
        out = np.zeros((40, 3, HEIGHT, WIDTH), np.float32)
        job.run(
            [picture(whole(job.sizes, HEIGHT, WIDTH), "box", table(), out, HEIGHT, WIDTH, False)]
        )
        del job
        before = out.copy()
        time.sleep(0.01)
        np.testing.assert_array_equal(out, before)
        assert not out[-1].any()
    one_batch(pool, files(tmp_path, [jpeg(scene(30, 40))]))  # the pool still works


def test_the_last_jobs_memory_is_freed_while_nothing_else_is_to_be_done(tmp_path):
    def resident() -> int:  # bytes
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    large = tmp_path / "large.jpg"  # together more than a pool keeps for the next batch
    large.write_bytes(jpeg(scene(30, 40)) + bytes(40 << 20))
    pool, source = native.Pool(2), native.Files([str(large)] * 9, False)
    job = fetch(pool, source)
    job.wait_fetched()
    full = resident()
    del job
    assert until(lambda: resident() < full - (60 << 20), hangs=60.0)


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_a_dropped_pool_ends_its_jobs(tmp_path, threads):
    source = files(tmp_path, [jpeg(scene(300, 400))] * 200)
    pool = native.Pool(threads)
    jobs = [fetch(pool, source) for _ in range(10)]
    del pool
    with pytest.raises(RuntimeError) as error:
        jobs[-1].wait_fetched()
    assert str(error.value) == "Job.wait_fetched: the pool was closed before the job was done"
    with pytest.raises(RuntimeError):
        _ = jobs[-1].status


def test_many_python_threads_share_a_pool(batch):
    for threads in (0, 2):
        pool, results = native.Pool(threads), []
        workers = [
            threading.Thread(target=lambda: results.append(one_batch(pool, batch)[1]))  # noqa: B023
            for _ in range(6)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len({out.tobytes() for out in results}) == 1


def test_advise_never_fails(tmp_path):
    pool = native.Pool(0)
    source = files(tmp_path, [b"abc", b"def"])
    (tmp_path / "1.bin").unlink()
    for _ in range(20):
        pool.advise(source, np.arange(2), np.zeros(2, int), np.full(2, -1))
    pool.advise(source, np.arange(0), np.zeros(0, int), np.zeros(0, int))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("threads", [0, 2])
def test_a_forked_child_can_drop_everything_and_use_nothing(tmp_path, threads):
    pool = native.Pool(threads)
    jobs = [fetch(pool, files(tmp_path, [jpeg(scene(300, 400))] * 50)) for _ in range(4)]
    pool.advise(files(tmp_path, [b"abc"]), np.zeros(1, int), np.zeros(1, int), np.zeros(1, int))
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs is ended, and fails the test
        code = 1
        try:
            jobs[0].wait_fetched()
        except RuntimeError as error:
            code = 0 if "; make a new Pool after fork" in str(error) else 2
        del jobs, pool
        gc.collect()
        fresh = native.Pool(2)
        job = fetch(fresh, files(tmp_path, [jpeg(scene(30, 40))]))
        job.wait_fetched()
        os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    for job in jobs:
        job.wait_fetched()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_interrupts_a_wait(tmp_path):
    pool = native.Pool(1)
    (tmp_path / "large.jpg").write_bytes(jpeg(np.zeros((1500, 2000, 3), np.uint8)))
    job = fetch(
        pool, native.Files([str(tmp_path / "large.jpg")] * 1500, False)
    )  # many seconds of decoding
    job.wait_fetched()
    out = np.zeros((1500, 3, HEIGHT, WIDTH), np.float32)
    job.run([picture(whole(job.sizes, HEIGHT, WIDTH), "box", table(), out, HEIGHT, WIDTH, False)])
    waits = threading.Event()

    def interrupt():
        waits.wait()
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        waits.set()
        job.wait_done()
    thread.join()
    assert not out[-1].any()  # the job was not done


def threads_of_pools():
    names = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as file:
            names.append(file.read().strip())
    return sorted(name for name in names if name.startswith("fastload-"))


def test_readers_are_threads_besides_and_change_nothing(tmp_path):
    source = files(tmp_path, [jpeg(scene(60, 80)), jpeg(scene(90, 50))] * 20)
    _, want = one_batch(native.Pool(1), source)
    gc.collect()
    before = threads_of_pools()
    pool = native.Pool(2, readers=3)
    assert pool.threads == 2
    assert (
        sorted([*before, "fastload-0", "fastload-1", "fastload-r0", "fastload-r1", "fastload-r2"])
        == threads_of_pools()
    )
    np.testing.assert_array_equal(one_batch(pool, source)[1], want)
    assert pool.running() == []
    del pool
    assert threads_of_pools() == before
    assert native.Pool(0, readers=3).threads == 0
    assert threads_of_pools() == before  # the caller reads


def test_a_pool_says_what_its_threads_do(tmp_path):
    pool = native.Pool(1)
    job = fetch(pool, files(tmp_path, [jpeg(scene(1500, 2000))] * 20))
    job.wait_fetched()
    out = np.zeros((20, 3, HEIGHT, WIDTH), np.float32)
    begun = time.monotonic()
    job.run([picture(whole(job.sizes, HEIGHT, WIDTH), "box", table(), out, HEIGHT, WIDTH, False)])
    seen = []
    assert until(lambda: seen.append(pool.running()) or seen[-1])
    (name, what, seconds), *others = seen[-1]
    assert (name, others) == ("fastload-0", [])
    assert what.startswith(f"makes {tmp_path}/")
    assert 0 <= seconds < time.monotonic() - begun
    assert not pool.forked


def test_a_pool_has_no_negative_threads():
    for counts, text in (
        ((-1,), "Pool: threads (got -1, want 0..1024)"),
        ((1, -2), "Pool: readers (got -2, want 0..1024)"),
    ):
        with pytest.raises(ValueError) as error:
            native.Pool(*counts)
        assert str(error.value) == text
