"""A third party's package adds ops; recipes, backends, masks, `show` and `profile` know them."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import typer
from PIL import Image
from typer.testing import CliRunner

import fastload
from fastload import recipes
from fastload import transforms as T
from fastload.cli import profile, replay, show
from fastload.errors import PipelineError
from fastload.lowering import torchvision_ops
from fastload.transforms import pil
from tests import distributions
from tests.conftest import TREE

PAGE, TOY = TREE / "docs" / "extending-ops.md", TREE / "tests" / "toy_package"
NAMES = {"RandomPoster": "POSTER", "Square": "SQUARE", "Vignette": "VIGNETTE"}
RECIPE = """
name = "toy"
title = "A recipe with another distribution's op"
source = "this test"
[data]
train = [
  {{ op = "RandomResizedCrop", size = [12, 16] }},
  {op},
  {{ op = "ToTensor" }},
]
eval = [{{ op = "Resize", size = [12, 16] }}, {{ op = "ToTensor" }}]
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The toy's ops, installed; gives their module."""
    entries = {name: f"toy_ops:{record}" for name, record in NAMES.items()}
    site = distributions.write(tmp_path / "site", "fastload-toy-ops", {"fastload.ops": entries})
    shutil.copytree(TOY / "toy_ops", site / "toy_ops")
    distributions.install(monkeypatch, site)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(site), str(TREE))))
    return __import__("toy_ops.ops").ops


def recipe(folder: Path, op: str) -> Path:
    training = (Path(recipes.__file__).parent / "mild.toml").read_text().partition("[training]")
    path = folder / "toy.toml"
    path.write_text(RECIPE.format(op=op) + "[training]" + training[2])
    return path


def batches(folder, ops, backend):
    loader = fastload.DataLoader(
        fastload.open(folder, ops), 8, shuffle=True, seed=5, backend=backend
    )
    return [images for images, _ in loader]


def both(folder, ops):
    """Batches of the native engine, which are the torch backend's."""
    native, reference = (batches(folder, ops, backend) for backend in ("native", "torch"))
    assert all(torch.equal(a, b) for a, b in zip(native, reference, strict=True))
    return native


CROP = T.RandomResizedCrop((12, 16))


def test_a_program_has_equal_pixels_everywhere(toy, folder):
    made = both(folder, [CROP, toy.RandomPoster(2, p=0.5)])
    plain = batches(folder, [CROP], "native")
    changed = [
        not torch.equal(a, b)
        for one, other in zip(made, plain, strict=True)
        for a, b in zip(one, other, strict=True)
    ]
    assert {*changed} == {True, False}
    inverted = both(folder, [CROP, T.RandomApply([toy.RandomPoster(2, p=1.0)], p=1.0)])
    want = [255 - (images & 0b11000000) for images in plain]
    assert all(torch.equal(a, b) for a, b in zip(inverted, want, strict=True))


def test_values_have_equal_pixels_everywhere(toy, folder):
    made = both(folder, [CROP, T.ToTensor(), toy.Square(), T.Normalize([0.5], [0.25])])
    plain = batches(folder, [CROP, T.ToTensor()], "native")
    for a, b in zip(made, plain, strict=True):
        assert torch.equal(a, (b * b - 0.5) / 0.25)
    with pytest.raises(PipelineError, match=r"op 2 \(Square\): want float32; put ToTensor"):
        fastload.DataLoader(fastload.open(folder, [CROP, toy.Square()]))


def test_pixels_of_its_own_run_on_the_torch_backend(toy, folder):
    loader = fastload.DataLoader(fastload.open(folder, [CROP, toy.Vignette()]), 8)
    said = loader.explain()
    assert "op 2 (Vignette) is not written natively" in said
    images = next(iter(loader))[0]
    assert not images[:, :, 0, 0].any()
    assert images[:, :, 6, 8].any()


def test_explain_and_one_image(toy, folder):
    said = fastload.DataLoader(fastload.open(folder, [CROP, toy.RandomPoster(3)]), 8).explain()
    assert "AUGMENT RandomPoster(bits=3, p=0.5)" in said
    assert "backend native" in said
    image = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3) * 5)
    one = np.asarray(toy.RandomPoster(1, p=1.0)(image))
    np.testing.assert_array_equal(one, 255 - (np.asarray(image) & 128))


def test_masks_stay(toy, folder, tmp_path):
    for path in Path(folder).rglob("*.jpg"):
        target = tmp_path / "masks" / path.relative_to(folder).with_suffix(".png")
        target.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(path) as image:
            width, height = image.size
        Image.fromarray(np.arange(height * width).reshape(height, width).astype(np.uint8)).save(
            target
        )
    masks = [
        torch.cat([m for _, m in fastload.DataLoader(data, 8, seed=1)])
        for data in (
            fastload.open(folder, ops, masks=str(tmp_path / "masks"))
            for ops in ([CROP, toy.RandomPoster(2, p=1.0)], [CROP])
        )
    ]
    assert torch.equal(*masks)


def test_a_recipe_names_it_and_show_says_its_draws(toy, folder, tmp_path):
    path = recipe(tmp_path, '{ op = "RandomPoster", bits = 3, p = 1.0 }')
    assert recipes.load(str(path)).ops()[1] == toy.RandomPoster(3, p=1.0)
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    show.register(app)
    replay.register(app)
    page = tmp_path / "page.html"
    shown = CliRunner().invoke(app, ["show", folder, "--recipe", str(path), "-o", str(page)])
    assert shown.exit_code == 0, (shown.output, shown.exception)
    assert "RandomPoster" in page.read_text()
    assert "Posterize 3 bits, then Invert" in page.read_text()


@pytest.mark.long
def test_profile_measures_it(toy, folder, tmp_path):
    path = recipe(tmp_path, '{ op = "RandomPoster", bits = 3, p = 1.0 }')
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    profile.register(app)
    asked = f"--recipe {path} --step-rate 40 --seconds 1 --workers 0 --batch-size 4 --json -"
    done = CliRunner().invoke(app, ["--data", folder, *asked.split()])
    assert done.exit_code == 0, (done.output, done.exception)
    found = json.loads(done.stdout)
    assert found["setting"]["backend"] == "native"
    assert found["replicates"]


def test_a_broken_entry_point_is_one_line(tmp_path, monkeypatch):
    site = distributions.write(
        tmp_path / "site", "broken-ops", {"fastload.ops": {"Broken": "broken_ops:OP"}},
        {"broken_ops": "from fastload.system.extensions import Record\n"
                       "OP = Record('Broken', 'broken_ops')\n"},
    )  # fmt: skip
    distributions.install(monkeypatch, site)
    with pytest.raises(PipelineError) as caught:
        recipes.load(str(recipe(tmp_path, '{ op = "Broken" }')))
    (line,) = str(caught.value).splitlines()
    assert line.endswith(
        "op 2: entry point 'Broken' of fastload.ops in broken-ops: broken_ops has no op of that "
        "name; update or uninstall broken-ops"
    )


def test_a_transform_of_torchvision_without_an_op(tmp_path, monkeypatch):
    """An op under a torchvision name is what that transform becomes."""
    v2 = pytest.importorskip("torchvision.transforms.v2")
    text = (
        "from dataclasses import dataclass\n"
        "from fastload.system.extensions import Record\n"
        "from fastload.transforms.kinds import Flip\n"
        "OP = Record('RandomChannelPermutation', 'named_ops')\n"
        "@dataclass(frozen=True)\n"
        "class RandomChannelPermutation(Flip):\n"
        "    torchvision = ()\n"
    )
    site = distributions.write(
        tmp_path / "site", "named-ops",
        {"fastload.ops": {"RandomChannelPermutation": "named_ops:OP"}}, {"named_ops": text},
    )  # fmt: skip
    assert torchvision_ops.ops(v2.RandomChannelPermutation(), lambda _: ((), [])) is None
    distributions.install(monkeypatch, site)
    found, reasons = torchvision_ops.ops(v2.RandomChannelPermutation(), lambda _: ((), []))
    assert [op.name for op in found] == ["RandomChannelPermutation"]
    assert reasons == []


def test_an_op_without_pixels_says_so(toy, folder):
    class Nothing(T.Op):
        stage = T.CenterCrop.stage

    with pytest.raises(fastload.BackendError, match=r"op 1 \(Nothing\) has no reference"):
        fastload.DataLoader(fastload.open(folder, [Nothing(), CROP]), backend="torch")
    assert not pil.known(Nothing())


def test_the_page_is_the_packages():
    blocks = re.findall(r"```python\n# (toy_ops/\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 3
    for name, code in blocks:
        assert code in (TOY / name).read_text(), name
    (toml,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for name, record in NAMES.items():
        assert f'{name} = "toy_ops:{record}"' in toml
