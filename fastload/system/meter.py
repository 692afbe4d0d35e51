"""What a loader counts while it runs: a few clock reads and additions per batch, so that counting
can stay on.
"""

import threading
from typing import Any

NAMES = ("images", "batches", "bad_samples", "ready", "wait", "elapsed")


class Counts:
    """Of one thread: nobody else adds to them, so that nothing is lost and nobody waits."""

    def __init__(self) -> None:
        self.images = self.batches = self.bad_samples = self.ready = 0
        self.wait = 0.0  # s inside next()
        self.elapsed = 0.0  # s from iter() to the last batch that was handed out


class Meter:
    """Sums over all epochs of one loader, and over the threads that iterate it, seconds of wall
    time.
    """

    def __init__(self) -> None:
        self._of = dict[int, Counts]()  # by thread

    def mine(self) -> Counts:
        """Those of this thread, to be added to."""
        thread = threading.get_ident()
        counts = self._of.get(thread)
        if counts is None:
            counts = self._of[thread] = Counts()
        return counts

    def count(self, images: int, ready: int, asked: float, last: float, now: float) -> None:
        """One batch.

        ready: batches that were done when it was asked for; asked, last (batch or iter()), now: s.
        """
        mine = self.mine()
        mine.images += images
        mine.batches += 1
        mine.ready += ready
        mine.wait += now - asked
        mine.elapsed += now - last

    def as_dict(self) -> dict[str, Any]:
        every = list(self._of.values())
        images, batches, bad, ready, wait, elapsed = (
            sum(getattr(one, name) for one in every) for name in NAMES
        )
        return {
            "images": images,
            "batches": batches,
            "images_per_s": images / elapsed if elapsed else 0.0,
            "elapsed_s": elapsed,
            "wait_s": wait,
            "queue_depth": ready / batches if batches else 0.0,
            "bad_samples": bad,
        }
