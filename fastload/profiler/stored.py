"""What a store gave while a loader ran, and what its epochs ask of it, in requests and bytes."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from fastload.remote.crew import THREADS
from fastload.spec import Json

MIB, GIB = 1 << 20, 1 << 30
# Of what as many connections as there are could carry at this latency, above which it is the limit
LATENCY_LIMIT = 0.7


@dataclass(frozen=True)
class FromStore:
    """Of the loader alone. Rates are of its seconds."""

    where: str  # the URL, without secrets
    seconds: float
    images: int  # that the loader gave
    requests: int
    retries: int
    bytes: int  # that came
    waited_s: float  # that batches were held up
    latency_s: float  # until a request's first byte
    data_images: int
    data_bytes: int
    cache_bytes: int  # that the cache may take
    cached_share: float  # of data_bytes, in the end

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.bytes / self.seconds

    @property
    def waited_share(self) -> float:
        return min(1.0, self.waited_s / self.seconds)

    @property
    def image_bytes(self) -> float:
        return self.data_bytes / max(1, self.data_images)

    @property
    def request_bytes(self) -> float:
        return self.bytes / max(1, self.requests)

    @property
    def epoch_bytes(self) -> int:
        """What each epoch after the first asks for: all, where the cache cannot hold all. It keeps
        a part, which is not counted on.
        """
        return self.data_bytes if self.data_bytes > self.cache_bytes else 0

    def requests_for(self, size: int) -> int:
        """As large as those that were counted."""
        return round(size / max(1.0, self.request_bytes)) if self.requests else 0

    @property
    def latency_bound(self) -> bool:
        """Whether the bytes that came are about what all connections carry at this latency."""
        most = THREADS * self.request_bytes / max(self.latency_s, 1e-9)
        return self.rate > LATENCY_LIMIT * most


class Counted:
    """Sums what `loader.stats()["store"]` gained while the context was open."""

    def __init__(self, loader: object) -> None:
        stats: Callable[[], Json] | None = getattr(loader, "stats", None)
        self._stats = stats if callable(stats) else dict[str, Json]
        self._sums = dict.fromkeys(("images", "requests", "retries", "bytes", "waited_s"), 0.0)
        self._before: Json = {}
        self._start = self.seconds = 0.0
        self._last: Json = {}

    def __enter__(self) -> None:
        self._before, self._start = self._read(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._start
        self._last = self._read()
        for name in self._sums:
            self._sums[name] += self._last.get(name, 0) - self._before.get(name, 0)

    def _read(self) -> Json:
        """Empty for a data set on the local disk."""
        stats = self._stats()
        return {**stats["store"], "images": stats["images"]} if "store" in stats else {}

    def found(self) -> FromStore | None:
        """None for a data set on the local disk."""
        if not self._last or not self.seconds:
            return None
        last, sums = self._last, self._sums
        return FromStore(
            last["where"], self.seconds, int(sums["images"]), int(sums["requests"]),
            int(sums["retries"]), int(sums["bytes"]), sums["waited_s"], last["latency_s"],
            last["data_images"], last["data_bytes"], last["cache_bytes"], last["cached_share"],
        )  # fmt: skip


def lines(found: FromStore | None, step: float) -> list[str]:
    """As a report says it, with what would help; nothing for local data.

    step: images/s of the step alone.
    """
    if found is None:
        return []
    said = (
        f"Store {found.where}: {found.rate / MIB:,.0f} MiB/s in {found.requests:,} requests of "
        f"{found.request_bytes / MIB:.2g} MiB, {found.retries:,} of them tried again; latency "
        f"{1e3 * found.latency_s:,.0f} ms; batches waited {100 * found.waited_share:.0f} % of the "
        "time."
    )
    return [said, _ahead(found), *(_needed(found, step) if found.waited_share > 0 else [])]


def _ahead(found: FromStore) -> str:
    """What is still to be paid for, and what would make it less."""
    size, asked = found.data_bytes, found.requests_for(found.data_bytes)
    all_of_it = f"{_size(size)} ({asked:,} requests)" if asked else _size(size)
    if found.epoch_bytes:
        return (
            f"Each epoch asks for up to {all_of_it}: the cache may take {_size(found.cache_bytes)}."
            f" With cache_bytes={size} or more, epochs after the first ask for nothing."
        )
    left = round((1 - found.cached_share) * size)
    if not left:
        return f"The cache has all {_size(size)}: nothing more is asked for."
    return (
        f"The first epoch asks for {_size(left)} more of {all_of_it}; later ones for nothing, "
        "since the cache may hold all."
    )


def _needed(found: FromStore, step: float) -> list[str]:
    """What the step asks of the link, where batches waited for it."""
    need = step * found.image_bytes
    if need <= found.rate:
        return []
    why = (
        f"each of {THREADS} connections waits {1e3 * found.latency_s:,.0f} ms for each request: "
        "ShuffleSampler(..., window=2 << 30) asks for larger ones, and a nearer store answers "
        "sooner"
        if found.latency_bound
        else "a faster or nearer link, or smaller images (convert --max-side), would give more"
    )
    said = (
        f"The step takes {step:,.0f} images/s, {need / MIB:,.0f} MiB/s of "
        f"{_size(found.image_bytes)} each (computed), {need / max(found.rate, 1.0):.2g} times what "
        f"came; {why}."
    )
    return [said]


def _size(count: float) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} bytes"


def as_json(found: FromStore | None) -> Json | None:
    """Units are in the names."""
    if found is None:
        return None
    return asdict(found) | {
        "bytes_per_s": found.rate,
        "waited_share": found.waited_share,
        "bytes_per_later_epoch": found.epoch_bytes,
        "requests_per_later_epoch": found.requests_for(found.epoch_bytes),
    }
