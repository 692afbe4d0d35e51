"""fastload.show: images as the model will see them, as a picture in a notebook."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import demo_images
from fastload import transforms as T

OPS = [T.RandomResizedCrop((48, 64)), T.RandomHorizontalFlip(), T.ToImage()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("inline") / "images"
    demo_images.make_folder(where, 20, 20, workers=1, on_done=lambda *_: None)
    return str(where)


def test_a_notebook_gets_a_png(folder, tmp_path):
    picture = fastload.show(fastload.open(folder, OPS), n=3)
    assert repr(picture) == "fastload.show: 3 images"
    png = Image.open(io.BytesIO(picture._repr_png_()))
    assert (png.format, png.size) == ("PNG", picture.image.size)
    picture.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == picture._repr_png_()
    picture.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text().count("<article>") == 3


def test_these_are_the_first_images_of_the_loader(folder):
    loader = fastload.DataLoader(fastload.open(folder, OPS), 5, shuffle=True, seed=7)
    loader.set_epoch(2)
    images, _ = next(iter(loader))
    cards = fastload.show(loader, 4, epoch=2).contents.cards
    assert len(cards) == 4
    for image, card in zip(images, cards, strict=False):
        assert np.array_equal(np.asarray(card.pictures[-1]), image.permute(1, 2, 0).numpy())


def test_nothing_else_changes(folder):
    loader = fastload.DataLoader(fastload.open(folder, OPS), 4, shuffle=True, seed=1)
    want = [images.clone() for images, _ in loader]
    loader.set_epoch(0)
    before = torch.get_rng_state()
    fastload.show(loader, 4, epoch=5)
    assert torch.equal(before, torch.get_rng_state())
    assert all(map(torch.equal, want, (images for images, _ in loader)))


def test_torchvisions_data_set_and_mixing(folder):
    datasets = pytest.importorskip("torchvision.datasets")
    from torchvision import transforms as V

    steps = V.Compose([V.RandomResizedCrop(32), V.ToTensor()])
    cards = fastload.show(datasets.ImageFolder(folder, steps), 2).contents.cards
    assert [card.pictures[-1].size for card in cards] == [(32, 32)] * 2
    mixed = fastload.DataLoader(fastload.open(folder, OPS), 4, shuffle=True, mix=T.MixUp(alpha=0.4))
    assert any("MixUp" in line for card in fastload.show(mixed, 4).contents.cards
               for line in card.lines)  # fmt: skip


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"n": 0}, "show: n is 0, want 1 to 256"),
        ({"n": 257}, "show: n is 257, want 1 to 256"),
        ({"n": "3"}, "show: n is '3', want 1 to 256"),
        ({"n": 2.5}, "show: n is 2.5, want 1 to 256"),
        ({"epoch": -1}, "show: epoch is -1, want 0 to 2**32 - 1"),
        ({"epoch": None}, "show: epoch is None, want 0 to 2**32 - 1"),
    ],
)
def test_mistakes(folder, how, text):
    with pytest.raises(fastload.UsageError) as raised:
        fastload.show(fastload.open(folder, OPS), **how)
    assert str(raised.value) == text


def test_what_pytorch_runs_is_refused():
    data = torch.utils.data.TensorDataset(torch.zeros(6, 3, 4, 5))
    with pytest.raises(fastload.UsageError) as raised:
        fastload.show(data)
    assert str(raised.value) == (
        "show: PyTorch's own engine runs this data set, and nobody can tell what it draws; "
        "print(loader.explain()) says why"
    )


def test_a_name_that_cannot_be_written(folder, tmp_path):
    with pytest.raises(fastload.UsageError) as raised:
        fastload.show(fastload.open(folder, OPS), 1).save(tmp_path / "a.gif")
    assert str(raised.value) == (
        f"{tmp_path}/a.gif: ends in '.gif', want .png or .html; give another name to save"
    )


def test_what_is_neither_a_loader_nor_a_data_set():
    with pytest.raises(fastload.UsageError) as error:
        fastload.show(5)
    assert str(error.value) == "show: got a int, want a loader or a data set"
