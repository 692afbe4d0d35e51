"""Names: what completion shows, and what a mistyped name is told."""

import subprocess
import sys

import pytest

import fastload
from fastload import transforms as T


def test_completion_shows_the_public_names_of_transforms_only():
    assert dir(T) == sorted(T.__all__)
    assert not [name for name in dir(T) if type(getattr(T, name)) is type(sys)]


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        (T, "RandomResizeCrop", "; did you mean RandomResizedCrop?"),
        (T, "Colorjitter", "; did you mean ColorJitter?"),
        (T, "zzz", ""),
        (T, "_Resize", ""),
        (fastload, "Dataloader", "; did you mean DataLoader?"),
        (fastload, "zzz", ""),
    ],
)
def test_an_unknown_name_gets_a_suggestion(module, name, hint):
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    assert str(error.value) == f"module {module.__name__!r} has no attribute {name!r}{hint}"


def test_a_traceback_suggests_once():
    code = "import fastload.transforms as T\nT.RandomResizeCrop"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.stderr.splitlines()[-1] == (
        "AttributeError: module 'fastload.transforms' has no attribute 'RandomResizeCrop'; did you "
        "mean RandomResizedCrop?"
    )
