"""Kits: records that jobs fill and use one after the other, with the pixels of records of their
own; and what is refused.
"""

import numpy as np
import pytest

from fastload import _native as native
from fastload.draws.program import loop_of

from .helpers import fetch, files, jpeg, picture, scene, stored

HEIGHT, WIDTH = 20, 30
IMAGES = [scene(HEIGHT, WIDTH, seed) for seed in range(5)]


def program(outputs, *, uniforms=(), given=()):
    """Whole images by constants 2 and 3, which are 0 and 1, and a flip where a uniform is over
    half.
    """
    return native.Draws(
        registers=7, steps=np.array([(STEPS["greater"], 5, 4, 6, 6)], np.int32), lists=[],
        constants=[(2, 0.0), (3, 1.0), (6, 0.5)],
        uniforms=np.array([*uniforms], np.int32).reshape(-1, 3),
        sizes=[0, 1], given=list(given), refusals=[], outputs=outputs, functions=[loop_of("exp")],
    )  # fmt: skip


STEPS = {name: code for code, name in enumerate(native.DRAW_STEPS)}
CROPS = ("int32", [2, 2, 0, 1, 0, 1, 2, 2, 5, 3])


def kit(count=5, lists=None):
    """A kit of whole images that are flipped by chance, and the rows that it fills."""
    rows = np.zeros((count, 10), np.int32)
    crops = native.CropRecords(rows, "bilinear", HEIGHT, WIDTH)
    runs = [(program([CROPS], uniforms=[(1, 0, 4)]), False, np.zeros((count, 0)), [rows])]
    return native.Kit(crops, stored(None, True, **(lists or {})), None, runs), rows


def out_of(count=5):
    return np.zeros((count, HEIGHT, WIDTH, 3), np.uint8)


def follow(job, kit, out, samples, partners=None, **others):
    given = {"seed": 1, "epoch": 0, "step": 0, "rank": 0, "most_pixels": 0, **others}
    job.follow(kit, out, samples, np.zeros(len(samples), np.int64), partners, **given)


def begun(tmp_path, pool, images=IMAGES):
    return fetch(pool, files(tmp_path, [jpeg(image) for image in images]))


def test_jobs_use_a_kit_one_after_the_other_with_their_own_keys(tmp_path):
    pool, (made, rows), seen = native.Pool(2), kit(), []
    for epoch in range(6):
        job, out, again = begun(tmp_path, pool), out_of(), out_of()
        follow(job, made, out, np.arange(5), epoch=epoch)
        assert job.wait_started(20.0)
        assert job.wait_done()
        assert job.drawn
        u = np.empty((5, 1))
        native.uniforms(1, epoch, np.arange(5), np.zeros(5, np.int64), 1, u)
        flips = (u[:, 0] > 0.5).astype(np.int32)
        assert rows[:, 8].tolist() == flips.tolist()
        other = begun(tmp_path, pool)
        other.wait_fetched()
        other.run([picture(rows, "bilinear", None, again, HEIGHT, WIDTH, True)])
        assert other.wait_done()
        np.testing.assert_array_equal(out, again)
        seen.append(tuple(flips))
    assert len(set(seen)) > 1


def test_partners_are_of_the_job_not_of_the_kit(tmp_path):
    pool, (made, _) = native.Pool(2), kit()
    half = np.array([0.5, 0.5], np.float32).view(np.int32)
    partners = np.array([[4 - n, 0, 0, 0, 0, *half] for n in range(5)], np.int32)
    mixed, plain = out_of(), out_of()
    for out, of in ((mixed, partners), (plain, None)):
        job = begun(tmp_path, pool)
        follow(job, made, out, np.arange(5), of)
        assert job.wait_done()
    np.testing.assert_array_equal(mixed, mixed[::-1])
    assert (mixed[0] != plain[0]).any()
    np.testing.assert_array_equal(mixed[2], plain[2])  # its own partner


def test_a_batchs_own_draws_are_keyed_by_step_and_rank(tmp_path):
    """Which rows are kept, here one of two; the same of all samples."""
    rows, kept = np.zeros((5, 10), np.int32), np.zeros((1, 1), np.int32)
    columns = np.arange(WIDTH, dtype=np.int32)[None]
    whole = native.CropRecords(rows, "bilinear", HEIGHT, WIDTH)
    of_batch = native.Draws(
        registers=7, steps=np.array([(STEPS["greater"], 5, 4, 6, 6)], np.int32), lists=[],
        constants=[(6, 0.5)], uniforms=np.array([(9, 0, 4)], np.int32), sizes=[], given=[],
        refusals=[], outputs=[("int32", [5])], functions=[],
    )  # fmt: skip
    runs = [
        (program([CROPS], uniforms=[(1, 0, 4)]), False, np.zeros((5, 0)), [rows]),
        (of_batch, True, np.zeros((1, 0)), [kept]),
    ]
    store = stored(None, True, rows=kept, columns=columns)
    made, pool = native.Kit(whole, store, None, runs), native.Pool(1)
    for step, rank in ((0, 0), (3, 0), (3, 2), (4, 1)):
        job, out = begun(tmp_path, pool), np.zeros((5, 1, WIDTH, 3), np.uint8)
        follow(job, made, out, np.arange(5), step=step, rank=rank)
        assert job.wait_done()
        u = np.empty((1, 1))
        native.uniforms(1, 0, np.array([step]), np.array([rank]), 9, u)
        assert kept.item() == (u.item() > 0.5)


def test_a_kit_is_of_one_job_till_that_is_done(tmp_path):
    pool, (made, _) = native.Pool(0), kit()
    first, second = begun(tmp_path, pool), begun(tmp_path, pool)
    follow(first, made, out_of(), np.arange(5))
    with pytest.raises(RuntimeError) as caught:
        follow(second, made, out_of(), np.arange(5))
    assert str(caught.value) == "Job.follow: another job, which is not done, has the kit"
    assert first.wait_done()
    follow(second, made, out_of(), np.arange(5))
    assert second.wait_done()
    dropped = begun(tmp_path, pool)
    follow(dropped, made, out_of(), np.arange(5))
    del dropped  # before it has begun
    last = begun(tmp_path, pool)
    follow(last, made, out_of(), np.arange(5))
    assert last.wait_done()


@pytest.mark.parametrize(
    ("keys", "others", "text"),
    [
        (np.arange(4), {}, "Job.follow: samples: shape (got [4], want [5])"),
        (np.arange(5, dtype=np.int32), {}, "Job.follow: samples: dtype (got int32, want int64)"),
        (np.arange(5), {"epoch": -1}, "Job.follow: epoch (got -1, want 0..4294967295)"),
    ],
)
def test_what_a_job_is_refused(tmp_path, keys, others, text):
    pool, (made, _) = native.Pool(1), kit()
    job = begun(tmp_path, pool)
    with pytest.raises(ValueError) as caught:
        follow(job, made, out_of(), keys, **others)
    assert str(caught.value) == text
    follow(job, made, out_of(), np.arange(5))  # nobody else has the kit
    assert job.wait_done()


def test_records_of_another_size_are_refused(tmp_path):
    pool, (made, _) = native.Pool(1), kit(count=4)
    job = begun(tmp_path, pool)
    with pytest.raises(ValueError) as caught:
        follow(job, made, out_of(), np.arange(5))
    assert str(caught.value) == "Draws: outs: shape (got [4, 10], want [5, 10])"


def test_numbers_that_a_program_is_given_are_those_that_lie_there_when_a_job_follows(tmp_path):
    """Flips by them, in place of a uniform."""
    rows, given = np.zeros((5, 10), np.int32), np.zeros((5, 1))
    crops = native.CropRecords(rows, "bilinear", HEIGHT, WIDTH)
    runs = [(program([CROPS], given=[4]), False, given, [rows])]
    made, pool = native.Kit(crops, stored(None, True), None, runs), native.Pool(1)
    for flips in ([1, 0, 0, 1, 0], [0, 1, 1, 1, 0]):
        given[:, 0] = flips
        job = begun(tmp_path, pool)
        follow(job, made, out_of(), np.arange(5))
        assert job.wait_started(20.0)
        assert job.wait_done()
        assert rows[:, 8].tolist() == flips


@pytest.mark.parametrize("shape", [(5, 0), (4, 1), (5, 2)])
def test_other_numbers_than_a_program_is_given_are_refused(tmp_path, shape):
    rows = np.zeros((5, 10), np.int32)
    crops = native.CropRecords(rows, "bilinear", HEIGHT, WIDTH)
    runs = [(program([CROPS], given=[4]), False, np.zeros(shape), [rows])]
    made = native.Kit(crops, stored(None, True), None, runs)
    with pytest.raises(ValueError) as caught:
        follow(begun(tmp_path, native.Pool(1)), made, out_of(), np.arange(5))
    assert str(caught.value) == f"Draws: given: shape (got {[*shape]}, want [5, 1])"
