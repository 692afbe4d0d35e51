"""Docstrings in Google's convention: the arguments are the signature's, and the examples run."""

import doctest
import inspect
import re

import numpy as np
import pytest
from PIL import Image

import fastload
from fastload import transforms as T

# In the convention so far; names are only added.
PUBLIC = {
    "DataLoader": fastload.DataLoader,
    "open": fastload.open,
    "transforms.Compose": T.Compose,
    "transforms.Compose.__call__": T.Compose.__call__,
}
ARGUMENT = re.compile(r"^    (\w+): \S", re.MULTILINE)


def section(text: str, title: str) -> str:
    """Of a docstring, up to the next section."""
    after = re.split(rf"^{title}:\n", text, flags=re.MULTILINE)[1]
    return re.split(r"^\w+:\n", after, flags=re.MULTILINE)[0]


@pytest.fixture
def images(tmp_path, monkeypatch):
    """The folder `train`, where the examples run: two classes with four images each."""
    random = np.random.default_rng(0)
    for number in range(8):
        path = tmp_path / "train" / ("cat", "dog")[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 256, (90 + number, 120, 3), np.uint8)
        Image.fromarray(pixels).save(path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", PUBLIC)
def test_the_summary_is_one_sentence_of_one_line(name):
    summary = inspect.getdoc(PUBLIC[name]).split("\n\n")[0]
    assert "\n" not in summary
    assert len(summary) <= 100
    assert summary.endswith(".")


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_of_the_signature_is_documented_and_no_other(name):
    thing = PUBLIC[name]
    parameters = set(inspect.signature(thing).parameters) - {"self"}
    listed = ARGUMENT.findall(section(inspect.getdoc(thing), "Args"))
    assert len(listed) == len(set(listed))
    assert set(listed) == parameters


@pytest.mark.parametrize("name", PUBLIC)
def test_the_examples_run(name, images):
    found = doctest.DocTestParser().get_doctest(inspect.getdoc(PUBLIC[name]), {}, name, None, 0)
    assert found.examples
    said = []
    doctest.DocTestRunner(verbose=False).run(found, out=said.append)
    assert "".join(said) == ""


def test_what_raises_is_a_public_error():
    for thing in PUBLIC.values():
        text = inspect.getdoc(thing)
        if "\nRaises:\n" in text:
            assert set(ARGUMENT.findall(section(text, "Raises"))) <= set(fastload.__all__)


def test_help_of_the_loader_fits_a_terminal_of_80_columns():
    border = len(" |  ")  # help()'s
    lines = inspect.getdoc(fastload.DataLoader).splitlines()
    assert max(map(len, lines)) + border <= 80
