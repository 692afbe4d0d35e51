"""Which images are compared, and with which draws."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """Which images, and with which draws."""

    images: int = 64  # at most
    batch_size: int = 16
    seed: int = 0
    workers: int = 0  # as the loader's num_workers
