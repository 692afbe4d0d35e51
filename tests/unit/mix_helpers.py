"""Batches and draws that the tests of MIX share."""

import numpy as np
import torch

HEIGHT, WIDTH, CLASSES = 21, 34, 7


def batch(count=6, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn((count, 3, HEIGHT, WIDTH), generator=generator).to(dtype)
    return images, torch.randint(CLASSES, (count,), generator=generator)


def drawn(mix, count=6, seed=0, height=HEIGHT, width=WIDTH):
    u = np.random.default_rng(seed).random(mix.draws(count))
    return u, mix.records(u, count, height, width)
