"""What the tests of collected seek indexes share."""

import numpy as np

import fastload
from fastload import _native
from fastload.sources import open_source, seek
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop

MERGED = ["fastload.seek", "fastload.seek.arrow", "fastload.seek.arrow.xxh3"]


def photographs(tools, tmp_path):
    """24 images, none square."""
    return tools.write_tree(
        tmp_path / "data",
        {f"{'ab'[n % 2]}/{n:02d}.jpg": tools.encode(20 + n, 41, n, quality=70) for n in range(24)},
    )


def make(root, mode="auto", workers=1):
    ops = [RandomResizedCrop((16, 24)), RandomHorizontalFlip()]
    return fastload.DataLoader(
        fastload.open(root, ops), 4, shuffle=True, seed=2, num_workers=workers, seek_index=mode
    )


def pixels(loader):
    return [(images.numpy().tobytes(), labels.tolist()) for images, labels in loader]


def epochs(root, count, workers=1):
    """Pixels of the last epoch, how often an index was used, refused."""
    loader = make(root, workers=workers)
    found = [pixels(loader) for _ in range(count)]
    return found[-1], loader.decodes()["indexed"], loader.decodes()["refused"]


def cache_of(root):
    return seek.cache_folder(str(root))


def stored(root):
    """Images that the cache has an index of; each is compared with what it should be."""
    try:
        found = seek.read(cache_of(root))
    except fastload.FastloadError:
        return 0
    paths = open_source(root).paths
    fit = found.fit(seek.names(paths, str(root)))
    place = fit.locate(np.arange(len(paths)))
    for path, at, size in zip(paths, place.offset.tolist(), place.size.tolist(), strict=True):
        if size:
            with open(path, "rb") as file:
                assert place.files.read(0, at, size) == _native.jpeg_index(file.read(), 8)
    return int(np.count_nonzero(fit.size))
