"""What the tests of formats share whose samples are spans of files: data sets of the same images,
and what holds for each of them.
"""

import os
import pickle

import pytest
import torch

import fastload
from fastload.errors import SourceError
from fastload.transforms import RandomResizedCrop, ToImage
from tests.children import measured
from tests.conftest import encoded, textured

COUNT, CLASSES = 23, 5
OPS = [RandomResizedCrop((24, 31)), ToImage()]
MOST_MEMORY = 32 << 20  # bytes that a forged length may cost


def image(number):
    """No two have one size, and none is square."""
    return encoded(textured(40 + number, 57 + 2 * number, number), quality=90)


def label(number):
    return number * CLASSES // COUNT


def folder_of(root):
    """A folder of classes with all images, in the order of their numbers."""
    for number in range(COUNT):
        path = root / str(label(number)) / f"{number:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image(number))
    return root


def check_same_as_a_folder(path, root, shift=0, **options):
    """The batches of the data set at `path` are those of a folder with the same images; labels are
    larger by `shift`.
    """
    folder = folder_of(root)
    data = fastload.open(path, OPS, **options)
    assert data.targets == [label(number) + shift for number in range(COUNT)]
    for shuffle in (False, True):
        got, want = (
            list(fastload.DataLoader(one, 4, seed=3, num_workers=2, shuffle=shuffle))
            for one in (data, fastload.open(folder, OPS))
        )
        assert len(got) == len(want) == 6
        for (images, labels), (pixels, targets) in zip(got, want, strict=True):
            assert torch.equal(images, pixels)
            assert torch.equal(labels, targets + shift)
    loader = fastload.DataLoader(data, 4, seed=3, num_workers=1, shuffle=True)
    epoch = iter(loader)
    next(epoch)
    again = fastload.DataLoader(data, 4, seed=3, num_workers=2, shuffle=True)
    again.load_state_dict(loader.state_dict())
    assert torch.equal(
        torch.cat([images for images, _ in again]), torch.cat([i for i, _ in got[1:]])
    )
    source = pickle.loads(pickle.dumps(data.pipeline.source))
    assert encoded_of(source) == [image(number) for number in range(COUNT)]


def encoded_of(source):
    """The bytes of each image."""
    spans = zip(source.file, source.offset, source.size, strict=True)
    return [source.files.read(*map(int, span)) for span in spans]


def refused(path, **options):
    """The text of the error, as error_of; it costs little memory."""
    text = error_of(path, **options)  # first, so that modules are not imported in each child
    assert measured(lambda: error_of(path, **options))[1].most < MOST_MEMORY
    return text


def error_of(path, **options):
    """Opening raises an error that is typed, of one line, and says what to do."""
    with pytest.raises(SourceError) as raised:
        fastload.open(path, **options)
    text = str(raised.value)
    assert "\n" not in text
    assert "; " in text
    assert len(text) < 900
    return text


def check_damaged(path, name):
    """Opening gives images inside of the files, or an error that names the file."""
    try:
        source = fastload.open(path).pipeline.source
    except SourceError as raised:
        error = str(raised)
    else:
        _check_inside(source)
        return
    assert name in error


def _check_inside(source):
    sizes = list(map(os.path.getsize, source.paths))
    assert len(source.labels) == len(source) > 0
    for file, offset, size in zip(source.file, source.offset, source.size, strict=True):
        assert 0 < offset < offset + size <= sizes[file]
