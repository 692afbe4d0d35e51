"""Programs that use only fastload's own parts end:

Numba's threads are never TBB's unless somebody chose them.
"""

import os

import pytest

from fastload.backends.ffcv import installed as ffcv_installed

pytestmark = pytest.mark.skipif(
    bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}"
)

ROUNDS = int(
    os.environ.get("FASTLOAD_END_ROUNDS", "1")
)  # each compiles FFCV's loop, which takes a while; 100 before a release

PROGRAM = """
import multiprocessing, os, sys, warnings
import numpy as np
import fastload, fastload.errors
from fastload import cli, transforms as T


@T.custom(draws=1)
def darker(image, u):
    for y in range(image.shape[0]):
        image[y] = (image[y] * u[0]).astype(np.uint8)


def epochs(backend):
    ops = [T.RandomResizedCrop((24, 31)), darker, T.ToImage()]
    loader = fastload.DataLoader(
        fastload.open(sys.argv[2], ops), 4, shuffle=True, num_workers=2, seed=0, backend=backend
    )
    return [images.sum().item() for _ in range(2) for images, _ in loader]


def worker():
    try:
        epochs("ffcv")
    except fastload.errors.BackendError as error:
        assert "the process was forked when Numba's OpenMP threads ran already" in str(error)


argv = sys.argv
sys.argv = ["fastload", "convert", argv[1], argv[2], "--to", "beton"]
try:
    cli.main()
except SystemExit as end:
    assert not end.code
sys.argv = argv
for backend in ("native", "ffcv"):
    epochs(backend)
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks where a library has threads
    # as FFCV's writer makes them
    child = multiprocessing.get_context("fork").Process(target=worker)
    child.start()
    child.join()
    assert child.exitcode == 0
from numba import threading_layer
print("layer", threading_layer())
"""


def layer(program, small, place, **environment):
    done = program("-c", PROGRAM, str(small), str(place), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].removeprefix("layer ")


@pytest.fixture
def images(tmp_path, encode, make_image):
    for number in range(8):
        path = tmp_path / "in" / "ab"[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(make_image(40 + number, 61, number)))
    return tmp_path / "in"


@pytest.mark.long
def test_programs_end_and_never_load_tbb(program, images, tmp_path):
    for number in range(ROUNDS):
        assert layer(program, images, tmp_path / f"{number}.beton") in ("omp", "workqueue")


@pytest.mark.long
def test_what_the_user_chose_stays(program):
    load = (
        "from fastload.backends.ffcv import imports; imports.load(); from numba import "
        "threading_layer; print(threading_layer())"
    )
    chosen = 'import numba; numba.config.THREADING_LAYER = "workqueue"; '
    assert program("-c", load, NUMBA_THREADING_LAYER="workqueue").stdout == "workqueue\n"
    assert program("-c", chosen + load).stdout == "workqueue\n"
    assert program("-c", load).stdout in ("omp\n", "workqueue\n")


def test_custom_ops_alone_start_no_threads_of_numbas(program):
    code = """
import numpy as np
from fastload import transforms as T

@T.custom
def inverted(image):
    image[:] = 255 - image

assert inverted.code.address
from numba.np.ufunc import parallel
print(parallel._is_initialized)
"""
    done = program("-c", code)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
