"""Users' functions that the tests of custom ops share."""

import fastload
from fastload import transforms as T
from fastload.transforms import custom


@custom(draws=3)
def shade(image, u):
    height, width, channels = image.shape
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                image[y, x, c] = int(image[y, x, c] * u[c % 3])


@custom
def upside_down(image):
    return image[::-1]  # a view of the image itself


@custom(draws=2)
def noise(image, u):
    out = image.copy()
    out[int(u[0] * image.shape[0]), :, 1] = int(u[1] * 256)
    return out


@custom(draws=1)
def only_python(image, u):
    image[:] = int(str(int(u[0] * 100)))


CROP = [T.RandomResizedCrop((20, 31)), T.RandomHorizontalFlip()]


def batches(path, ops, backend, size=7, **options):
    return list(
        fastload.DataLoader(
            fastload.open(path, ops), size, shuffle=True, seed=5, backend=backend, **options
        )
    )


def same(image):
    return image
