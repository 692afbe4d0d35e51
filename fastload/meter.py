"""What a loader counts while it runs: a few clock reads and additions per batch, so that counting can stay on."""

from typing import Any


class Meter:
    """Sums over all epochs of one loader, seconds of wall time. Not locked: a lost count is cheaper than a lock per batch."""

    def __init__(self) -> None:
        self.images = self.batches = self.bad_samples = self.ready = 0
        self.wait = self.elapsed = 0.0  # s: inside next(); from iter() to the last batch that was handed out

    def count(self, images: int, ready: int, asked: float, last: float, now: float) -> None:
        """One batch. ready: batches that were done when it was asked for; asked, last (batch or iter()), now: s."""
        self.images += images
        self.batches += 1
        self.ready += ready
        self.wait += now - asked
        self.elapsed += now - last

    def as_dict(self) -> dict[str, Any]:
        return {
            "images": self.images,
            "batches": self.batches,
            "images_per_s": self.images / self.elapsed if self.elapsed else 0.0,
            "elapsed_s": self.elapsed,
            "wait_s": self.wait,
            "queue_depth": self.ready / self.batches if self.batches else 0.0,
            "bad_samples": self.bad_samples,
        }
