"""What programs change, and when a loader sees it, where that is not as in torch."""

import warnings

import pytest
from PIL import Image

import fastload

from .kinds import TRANSFORM, first, opened

torchvision = pytest.importorskip("torchvision", reason="its classes are changed")


def test_persistent_workers_keep_what_they_have(kind, folder):
    data = kind.images(folder)
    loader = kind.loader(data, 40, num_workers=1, persistent_workers=True)
    (before,) = (labels.tolist() for _, labels in loader)
    data.samples.reverse()
    seen = kind.name == "native" and kind.differs("persistent")
    assert [labels.tolist() for _, labels in loader] == [before[::-1] if seen else before]
    with opened(loader):
        pass


def test_default_arguments_that_were_changed_before_the_loader(kind, folder, monkeypatch):
    """Nobody can tell them from the library's own."""
    plain = first(kind.make(folder, 4))[0]
    monkeypatch.setattr(Image.Image.resize, "__defaults__", (None, (0, 0, 5, 5), None))
    ignored = kind.name == "native" and kind.differs("patches")
    assert first(kind.make(folder, 4))[0].equal(plain) == ignored


def test_default_arguments_that_are_changed_later(kind, folder, monkeypatch):
    loader = kind.make(folder, 4)
    plain = first(loader)[0]
    monkeypatch.setattr(Image.Image.resize, "__defaults__", (None, (0, 0, 5, 5), None))
    ignored = kind.name == "native" and kind.differs("patches")
    assert first(loader)[0].equal(plain) == ignored


def test_warnings_of_transforms(kind, folder):
    resize, *rest = TRANSFORM.transforms
    transform = type(TRANSFORM)([type(resize)(resize.size, antialias=False), *rest])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first(kind.loader(kind.images(folder, transform), 4))
    said = [str(one.message) for one in caught if "Anti-alias" in str(one.message)]
    assert bool(said) == (not (kind.name == "native" and kind.differs("warnings")))


def test_a_mask_of_another_size(kind, folder, tmp_path):
    data = torchvision.datasets.VOCSegmentation.__new__(torchvision.datasets.VOCSegmentation)
    Image.new("L", (11, 12)).save(tmp_path / "mask.png")
    paths = [path for path, _ in kind.images(folder).samples][:2]
    from torchvision.transforms import v2  # which torchvision itself does not import

    transforms = v2.Compose([v2.Resize((6, 9)), v2.ToImage(), v2.ToPureTensor()])
    held = {
        "images": paths,
        "targets": [tmp_path / "mask.png"] * 2,
        "transforms": transforms,
        "root": folder,
    }
    data.__dict__.update({"transform": None, "target_transform": None, **held})
    both = torchvision.datasets.wrap_dataset_for_transforms_v2(data)
    if kind.name == "native" and kind.differs("masks"):
        with pytest.raises(
            fastload.SampleError, match=r"mask is 12x11 px, its image 37x53 px; make them equal$"
        ):
            first(kind.loader(both, 2))
    else:
        images, masks = first(
            kind.loader(both, 2, collate_fn=lambda pairs: zip(*pairs, strict=True))
        )
        assert [tuple(one.shape[-2:]) for one in (*images, *masks)] == [(6, 9)] * 4
