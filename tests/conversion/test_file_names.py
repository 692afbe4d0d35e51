"""Folders, classes and files whose names are bytes that are not UTF-8, from the loader to the
command line.
"""

import os
import shutil

import pytest
import torch
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
from typer.testing import CliRunner

import fastload
from fastload import errors
from fastload import transforms as T
from fastload.cli import build
from tests.ways import ways_taken

CLASSES, NAMES = (b"k\xe4se", b"tea \xc3\xa4"), (b"\xff\xfe.jpg", b"gr\xfcn.v1.jpg", b"plain.jpg")
OPS = [T.RandomResizedCrop((12, 17)), T.ToImage()]


@pytest.fixture
def odd(tmp_path, encode, make_image):
    """Six images under odd names; and, in a second folder, under plain ones in the same order."""
    root, plain = os.fsdecode(os.fsencode(tmp_path) + b"/d\xe4ta"), str(tmp_path / "plain")
    for number in range(6):
        folder = os.path.join(root, os.fsdecode(CLASSES[number // 3]))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, os.fsdecode(NAMES[number % 3])), "wb") as out:
            out.write(encode(make_image(30 + number, 41 + 2 * number, number)))
    for number, (path, label) in enumerate(fastload.open(root).samples):
        os.makedirs(f"{plain}/{label}", exist_ok=True)
        shutil.copyfile(path, f"{plain}/{label}/{number}.jpg")
    return root, plain


def epochs(path, count=3, **options):
    loader = fastload.DataLoader(fastload.open(path, OPS), 4, shuffle=True, seed=3, **options)
    return [[images.numpy().tobytes() for images, _ in loader] for _ in range(count)], loader


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_those_of_plain_names_and_indexes_are_collected(odd, workers):
    root, plain = odd
    got, loader = epochs(root, backend="native", num_workers=workers)
    want, _ = epochs(plain, backend="torch")
    assert got == want
    assert loader.decodes() | {"library": 0} == ways_taken(indexed=12, whole=6)
    _, again = epochs(root, 1, backend="native")  # by what was collected, from the cache
    assert again.decodes()["indexed"] == 6
    assert epochs(root, 1, backend="torch", num_workers=workers)[0] == want[:1]


def test_image_folder(odd):
    root, plain = odd
    found = []
    for path in (root, plain):
        data = ImageFolder(path, v2.Compose([v2.Resize((12, 17)), v2.ToImage()]))
        loader = fastload.DataLoader(data, 4, num_workers=1)
        assert loader.explain().startswith("backend native, ")
        found.append(torch.cat([images for images, _ in loader]))
    assert torch.equal(*found)


def test_errors_show_the_bytes(odd):
    root, _ = odd
    data = fastload.open(root, OPS)
    bad = next(
        number for number, (name, _) in enumerate(data.samples) if b"\xff" in os.fsencode(name)
    )
    os.unlink(data.samples[bad][0])
    shown = f"{os.path.dirname(root)}/d\\xe4ta/k\\xe4se/\\xff\\xfe.jpg"
    with pytest.raises(fastload.SampleError) as caught:
        list(fastload.DataLoader(data, 6))
    assert str(caught.value) == f"{shown}, sample {bad}: cannot be read (No such file or directory)"
    assert caught.value.where == data.samples[bad][0]
    with pytest.raises(fastload.SourceError) as caught:
        fastload.open(root + "/k")
    assert (
        str(caught.value) == f"{os.path.dirname(root)}/d\\xe4ta/k: does not exist; check the path"
    )


def test_every_text_can_be_shown():
    assert errors.readable("a\udce4 \xe4 \U0001f600") == "a\\xe4 \xe4 \U0001f600"
    assert errors.readable("\ud800 \udcff") == "\\ud800 \\udcff"


def test_the_command_line(odd, tmp_path):
    root, plain = odd

    def run(*arguments):
        result = CliRunner().invoke(build(), arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    run("convert", root, str(tmp_path / "shards"))
    assert "all intact" in run("verify", str(tmp_path / "shards"))
    shards = fastload.DataLoader(
        fastload.open(str(tmp_path / "shards"), OPS), 4, shuffle=True, seed=3, backend="native"
    )
    want, _ = epochs(plain, 1, backend="torch")
    assert [images.numpy().tobytes() for images, _ in shards] == want[0]
    run("index", root)
    assert "6" in run("inspect", root)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    got, loader = epochs(root, 1, backend="native")
    assert got == want
    assert loader.decodes()["indexed"] == 6
    assert "all intact" in run("verify", root)
