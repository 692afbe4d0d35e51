"""Lists and files of labels as spreadsheets and scripts leave them."""

import pytest

from fastload.conversion.readers import Choice, open_reader, record
from fastload.conversion.samples import BadSampleError
from fastload.conversion.versions.job import keys_in
from fastload.errors import SourceError, UsageError
from tests.conversion.archives import refused

MARK = b"\xef\xbb\xbf"  # that Windows' programs put before UTF-8


@pytest.fixture
def images(tools, tmp_path):
    files = {f"{n}.jpg": tools.encode(8, 13, n) for n in range(2)}
    return tools.write_tree(tmp_path / "in", files)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.csv", b"path,label\n0.jpg,cat\n1.jpg,dog\n"),
        ("list.jsonl", b'{"path":"0.jpg","label":"cat"}\n{"path":"1.jpg","label":"dog"}\n'),
    ],
)
def test_a_mark_before_a_list(images, name, text):
    (images / name).write_bytes(MARK + text)
    reader = open_reader(str(images / name))
    assert (reader.classes, reader.labels.tolist()) == (("cat", "dog"), [0, 1])


def test_a_mark_before_labels(tools, small, tmp_path):
    (tmp_path / "names.txt").write_bytes(MARK + b"Katze\r\nHund\r\n")
    reader = open_reader(str(small), Choice(labels=str(tmp_path / "names.txt")))
    assert reader.classes == ("Katze", "Hund")
    rows = "".join(f"{key},{number % 2}\n" for number, key in enumerate(reader.keys))
    (tmp_path / "labels.csv").write_bytes(MARK + b"key,label\n" + rows.encode())
    reader = open_reader(str(small), Choice(labels=str(tmp_path / "labels.csv")))
    assert reader.labels.tolist() == [number % 2 for number in range(len(reader))]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.csv", 'path,label\n0.jpg,"c\nt"\n\n\n../1.jpg,dog\n'),
        ("list.jsonl", '{"path":"0.jpg","label":1}\n\n\n\n\n{"path":"../1.jpg","label":1}\n'),
    ],
)
def test_lines_are_those_of_the_file(images, name, text):
    (images / name).write_text(text)
    assert refused(images / name) == (
        f"{images}/{name}, line 6: path '../1.jpg' leads out of the folder; give it without '..'"
    )


@pytest.mark.parametrize("label", ["1.0", "true", "[1]"])
def test_labels_that_are_neither_text_nor_numbers(images, label):
    (images / "list.jsonl").write_text(f'{{"path":"0.jpg","label":{label}}}')
    said = {"1.0": "1.0", "true": "True", "[1]": "[1]"}[label]
    assert refused(images / "list.jsonl") == (
        f"{images}/list.jsonl, line 1: label {said} is no text and no whole number; correct it"
    )


def test_a_key_with_two_labels(small, tmp_path):
    keys = open_reader(str(small)).keys
    rows = [f"{key},a\n" for key in keys] + [f"{keys[1]},a\n", f"{keys[0]},b\n"]
    (tmp_path / "labels.csv").write_text("key,label\n" + "".join(rows))
    with pytest.raises(SourceError) as raised:
        open_reader(str(small), Choice(labels=str(tmp_path / "labels.csv")))
    assert str(raised.value) == (
        f"{tmp_path}/labels.csv: key {keys[0]!r} has two labels (got 'a' and 'b'); remove one of "
        "its rows"
    )


def test_a_mask_that_is_missing_is_named(images):
    (images / "list.csv").write_text("path,label,mask\n0.jpg,1,none.png\n")
    reader = open_reader(str(images / "list.csv"))
    with pytest.raises(BadSampleError) as raised:
        record(reader, 0)
    assert str(raised.value) == (
        f"its mask {images}/none.png cannot be read (No such file or directory); make it readable "
        "or remove it"
    )


@pytest.mark.parametrize("text", ["inf", "1e999", "nan", "-1", "2.5"])
def test_subsets_of_no_number(small, text):
    with pytest.raises(UsageError) as raised:
        open_reader(str(small), Choice(subset=text))
    assert str(raised.value) == (
        f"subset: {text!r} is no number of samples; write it like 1000, 10% or 0.1"
    )


def test_a_file_with_keys_of_another_system(tmp_path):
    (tmp_path / "keys.txt").write_bytes(MARK + b"cat/0\r\ncat/1\r\n\r\n")
    assert keys_in([str(tmp_path / "keys.txt"), "dog/2"]) == ["cat/0", "cat/1", "dog/2"]
