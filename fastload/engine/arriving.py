"""Waits for a batch's samples where they come from a store; those on the local disk are there."""

from fastload.engine.flight import BatchMaker
from fastload.sources.base import remote
from fastload.spec import Work

FOREVER = 1e9  # s


def come(engine: BatchMaker, work: Work, seconds: float = FOREVER) -> bool:
    """Whether a batch's samples are there within so long.

    Raises StoreError and CacheError.
    """
    far = remote(engine.runner.plan.source)
    return far is None or far.access.wait(far.cells(work.samples), seconds)
