"""Users' functions as ops: what is refused, what a function is called with, and where it runs
without numba.
"""

import copy
import pickle
import re
import runpy
import sys
from pathlib import Path
from random import randint

import numba
import numpy as np
import pytest
import torch

import fastload
from fastload import _native, rng
from fastload import transforms as T
from fastload.transforms import custom
from fastload.transforms.functions import Custom

from .custom_helpers import CROP, batches, noise, only_python, same, shade, upside_down

GUIDE = Path(__file__).parents[2] / "docs" / "custom-ops.md"


def same_and_draws(image, u):
    return image


def test_what_numba_cannot_compile_is_the_torch_backends(folder, monkeypatch):
    data = fastload.open(folder, [*CROP, only_python, T.ToImage()])
    loader = fastload.DataLoader(data, 8, seed=3)
    first, *_, last = loader.explain().splitlines()
    assert first == "backend torch, the caller's thread, device cpu"
    reason = (
        "backend native cannot run this plan: op 3 (only_python) stays in Python: Numba "
        "cannot compile it: "
    )
    assert last.strip().startswith(reason)
    assert len(last) > len(reason) + 10
    key = (
        rng.sample_uniforms(fastload.spec.Work(np.arange(8), np.zeros(8, np.int64), 3, 0, 0), 3, 1)[
            :, 0
        ]
        * 2.0**32
    )
    want = [int(rng.keyed_uniforms(int(k), 1)[0] * 100) for k in key]
    assert next(iter(loader))[0][:, 0, 0, 0].tolist() == want
    with pytest.raises(fastload.BackendError, match=re.escape(reason)):
        fastload.DataLoader(data, 8, backend="native")


@pytest.mark.parametrize("how", ["missing", "disabled"])
def test_without_numba_python_runs_and_explain_says_so(how, folder, monkeypatch):
    if how == "missing":
        monkeypatch.setattr("importlib.util.find_spec", {}.get)
    else:
        monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    op = custom(upside_down.function)
    ops = [T.Resize((8, 9)), op, T.ToImage()]
    why = (
        "Numba is not installed (pip install numba)"
        if how == "missing"
        else "NUMBA_DISABLE_JIT is set"
    )
    loader = fastload.DataLoader(fastload.open(folder, ops), 40)
    assert (
        loader.explain().splitlines()[-1]
        == f"  backend native cannot run this plan: op 2 (upside_down) stays in Python: {why}"
    )
    ((images, _),) = loader
    ((plain, _),) = batches(folder, ops[:1], "native", 40)
    ((ordered, _),) = fastload.DataLoader(fastload.open(folder, ops[:1]), 40)
    assert torch.equal(images, ordered.flip(2))
    assert plain.shape == images.shape


def inverted(image):
    return 255 - image


def one_row(image):
    return image[0]


def seedless(image):
    image[:] = np.random.randint(256)  # noqa: NPY002


def by_name(image):
    image[:] = randint(0, 255)


def of_a_generator(image):
    image[:] = GENERATOR.integers(256)


def of_torch(image):
    image[:] = int(torch.randint(256, ()))


DRAWS, RESULT = (
    "want a whole number from 0 to 262144",
    "want nothing (it works in place) or uint8 [height, width, channels]",
)
GENERATOR = np.random.default_rng(1)
UNSEEDED = (
    "uses a random generator that the loader's seed does not reach; use draws=N and the uniforms u"
)
MISTAKES = [
    (custom(same, draws=1), "takes (image), want (image, u), since draws is 1"),
    (custom(same_and_draws), "takes (image, u), want (image), since draws is 0"),
    (custom(same_and_draws, draws=-1), f"draws is -1, {DRAWS}"),
    (custom(same_and_draws, draws=True), f"draws is True, {DRAWS}"),
    (custom(same_and_draws, draws=2.0), f"draws is 2.0, {DRAWS}"),
    (custom(same_and_draws, draws=262145), f"draws is 262145, {DRAWS}"),
    (custom(inverted), f"returns array(int64, 3d, C), {RESULT}; end with .astype(np.uint8)"),
    (custom(one_row), f"returns array(uint8, 2d, C), {RESULT}; end with .astype(np.uint8)"),
    *((custom(drawing), UNSEEDED) for drawing in (seedless, by_name, of_a_generator, of_torch)),
]


@pytest.mark.parametrize(("op", "problem"), MISTAKES, ids=[problem[:30] for _, problem in MISTAKES])
def test_mistakes_are_found_before_anything_runs(op, problem, folder):
    with pytest.raises(fastload.PipelineError) as caught:
        fastload.open(folder, [T.Resize((8, 9)), op, T.ToImage()])
    assert str(caught.value) == f"op 2 ({op.name}): {problem}"


def test_only_functions_are_decorated():
    with pytest.raises(fastload.PipelineError) as caught:
        custom(3)
    assert str(caught.value) == "custom: got 3, want a function; write @custom or @custom(draws=2)"


def test_a_function_that_numba_has_compiled_already(folder):
    op = custom(numba.njit(upside_down.function))
    assert isinstance(op, Custom)
    assert op == upside_down
    assert op.name == "upside_down"


def test_ops_are_pickled_by_name_and_copied_as_themselves(monkeypatch):
    monkeypatch.setitem(sys.modules, shade.function.__module__, sys.modules[__name__])
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    assert pickle.loads(pickle.dumps(shade)) is shade
    assert pickle.loads(pickle.dumps([*CROP, T.RandomApply([noise])]))[2].transforms[0] is noise
    assert copy.deepcopy([shade])[0] is copy.copy(shade) is shade
    local = custom(lambda image: image)
    with pytest.raises(fastload.PipelineError) as caught:
        pickle.dumps(local)
    place = f"{__name__}.{local.function.__qualname__}"
    want = (
        "is no name of a module, so worker processes of the torch backend cannot find it; put "
        "@custom at the top of a module"
    )
    assert str(caught.value) == f"<lambda>: {place} {want}, or use num_workers=0"


def test_a_program_calls_only_functions_that_are_there(make_image):
    image = make_image(5, 8, 0)
    code = upside_down.code
    functions = _native.Functions([(code.address, 0)], code)
    assert len(functions) == 1

    def program(number: float, key: float) -> np.ndarray:
        row = np.zeros((1, 13))
        row[0, [0, 5, 6]] = _native.INSTRUCTIONS.index("Custom"), number, key
        return row

    assert np.array_equal(_native.augment(image, program(0, 7), "best", functions), image[::-1])
    where, whole = "augment: program[0]: ", "want a whole number, 0.."
    for number, key, text in (
        (1, 0, f"{where}function (got 1, want 0..0)"), (-1, 0, (f"{where}function (got -1, "
                                                               f"{whole}1e+09)")),
        (0.5, 0, f"{where}function (got 0.5, {whole}1e+09)"), (np.nan, 0, (f"{where}function (got "
                                                                          f"nan, {whole}1e+09)")),
        (0, 2.0**32, f"{where}key (got 4.2949673e+09, {whole}4.2949673e+09)"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            _native.augment(image, program(number, key), "best", functions)
    with pytest.raises(
        ValueError,
        match=r"^augment: program\[0\]: function \(got 0, want none, since there are no "
        r"functions\)$",
    ):
        _native.augment(image, program(0, 0))
    with pytest.raises(TypeError, match=r"^functions: want _native\.Functions or None$"):
        _native.augment(image, program(0, 0), "best", [(code.address, 0)])


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        ((0, 1), "Functions[0]: address (got 0, want that of a function)"),
        ((8, -1), "Functions[0]: uniforms (got -1, want 0..262144)"),
        ((8, 262145), "Functions[0]: uniforms (got 262145, want 0..262144)"),
    ],
)
def test_function_tables_are_checked(pair, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        _native.Functions([pair], "owner")


def test_the_guides_example_runs(folder, tmp_path):
    (source,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    (tmp_path / "guide.py").write_text(source)
    ops = runpy.run_path(str(tmp_path / "guide.py"))["OPS"]
    loader = fastload.DataLoader(fastload.open(folder, ops), 16, seed=1)
    assert loader.explain().startswith("backend native, ")
    native = [images for images, _ in loader]
    assert all(
        torch.equal(a, b)
        for a, (b, _) in zip(
            native,
            fastload.DataLoader(fastload.open(folder, ops), 16, seed=1, backend="torch"),
            strict=True,
        )
    )
