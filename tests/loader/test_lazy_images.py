"""Data sets that open images by themselves: JPEGs are decoded natively where they are seen, and the
batches are the stock loader's, bit for bit.
"""

import threading

import numpy as np
import pytest
import torch
from PIL import Image, ImageFile
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload
from fastload import _native
from fastload.image.lazy import SUPPORTED, OpenedJpeg
from fastload.loader import lazy_images
from tests.loader.explained import FIRST

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="lazy images need Pillow 11.1"),
    pytest.mark.filterwarnings("ignore::fastload.FallbackWarning"),
]
STOCK = Image.open


class Mine(Dataset):
    """A data set as programs write it."""

    def __init__(self, paths, transform):
        self.paths, self.transform = paths, transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            return self.transform(image.convert("RGB")), hash(index)  # which is not followed


class Views:
    """Two crops and a whole image of each."""

    def __init__(self):
        self.crop = transforms.RandomResizedCrop((40, 56), antialias=True)
        self.tensor = transforms.PILToTensor()

    def __call__(self, image):
        small = image.resize((56, 40))
        return torch.stack([self.tensor(self.crop(image)) for _ in range(2)] + [self.tensor(small)])


CHAINS = {
    "train": transforms.Compose(
        [
            transforms.RandomResizedCrop((48, 64)),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.RandomErasing(0.5),
        ]
    ),
    "eval": transforms.Compose(
        [transforms.Resize(60), transforms.CenterCrop((48, 52)), transforms.PILToTensor()]
    ),
    "colours": transforms.Compose(
        [
            transforms.RandomCrop((50, 60), padding=4),
            transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
            transforms.RandomGrayscale(),
            transforms.PILToTensor(),
        ]
    ),
    "views": Views(),
}


@pytest.fixture
def paths(tmp_path):
    """JPEGs of two subsamplings and sizes, a grey one, a progressive one, and a PNG."""
    random = np.random.default_rng(3)
    made = []
    for number in range(12):
        height, width = 90 + 7 * number, 150 - 5 * number
        coarse = random.integers(0, 256, (height // 8, width // 8, 3), np.uint8)
        image = Image.fromarray(coarse).resize((width, height))
        name, options = f"{number}.jpg", {"quality": 60 + 3 * number, "subsampling": number % 3}
        if number == 4:
            image = image.convert("L")
        if number == 5:
            options["progressive"] = True
        if number == 6:
            name, options = "6.png", {}
        made.append(tmp_path / name)
        image.save(made[-1], **options)
    return made


def batches(loader):
    torch.manual_seed(11)
    return list(loader)


def same(ours, theirs):
    return len(ours) == len(theirs) and all(
        torch.equal(a, b)
        for x, y in zip(ours, theirs, strict=True)
        for a, b in zip(x, y, strict=True)
    )


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", CHAINS)
def test_batches_are_the_stock_loaders(paths, name, workers):
    data = Mine(paths, CHAINS[name])
    options = {"batch_size": 5, "shuffle": True, "num_workers": workers}
    ours = fastload.DataLoader(data, **options)
    assert ours.explain().startswith(FIRST[:-1])
    assert same(batches(ours), batches(DataLoader(data, **options)))


@pytest.mark.long
@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_workers_that_are_not_forked(paths, context):
    data = Mine(paths, CHAINS["train"])
    options = {"batch_size": 6, "num_workers": 1}
    ours = fastload.DataLoader(data, multiprocessing_context=context, **options)
    assert same(batches(ours), batches(DataLoader(data, **options)))


class Looking(Mine):
    """What a data set sees of Pillow."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index])
        lazily = type(image) is OpenedJpeg
        image.close()
        return lazily, Image.open is not STOCK


@pytest.mark.parametrize("workers", [0, 1])
def test_pillow_is_as_it_was_but_where_batches_are_made(paths, workers):
    loader = fastload.DataLoader(Looking(paths, None), 12, num_workers=workers)
    assert Image.open is STOCK
    for lazily, patched in loader:
        assert Image.open is STOCK
        assert lazily.tolist() == [path.suffix == ".jpg" for path in paths]
        assert patched.all()
    assert Image.open is STOCK


def test_the_pixels_are_made_natively(paths, monkeypatch):
    made = []
    decode = _native.image_pixels
    with lazy_images.opened_lazily():  # the first time, it is proved by an image that OpenCV agrees
        pass

    def counted(data, **options):
        made.append(options["crop"])
        return decode(data, **options)

    monkeypatch.setattr(_native, "image_pixels", counted)
    list(fastload.DataLoader(Mine(paths, CHAINS["train"]), 4))
    assert len(made) == 10  # all but the PNG and the progressive JPEG
    list(fastload.DataLoader(Mine(paths, CHAINS["train"]), 4, lazy_images=False))
    assert len(made) == 10


@pytest.mark.parametrize("workers", [0, 1])
def test_off_by_an_argument_and_by_the_environment(paths, workers, monkeypatch):
    data = Looking(paths, None)
    off = fastload.DataLoader(data, 12, num_workers=workers, lazy_images=False)
    assert off.explain().splitlines()[-1] == "  lazy images are off: lazy_images=False"
    assert not next(iter(off))[1].any()
    monkeypatch.setenv("FASTLOAD_LAZY_IMAGES", "0")
    off = fastload.DataLoader(data, 12, num_workers=workers)
    assert off.explain().splitlines()[-1] == "  lazy images are off: FASTLOAD_LAZY_IMAGES=0"
    assert not next(iter(off))[1].any()


@pytest.mark.parametrize(
    ("owner", "name"),
    [(Image.Image, "resize"), (Image.Image, "crop"), (ImageFile.ImageFile, "load")],
)
@pytest.mark.parametrize("workers", [0, 1])
def test_a_method_of_pillow_that_the_program_has_replaced_is_called(
    paths, owner, name, workers, monkeypatch
):
    data = Mine(paths, CHAINS["train"])
    before = vars(owner)[name]

    def mine(self, *args, **kwargs):
        got = before(self, *args, **kwargs)
        image = self if name == "load" else got
        image.im.paste(1 if image.mode == "L" else (1, 2, 3), (0, 0, *image.size))
        return got

    loader = fastload.DataLoader(data, 5, num_workers=workers)
    usual = batches(loader)
    monkeypatch.setattr(owner, name, mine)
    want = batches(DataLoader(data, 5, num_workers=workers))
    assert not same(usual, want)
    assert same(batches(loader), want)
    assert same(batches(fastload.DataLoader(data, 5, num_workers=workers)), want)


def test_replaced_before_fastload_looked(monkeypatch):
    monkeypatch.setattr(lazy_images, "_known", [])
    monkeypatch.setattr(Image.Image, "crop", lambda self, _=None: self)
    reason = "the program has replaced functions of Pillow's"
    assert lazy_images.why_not(wanted=True) == reason
    monkeypatch.undo()
    assert lazy_images.why_not(wanted=True) == ""


def test_a_wrapper_that_the_program_puts_around_meanwhile_stays(monkeypatch):
    monkeypatch.setattr(Image, "open", STOCK)
    with lazy_images.opened_lazily():
        ours = Image.open

        def theirs(*args, **kwargs):
            return ours(*args, **kwargs)

        Image.open = theirs
    assert Image.open is theirs


def test_it_calls_on_and_is_lazy_no_more(paths):
    with lazy_images.opened_lazily():
        ours = Image.open
        with ours(paths[0]) as image:
            assert type(image) is OpenedJpeg
    with ours(paths[0]) as image:
        assert type(image).__name__ == "JpegImageFile"


def test_threads_leave_pillow_as_it_was():
    ready, end = threading.Barrier(4), threading.Barrier(4)

    def use():
        for _ in range(100):
            with lazy_images.opened_lazily():
                assert Image.open is not STOCK
        ready.wait()
        end.wait()

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    ready.wait()
    assert Image.open is STOCK
    end.wait()
    for thread in threads:
        thread.join()


def test_an_error_leaves_pillow_as_it_was_and_is_pillows(paths):
    paths[3].write_bytes(paths[3].read_bytes()[:400])
    data = Mine(paths, CHAINS["train"])
    with pytest.raises(OSError) as theirs:
        list(DataLoader(data, 4))
    with pytest.raises(OSError) as ours:
        list(fastload.DataLoader(data, 4))
    assert str(ours.value) == str(theirs.value)
    assert type(ours.value) is type(theirs.value)
    assert Image.open is STOCK


def test_a_folder_whose_transform_is_not_known(folder):
    def noisy(image):
        return image.point(lambda value: value // 2)

    chain = transforms.Compose(
        [transforms.RandomResizedCrop((48, 64)), transforms.Lambda(noisy), transforms.ToTensor()]
    )
    data = ImageFolder(folder, chain)
    loader = fastload.DataLoader(data, 4, shuffle=True)
    assert loader.explain().startswith("PyTorch's own engine")
    assert same(batches(loader), batches(DataLoader(data, 4, shuffle=True)))
