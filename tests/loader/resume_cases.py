"""Loaders of every kind of sampler, for the tests of resume."""

import fastload
from fastload import transforms as T

OPS = [T.RandomResizedCrop((12, 16)), T.RandomHorizontalFlip()]


def maker(folder, **fixed):
    """Loaders over the same images; keywords of a call win."""

    def make(**named):
        options = {"batch_size": 3, "shuffle": True, "seed": 4, "num_workers": 2, **fixed, **named}
        return fastload.DataLoader(
            options.pop("data", None) or fastload.open(folder, OPS), **options
        )

    return make
