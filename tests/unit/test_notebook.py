"""What notebooks show: every text escaped, nothing that runs, and the same words as in print."""

import re
from html.parser import HTMLParser

import pytest
import torch
from PIL import Image

import fastload
from fastload.cli import diagnosis, output
from fastload.system import notebook

HOSTILE = "<script>alert(1)</script>&\"'\x1b[31m\udcff"


class Tags(HTMLParser):
    """The elements and the text of a document."""

    def __init__(self, document):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(document)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    "document",
    [
        notebook.lines(HOSTILE, [HOSTILE]),
        notebook.table(HOSTILE, [(HOSTILE, HOSTILE)], [HOSTILE]),
    ],
)
def test_hostile_names_stay_text(document):
    read = Tags(document)
    assert read.tags <= {"div", "strong", "pre", "table", "tr", "th", "td", "p"}
    assert read.text.count("<script>alert(1)</script>&\"'\ufffd[31m\ufffd") >= 2
    document.encode()  # no half of a surrogate pair is left


class Tagged(torch.utils.data.Dataset):
    """A data set whose class has a hostile name."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.zeros(3), index


Tagged.__name__ = Tagged.__qualname__ = "<img src=x onerror=alert(1)>"


def test_a_loader_of_a_class_with_a_hostile_name_is_shown_as_text():
    loader = fastload.DataLoader(Tagged(), 2)
    for document in (loader._repr_html_(), loader.explain()._repr_html_()):
        read = Tags(document)
        assert "<img src=x onerror=alert(1)>" in read.text
        assert "img" not in read.tags


@pytest.fixture
def loader(tmp_path):
    folder = tmp_path / "<b>images<b>" / "cats & dogs"
    folder.mkdir(parents=True)
    Image.new("RGB", (31, 22), (9, 80, 200)).save(folder / "<i>.jpg")
    ops = [fastload.transforms.CenterCrop((9, 11)), fastload.transforms.ToImage()]
    return fastload.DataLoader(fastload.open(folder.parent, ops), 1, seek_index="off")


def test_an_explanation_is_its_text(loader):
    said = loader.explain()
    assert isinstance(said, str)
    assert said == "\n".join(said.splitlines())
    assert str(said) == said
    assert said.startswith("backend native, the caller's thread, device cpu\n")


def test_a_notebook_shows_what_is_printed(loader):
    said = loader.explain()
    whole = Tags(said._repr_html_()).text
    assert re.sub(r"\s", "", whole) == re.sub(r"\s", "", said)
    assert said.splitlines()[0] in Tags(loader._repr_html_()).text


def test_doctor_is_a_function():
    found = fastload.doctor()
    assert isinstance(found, diagnosis.Diagnosis)
    assert found.ok
    assert found.warnings == tuple(found.facts["warnings"])
    parts = [part for part, _ in found.rows]
    assert {"cpu", "memory", "torch", "pillow", "native"} <= set(parts)
    printed = str(found).splitlines()
    assert printed[: len(parts)] == [f"{part:12} {text}" for part, text in found.rows]
    assert repr(found) == str(found)
    read = Tags(found._repr_html_())
    assert all(text in read.text for _, text in found.rows)


def test_doctor_escapes_what_the_machine_says():
    facts = {**fastload.doctor().facts, "warnings": [HOSTILE], "python": HOSTILE}
    read = Tags(diagnosis.Diagnosis(facts)._repr_html_())
    assert "script" not in read.tags
    assert "<script>alert(1)</script>" in read.text


@pytest.mark.parametrize(
    ("terminal", "jupyter", "widgets", "shown"),
    [
        (True, False, False, True),
        (False, True, True, True),
        (False, True, False, False),
        (False, False, True, False),
    ],
)
def test_bars_are_shown_where_they_can_move(monkeypatch, terminal, jupyter, widgets, shown):
    class Log:
        is_terminal, is_jupyter = terminal, jupyter

    monkeypatch.setattr(output, "log", Log)
    monkeypatch.setattr(output, "find_spec", {"ipywidgets": widgets or None}.get)
    assert output.shows_bars() is shown
