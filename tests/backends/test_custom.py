"""Users' functions as ops: native threads and the torch backend run the same code with the same
numbers.
"""

import copy
import os
import pickle
import re
import runpy
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import _native, rng
from fastload import transforms as T
from fastload.transforms import custom
from fastload.transforms.functions import Custom

GUIDE = Path(__file__).parents[2] / "docs" / "custom-ops.md"


@custom(draws=3)
def shade(image, u):
    height, width, channels = image.shape
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                image[y, x, c] = int(image[y, x, c] * u[c % 3])


@custom
def upside_down(image):
    return image[::-1]  # a view of the image itself


@custom(draws=2)
def noise(image, u):
    out = image.copy()
    out[int(u[0] * image.shape[0]), :, 1] = int(u[1] * 256)
    return out


@custom(draws=1)
def sometimes_outside(image, u):
    if u[0] > 0.9:
        image[image.shape[0], 0, 0] = 1


@custom(draws=1)
def sometimes_smaller(image, u):
    return image[1:] if u[0] > 0.9 else image


@custom(draws=1)
def sometimes_raises(image, u):
    if u[0] > 0.9:
        raise ValueError("too bright")


def always_raises(image, u):
    image[0, 0, 0] = 1 // int(u[0])


@custom(draws=1)
def only_python(image, u):
    image[:] = int(str(int(u[0] * 100)))


CROP = [T.RandomResizedCrop((20, 31)), T.RandomHorizontalFlip()]
PIPELINES = {
    "last": [*CROP, T.RandAugment(), shade, T.ToImage()],
    "first": [
        *CROP,
        shade,
        noise,
        T.RandAugment(),
        upside_down,
        T.RandomHorizontalFlip(),
        T.ToImage(channels_last=True),
    ],
    "between lookups": [
        *CROP,
        T.RandomSolarize(100),
        shade,
        T.RandomInvert(),
        upside_down,
        T.RandomEqualize(),
        T.ToTensor(),
    ],
    "inside others": [
        *CROP,
        T.RandomChoice([noise, T.RandomApply([shade, upside_down])]),
        T.AugMix(),
        noise,
        T.ToImage(),
    ],
}


def batches(path, ops, backend, size=7, **options):
    return list(
        fastload.DataLoader(
            fastload.open(path, ops), size, shuffle=True, seed=5, backend=backend, **options
        )
    )


@pytest.mark.parametrize("name", PIPELINES)
def test_native_gives_the_references_pixels_with_any_workers(name, folder):
    want = batches(folder, PIPELINES[name], "torch")
    for workers in (0, 1, 4):
        for (images, labels), (wanted, wanted_labels) in zip(
            batches(folder, PIPELINES[name], "native", num_workers=workers), want, strict=True
        ):
            assert torch.equal(images, wanted)
            assert torch.equal(labels, wanted_labels)


def test_batch_size_does_not_matter(folder):
    one, other = (
        torch.cat([images for images, _ in batches(folder, PIPELINES["first"], "native", size)])
        for size in (3, 16)
    )
    assert torch.equal(one, other)


def test_the_function_gets_the_samples_own_uniforms(folder):
    @custom(draws=5)
    def write(image, u):
        for k in range(5):
            image[0, k, 0] = int(u[k] * 256)

    (images, _), *_ = batches(
        folder, [T.Resize((4, 9)), T.RandAugment(), write, T.ToImage()], "native"
    )
    work = fastload.spec.Work(
        np.array(list(fastload.ShuffleSampler(40, 5))[:7]), np.zeros(7, np.int64), 5, 0, 0
    )
    keys = rng.sample_uniforms(work, 3, 1)[:, 0] * 2.0**32
    want = [(rng.keyed_uniforms(int(key), 5) * 256).astype(np.uint8).tolist() for key in keys]
    assert images[:, 0, 0, :5].tolist() == want
    assert len(set(map(tuple, want))) == 7


def nothing(image):
    pass


def same(image):
    return image


def same_and_draws(image, u):
    return image


@pytest.mark.parametrize("function", [nothing, same])
def test_nothing_is_changed_by_what_changes_nothing(function, make_image):
    image = make_image(17, 23, 0)
    out = custom(function)(Image.fromarray(image))
    assert np.array_equal(np.asarray(out), image)


def test_an_op_is_callable_on_images_and_tensors_and_leaves_them_alone(make_image):
    image = make_image(9, 14, 0)
    assert np.array_equal(np.asarray(upside_down(Image.fromarray(image))), image[::-1])
    tensor = torch.from_numpy(image).permute(2, 0, 1)
    before = tensor.clone()
    assert torch.equal(upside_down(tensor), before.flip(1))
    shade(tensor)
    assert torch.equal(tensor, before)
    grey = Image.fromarray(image[..., 0])
    assert np.array_equal(np.asarray(upside_down(grey)), image[::-1, :, 0])


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (sometimes_outside, "sometimes_outside raised IndexError: index is out of bounds"),
        (
            sometimes_smaller,
            "sometimes_smaller returned uint8 [19, 31, 3], want nothing or uint8 [20, 31, 3]",
        ),
        (sometimes_raises, "sometimes_raises raised ValueError: too bright"),
    ],
)
def test_what_fails_on_an_image_is_that_samples_error(op, reason, folder):
    errors = []
    for backend, workers in (("native", 0), ("native", 2), ("torch", 0), ("torch", 2)):
        with pytest.raises(fastload.SampleError) as caught:
            batches(folder, [*CROP, op, T.ToImage()], backend, num_workers=workers)
        errors.append(str(caught.value))
    data = fastload.open(folder)
    sample = caught.value.index
    assert errors == [f"{data.samples[sample][0]}, sample {sample}: op 3: {reason}"] * 4
    torch.manual_seed(0)
    data = fastload.open(folder, [*CROP, op])
    with pytest.raises(fastload.SampleError) as caught:
        [data[0] for _ in range(200)]
    assert str(caught.value) == f"{data.samples[0][0]}, sample 0: {reason}"


def test_images_that_pillow_decodes_too(bad_folder, encode, make_image):
    root = bad_folder({"1.png": encode(make_image(30, 41, 2), "PNG")})
    ops = [T.Resize((20, 31)), custom(always_raises, draws=1), T.ToImage()]
    for order in ([0, 1], [1, 0]):
        errors = []
        for backend in ("native", "torch"):
            with pytest.raises(fastload.SampleError) as caught:
                list(
                    fastload.DataLoader(
                        fastload.open(root, ops), 1, sampler=order, seed=1, backend=backend
                    )
                )
            errors.append(str(caught.value))
        name = os.path.join(root, "a", ("0good.jpg", "1.png")[order[0]])
        assert (
            errors
            == [
                (
                    f"{name}, sample {order[0]}: op 2: always_raises raised ZeroDivisionError: integer "
                    "division by zero"
                )
            ]
            * 2
        )
    done = [T.Resize((20, 31)), shade, T.ToImage()]
    native, reference = (
        list(fastload.DataLoader(fastload.open(root, done), 2, seed=1, backend=b))
        for b in ("native", "torch")
    )
    assert torch.equal(native[0][0], reference[0][0])


def test_an_inner_function_is_named(folder):
    data = fastload.open(folder, [*CROP, T.RandomApply([shade, only_python]), T.ToImage()])
    reason = (
        "op 3 (RandomApply) holds only_python, which stays in Python: Numba cannot compile it: "
    )
    with pytest.raises(fastload.BackendError, match=re.escape(reason)):
        fastload.DataLoader(data, 8, backend="native")


def test_an_error_ends_the_epoch_not_the_loader(folder):
    loader = fastload.DataLoader(
        fastload.open(folder, [*CROP, sometimes_raises, T.ToImage()]),
        40,
        seed=5,
        backend="native",
        num_workers=2,
    )
    with pytest.raises(fastload.SampleError):
        list(loader)
    with pytest.raises(fastload.SampleError):
        list(loader)


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


DRAWS, RESULT = (
    "want a whole number from 0 to 262144",
    "want nothing (it works in place) or uint8 [height, width, channels]",
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
    (
        custom(seedless),
        (
            "uses a random generator that the loader's seed does not reach; use draws=N and the "
            "uniforms u"
        ),
    ),
]


@pytest.mark.parametrize(("op", "problem"), MISTAKES, ids=[problem[:30] for _, problem in MISTAKES])
def test_mistakes_are_found_when_the_pipeline_is_planned(op, problem, folder):
    data = fastload.open(folder, [T.Resize((8, 9)), op, T.ToImage()])
    with pytest.raises(fastload.PipelineError) as caught:
        fastload.DataLoader(data)
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
