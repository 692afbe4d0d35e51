"""Programs of draws: each step against NumPy's function, and what is refused; jobs that draw by
themselves.
"""

import numpy as np
import pytest

from fastload import _native as native
from fastload.draws.program import loop_of

from .helpers import fetch, files, jpeg, picture, scene, whole

STEPS = {name: code for code, name in enumerate(native.DRAW_STEPS)}
NUMBERS = np.array(
    [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-300, 1e300, 3.0, -7.0, 2.0**31, 2.0**53, 0.1, np.pi]
)
OTHERS = np.array([1.0, 2.0, -3.0, 0.25, 7.0, -1e10])


def program(steps, *, registers, outputs, given=(), uniforms=(), **others):
    made = {"lists": [], "constants": [], "sizes": [], "refusals": [], "functions": [], **others}
    return native.Draws(
        registers=registers, steps=np.array(steps, np.int32).reshape(-1, 5), given=list(given),
        uniforms=np.array(uniforms, np.int32).reshape(-1, 3), outputs=outputs, **made
    )  # fmt: skip


def run(draws, given, width, kind=np.float64, sizes=None):
    """The one output, of samples numbered from 0; None where it was refused."""
    count = len(given)
    out = np.zeros((count, width), kind)
    sizes = np.zeros((count, 2), np.int32) if sizes is None else sizes
    key = np.arange(count)
    return out if draws.run(7, 3, key, key * 0, sizes, given, [out]) else None


def pairs() -> np.ndarray:
    a, b = (grid.ravel() for grid in np.meshgrid(NUMBERS, OTHERS))
    return np.ascontiguousarray(np.stack([a, b], axis=1))


@pytest.mark.parametrize(
    "name", [name for name in STEPS if isinstance(getattr(np, name, None), np.ufunc)]
)
def test_a_step_of_a_name_that_numpy_has_gives_its_bits(name):
    function = getattr(np, name)
    given = np.trunc(pairs()) if name == "floor_divide" else pairs()
    if name == "floor_divide":
        given[:, 1] = np.where(given[:, 1] == 0, 1.0, given[:, 1])
        given = given[np.abs(given[:, 0]) < 2.0**53]
    draws = program(
        [(STEPS[name], 2, 0, 1, 1)], registers=3, given=(0, 1), outputs=[("float64", [2])]
    )
    with np.errstate(all="ignore"):
        operands = 1 if function.types[0].index("-") == 1 else 2
        want = function(*given.T[:operands]).astype(np.float64)
    got = run(draws, given, 1)[:, 0]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "cos", "sin", "tan", "round15"])
def test_functions_are_numpys_loops_and_pythons_math(name):
    import math

    given = np.abs(pairs()[:, :1]) % 9 + 0.01
    own = {"round15": lambda value: round(value, 15)}.get(name) or getattr(math, name, None)
    want = getattr(np, name)(given) if name in ("exp", "log", "log1p") else None
    want = np.array([[own(v)] for v in given[:, 0].tolist()]) if want is None else want
    draws = program(
        [(STEPS["call"], 1, 0, 0, 0), (STEPS["masked"], 2, 0, 0, 3)], registers=4, given=(0,),
        constants=[(3, 0.0)], outputs=[("float64", [1, 2])], functions=[loop_of(name)],
    )  # fmt: skip
    got = run(draws, np.ascontiguousarray(given), 2)
    np.testing.assert_array_equal(got[:, :1], want)
    if name not in ("exp", "log", "log1p"):
        assert not got[:, 1].any()


def test_lists_are_picked_from_and_sorted_as_numpy_does():
    rng = np.random.Generator(np.random.Philox(1))
    given = np.ascontiguousarray(rng.integers(0, 4, (130, 5)).astype(np.float64))
    listed = {"lists": [0, 1, 2, 3, 4], "registers": 20, "given": range(5)}
    steps = [(STEPS["argsort"], 5, 0, 0, 5), (STEPS["sort"], 10, 0, 0, 5)]
    steps += [(STEPS["argmax"], 15, 0, 0, 5), (STEPS["pick"], 16, 0, 0, 5)]
    draws = program(steps, outputs=[("float64", list(range(5, 17)))], **listed)
    got = run(draws, given, 12)
    np.testing.assert_array_equal(got[:, :5], np.argsort(given, axis=1, kind="stable"))
    np.testing.assert_array_equal(got[:, 5:10], np.sort(given, axis=1))
    np.testing.assert_array_equal(got[:, 10], given.argmax(axis=1))
    np.testing.assert_array_equal(got[:, 11], given[np.arange(130), given[:, 0].astype(int)])
    given[77, 0] = 5.0  # no such place
    assert run(draws, given, 12) is None


def test_uniforms_are_those_of_the_op():
    draws = program(
        [], registers=3, uniforms=[(4, 2, 0), (4, 3, 1), (9, 70, 2)],
        outputs=[("float64", [0, 1, 2])],
    )  # fmt: skip
    got, key = run(draws, np.zeros((100, 0)), 3), np.arange(100)
    four, nine = np.empty((100, 4)), np.empty((100, 71))
    native.uniforms(7, 3, key, key * 0, 4, four)
    native.uniforms(7, 3, key, key * 0, 9, nine)
    np.testing.assert_array_equal(got, np.stack([four[:, 2], four[:, 3], nine[:, 70]], axis=1))


def test_types_sizes_and_refusals():
    sizes = np.array([[30, 40], [50, 61]], np.int32)
    draws = program([], registers=2, sizes=[0, 1], outputs=[("int32", [1, 0])])
    assert run(draws, np.zeros((2, 0)), 2, np.int32, sizes).tolist() == [[40, 30], [61, 50]]
    large = program([], registers=1, given=[0], outputs=[("int32", [0])])
    assert run(large, np.array([[2.0**31]]), 1, np.int32) is None
    assert run(large, np.array([[-(2.0**31)]]), 1, np.int32).tolist() == [[-(2**31)]]
    refusing = program([], registers=1, given=[0], refusals=[0], outputs=[("float64", [0])])
    assert run(refusing, np.array([[0.0], [1.0]]), 1) is None


@pytest.mark.parametrize(
    ("steps", "others", "text"),
    [
        ([(0, 3, 0, 0, 0)], {}, r"Draws: out \(got 3, want 0\.\.2\)"),
        ([(0, 0, 9, 0, 0)], {}, r"Draws: a \(got 9, want 0\.\.2\)"),
        ([(99, 0, 0, 0, 0)], {}, rf"Draws: step \(got 99, want 0\.\.{len(STEPS) - 1}\)"),
        ([(STEPS["pick"], 0, 0, 1, 2)], {"lists": [0, 1]}, r"Draws: first \(got 1, want 0\.\.0\)"),
        ([(STEPS["call"], 0, 0, 0, 0)], {}, r"Draws: b \(got 0, want 0\.\.-1\)"),
        ([], {"functions": [("cosh", 0, 0)]}, r"Draws: function \(got cosh, want one of MATH\)"),
        ([], {"outputs": [("int8", [0])]}, r"Draws: dtype \(got int8, want int32, uint32 or flo"),
        ([], {"outputs": [("int32", [-1])]}, r"Draws: output \(got -1, want 0\.\.2\)"),
    ],
)
def test_what_a_program_may_not_name(steps, others, text):
    with pytest.raises(ValueError, match=text):
        program(steps, **{"registers": 3, "outputs": [], **others})


def told(tmp_path, payloads, most_pixels=0, threads=2):
    """A job that was told to make whole images by a program, what it draws into, and its output."""
    pool = native.Pool(threads)
    job = fetch(pool, files(tmp_path, payloads))
    count = len(payloads)
    draws = program(
        [], registers=4, sizes=[0, 1], constants=[(2, 0.0), (3, 1.0)],
        outputs=[("int32", [2, 2, 0, 1, 0, 1, 2, 2, 2, 3])],
    )  # fmt: skip
    rows, out = np.zeros((count, 10), np.int32), np.zeros((count, 20, 30, 3), np.uint8)
    key = np.arange(count)
    job.then(
        [picture(rows, "bilinear", None, out, 20, 30, True)],
        [[(draws, key, key * 0, np.zeros((count, 0)), [rows])]],
        seed=1, epoch=0, most_pixels=most_pixels,
    )  # fmt: skip
    return pool, job, rows, out


def test_a_job_that_was_told_goes_on_by_itself(tmp_path):
    images = [scene(20, 30, seed) for seed in range(70)]
    pool, job, rows, out = told(tmp_path, [jpeg(image) for image in images])
    assert job.wait_started(20.0)
    job.wait_done()
    assert job.drawn
    assert job.regular
    np.testing.assert_array_equal(rows[:, :9], whole(job.sizes, 20, 30))
    assert out.reshape(70, -1).any(axis=1).all()
    again = np.zeros_like(out)
    other = fetch(pool, files(tmp_path, [jpeg(image) for image in images]))
    other.wait_fetched()
    other.run([picture(rows, "bilinear", None, again, 20, 30, True)])
    other.wait_done()
    np.testing.assert_array_equal(out, again)


@pytest.mark.parametrize("payload", [b"", b"no image", jpeg(scene(21, 30))])
def test_a_job_with_an_irregular_sample_is_left_as_one_that_was_told_nothing(tmp_path, payload):
    """The last one has a size that the crop of another is not for."""
    _pool, job, _rows, out = told(tmp_path, [jpeg(scene(20, 30)), payload], most_pixels=30 * 30)
    assert job.wait_started(20.0)
    if payload[:2] == b"\xff\xd8":
        job.wait_done()
        assert job.status.tolist() == [native.OK, native.OK]
    else:
        assert not job.drawn
        job.wait_fetched()
        assert job.status[1] != native.OK
        assert not out.any()


def test_a_job_that_has_drawn_knows_that_a_sample_failed_later(tmp_path):
    good = jpeg(scene(20, 30))
    cut = good[: good.rindex(b"\xff\xda") + 20] + b"\xff\xd9"  # hardly anything of its scan
    pool, job, _rows, out = told(tmp_path, [good, cut, good])
    assert job.wait_started(20.0)
    job.wait_done()
    assert job.drawn
    assert not job.regular
    assert job.status[1] != native.OK
    assert out[0].any()
    np.testing.assert_array_equal(out[0], out[2])
    del job  # what it leaves behind is freed by the pool, which goes on
    _pool, other, _rows, again = told(tmp_path, [good], threads=0)
    other.wait_done()
    np.testing.assert_array_equal(again[0], out[0])
    assert pool.threads == 2


def test_larger_images_than_pillow_allows_are_left_to_python(tmp_path):
    _pool, job, rows, _out = told(tmp_path, [jpeg(scene(20, 30))], most_pixels=30 * 30 - 1)
    assert job.wait_started(20.0)
    assert not job.drawn
    job.wait_fetched()
    assert not rows.any()
