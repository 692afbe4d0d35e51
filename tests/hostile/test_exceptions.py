"""A bad file raises what PyTorch's loader raises for it, besides a SampleError: programs' `except`
clauses go on to catch it.
"""

import contextlib
import errno
import pickle
import pkgutil
import traceback
import warnings

import numpy as np
import PIL
import pytest
import torch.utils.data
from PIL import Image
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload import errors
from fastload import transforms as T
from fastload.conversion import job
from fastload.errors import SampleError, sample_error

from .faulty_files import BYTES, PLACES, picture

TRANSFORM = v1.Compose([v1.Resize((6, 9)), v1.ToTensor()])


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A data set of bad files, made before some of them go, and their names."""
    root = tmp_path_factory.mktemp("faulty")
    names = [*BYTES, *(damage.__name__ for damage in PLACES)]
    for number, name in enumerate(names):
        path = root / f"class{number:03d}" / "image.jpg"
        path.parent.mkdir()
        path.write_bytes(BYTES[name]() if name in BYTES else picture("JPEG"))
    data, opened = ImageFolder(str(root), TRANSFORM), fastload.open(root, TRANSFORM)
    for number, damage in enumerate(PLACES, len(BYTES)):
        damage(root / f"class{number:03d}" / "image.jpg")
    yield data, opened, names
    for path in root.glob("*/*"):
        with contextlib.suppress(OSError):
            path.chmod(0o600)


def outcomes(loader) -> list[Exception | None]:
    found: list[Exception | None] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, of files that are cut off
        iterator = iter(loader)
        while True:
            try:
                next(iterator)
                found.append(None)
            except StopIteration:
                return found
            except Exception as error:
                found.append(error)


@pytest.fixture(scope="module")
def torchs(faulty):
    """What PyTorch's loader raises, by the number of its workers."""
    return {
        workers: outcomes(torch.utils.data.DataLoader(faulty[0], num_workers=workers))
        for workers in (0, 1)
    }


LOADERS = {  # the class, the data set (torchvision's or ours) and how
    "native": (fastload.DataLoader, 0, {"num_workers": 0}),
    "native, threads": (fastload.DataLoader, 0, {"num_workers": 2}),
    "reference": (fastload.DataLoader, 1, {"num_workers": 0, "backend": "torch"}),
    "reference, processes": (fastload.DataLoader, 1, {"num_workers": 1, "backend": "torch"}),
    "the data set itself": (torch.utils.data.DataLoader, 1, {"num_workers": 0}),
    "the data set itself, processes": (torch.utils.data.DataLoader, 1, {"num_workers": 1}),
}


@pytest.mark.parametrize("name", LOADERS)
def test_a_bad_file_is_what_the_program_expects(name, faulty, torchs):
    names = faulty[2]
    kind, which, how = LOADERS[name]
    loader = kind(faulty[which], **how)
    if name.startswith("native"):
        assert loader.explain().startswith("backend native")
    found = outcomes(loader)
    assert len(found) == len(names) > 60
    met = set()
    for what, ours, plain, from_a_worker in zip(names, found, torchs[0], torchs[1], strict=True):
        assert (ours is None) == (plain is None), (what, ours, plain)
        if ours is None:
            continue
        assert isinstance(ours, SampleError), (what, ours)
        assert isinstance(ours, type(plain)), (what, type(ours), type(plain))
        assert isinstance(ours, type(from_a_worker)), (what, type(ours), type(from_a_worker))
        if (
            isinstance(plain, OSError) and name != "the data set itself, processes"
        ):  # PyTorch's workers lose it
            assert ours.errno == plain.errno, what
        met.add(type(plain))
    assert {OSError, FileNotFoundError, IsADirectoryError, NotADirectoryError} < met
    assert {SyntaxError, PIL.UnidentifiedImageError, Image.DecompressionBombError} < met


def test_texts_stay_one_line_of_ours(faulty):
    data, _, names = faulty
    for number, error in enumerate(outcomes(fastload.DataLoader(data))):
        if error is not None:
            text, where = str(error), data.samples[number][0]
            assert text.startswith(f"{where}, sample {number}: cannot be "), text
            assert "\n" not in text
            shown = traceback.format_exception_only(error)
            assert shown == [f"fastload.errors.{type(error).__name__}: {text}\n"], names[number]


def test_they_travel(faulty):
    data, _, names = faulty
    for what, error in zip(names, outcomes(fastload.DataLoader(data)), strict=True):
        if error is not None:
            again = pickle.loads(pickle.dumps(error))
            assert type(again) is type(error), what
            assert str(again) == str(error)
            assert (again.where, again.index, again.reason) == (
                error.where,
                error.index,
                error.reason,
            )
            assert vars(again) == vars(error)
            assert getattr(again, "errno", 0) == getattr(error, "errno", 0)


def test_programs_catch_what_they_always_did(faulty):
    data, _, names = faulty

    def loaded(name):
        return list(fastload.DataLoader(torch.utils.data.Subset(data, [names.index(name)])))

    with pytest.raises(FileNotFoundError) as caught:
        loaded("missing")
    path = data.samples[names.index("missing")][0]
    assert (caught.value.errno, caught.value.strerror, caught.value.filename) == (
        2,
        "No such file or directory",
        path,
    )
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    for name, kind in {
        "text": PIL.UnidentifiedImageError,
        "a PNG bomb": Image.DecompressionBombError,
        "loop": OSError,
    }.items():
        with pytest.raises(kind):
            loaded(name)
    with pytest.raises((ValueError, SyntaxError)):
        loaded("a PNG whose chunks have no names")


@pytest.mark.parametrize("known", errors.ALSO)
def test_each_class_of_the_table(known):
    cause = pkgutil.resolve_name(known)("what was raised")
    made = sample_error("file", 3, "reason", cause)
    assert type(made).__name__ == errors.ALSO[known]
    assert getattr(errors, type(made).__name__) is type(made)
    assert isinstance(made, type(cause))
    assert str(made) == "file, sample 3: reason"
    assert repr(made) == f"{type(made).__name__}('file, sample 3: reason')"
    assert made.__cause__ is cause
    assert type(pickle.loads(pickle.dumps(made))) is type(made)
    assert (
        str(type(made)("as PyTorch raises a worker's again"))
        == "as PyTorch raises a worker's again"
    )


def test_what_is_in_no_table():
    class OddError(ArithmeticError):
        pass

    assert type(sample_error("file", 3, "reason", OddError())) is errors.ArithmeticSampleError
    assert type(sample_error("file", 3, "reason", IndexError())) is errors.LookupSampleError
    assert type(sample_error("file", 3, "reason", Exception())) is SampleError
    assert type(sample_error("file", 3, "reason", None)) is SampleError
    with pytest.raises(
        AttributeError,
        match=r"^module 'fastload.errors' has no attribute 'StopIterationSampleError'$",
    ):
        _ = errors.StopIterationSampleError


def test_a_shard_that_was_cut_off_or_changed(tmp_path, folder):
    job.run(job.prepare(folder, str(tmp_path / "shards"), job.Options(workers=1)))
    data = fastload.open(tmp_path / "shards", [T.Resize((6, 9))])
    place = data.pipeline.source.locate(np.array([0, 39]))
    with open(data.pipeline.source.files.path(int(place.file[0])), "r+b") as file:
        file.seek(int(place.offset[0]) + 60)
        file.write(b"changed")
        file.truncate(int(place.offset[1]) + 60)
    for named in ({"num_workers": 2}, {"backend": "torch"}):
        loader = fastload.DataLoader(torch.utils.data.Subset(data, [0, 39]), **named)
        found = outcomes(loader)
        assert [type(error) for error in found] == [errors.OSSampleError] * 2
        assert [error.errno for error in found] == [
            errno.EIO if "backend" not in named else None
        ] * 2
        assert "checksum mismatch" in str(found[0])
        assert "ends at byte" in str(found[1])
