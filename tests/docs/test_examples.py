"""Docstrings in Google's convention: the arguments are the signature's, and the examples run."""

import doctest
import inspect
import json
import re

import numpy as np
import pytest
from PIL import Image

import fastload
from fastload import detection, extending, image, profiler, recipes
from fastload import transforms as T
from fastload.conversion import distributed

ARGUMENT = re.compile(r"^    \*{0,2}(\w+): \S", re.MULTILINE)


def public() -> dict[str, object]:
    """The Python classes and functions of every `__all__`, by their names below fastload."""
    things = {"transforms.Compose.__call__": T.Compose.__call__}
    for module in (fastload, T, image, detection, extending, profiler, recipes, distributed):
        below = module.__name__.removeprefix("fastload").lstrip(".")
        for name in module.__all__:
            thing = getattr(module, name)
            home = str(getattr(thing, "__module__", ""))
            ours = home.startswith("fastload.") and home != "fastload._native"
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and ours:
                things[f"{below}.{name}".lstrip(".")] = thing
    return things


PUBLIC = public()


def is_error(thing: object) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Exception)


def section(text: str, title: str) -> str:
    """Of a docstring, up to the next section."""
    after = re.split(rf"^{title}:\n", text, flags=re.MULTILINE)[1]
    return re.split(r"^\w+:\n", after, flags=re.MULTILINE)[0]


NOT_ERRORS = sorted(name for name, thing in PUBLIC.items() if not is_error(thing))


@pytest.fixture
def images(tmp_path, monkeypatch):
    """The folder `train`, where the examples run: two classes with four images each."""
    random = np.random.default_rng(0)
    for number in range(8):
        path = tmp_path / "train" / ("cat", "dog")[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 256, (90 + number, 120, 3), np.uint8)
        Image.fromarray(pixels).save(path)
    boxed(tmp_path)
    monkeypatch.chdir(tmp_path)


def boxed(folder):
    """The data sets with boxes: yolo, lvis, oi, voc."""
    (folder / "yolo" / "labels" / "train").mkdir(parents=True)
    names = ("yolo/images/train/0.jpg", "lvis/val2017/7.jpg", "oi/images/0a.jpg")
    for name in names:
        (folder / name).parent.mkdir(parents=True)
        Image.new("RGB", (120, 90)).save(folder / name)
    image = {"id": 7, "coco_url": "http://images.cocodataset.org/val2017/7.jpg"}
    box = {"id": 1, "image_id": 7, "category_id": 3, "bbox": [10, 20, 30, 40]}
    for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (folder / "voc" / name).mkdir(parents=True)
    Image.new("RGB", (120, 90)).save(folder / "voc" / "JPEGImages" / "a.jpg")
    sides = "<xmin>30</xmin><ymin>30</ymin><xmax>90</xmax><ymax>60</ymax>"
    dog = f"<object><name>dog</name><bndbox>{sides}</bndbox></object>"
    for name, text in (
        ("voc/Annotations/a.xml", f"<annotation>{dog}</annotation>"),
        ("voc/ImageSets/Main/train.txt", "a\n"),
        ("yolo/data.yaml", "train: images/train\nnames: [cat, dog]\n"),
        ("yolo/labels/train/0.txt", "1 0.5 0.5 0.5 0.33333333333\n"),
        ("lvis/annotations.json", json.dumps({"images": [image], "annotations": [box]})),
        ("oi/boxes.csv", "ImageID,LabelName,XMin,XMax,YMin,YMax\n0a,/m/1,0.25,0.5,0.5,1\n"),
        ("oi/classes.csv", "/m/0,Cat\n/m/1,Dog\n"),
    ):
        (folder / name).write_text(text)


def faults(thing: object) -> list[str]:
    """What the docstring lacks of the convention. An error needs its summary only: programs catch
    it, and make none."""
    text = inspect.getdoc(thing) or ""
    summary = text.split("\n\n")[0]
    found = []
    if "\n" in summary or not 0 < len(summary) <= 100 or not summary.endswith("."):
        found.append("the summary is not one sentence of one line")
    if is_error(thing):
        return found
    # A protocol is written by others, and made by nobody.
    signature = inspect.signature(thing).parameters
    protocol = getattr(thing, "_is_protocol", False)
    parameters = [] if protocol else sorted(set(signature) - {"self"})
    listed = ARGUMENT.findall(section(text, "Args")) if "\nArgs:\n" in text else []
    if sorted(listed) != parameters:
        found.append(f"Args are {sorted(listed)}, the signature's {parameters}")
    if "\nExample:\n    >>> " not in text:
        found.append("it has no example")
    return found


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_docstrings_are_in_the_convention(name):
    assert faults(PUBLIC[name]) == []


@pytest.mark.parametrize("name", NOT_ERRORS)
def test_the_examples_run(name, images):
    found = doctest.DocTestParser().get_doctest(inspect.getdoc(PUBLIC[name]), {}, name, None, 0)
    assert found.examples
    if "import datasets\n" in found.docstring:
        pytest.importorskip("datasets", reason="the example is of its data sets")
    said = []
    doctest.DocTestRunner(verbose=False).run(found, out=said.append)
    assert "".join(said) == ""


def test_what_raises_is_a_public_error():
    for thing in PUBLIC.values():
        text = inspect.getdoc(thing)
        if "\nRaises:\n" in text:
            assert set(ARGUMENT.findall(section(text, "Raises"))) <= {*fastload.__all__, "OSError"}


def test_help_of_the_loader_fits_a_terminal_of_80_columns():
    border = len(" |  ")  # help()'s
    lines = inspect.getdoc(fastload.DataLoader).splitlines()
    assert max(map(len, lines)) + border <= 80
