"""What all exporters have in common: when they end, and what is missing where they cannot begin."""

import atexit
import importlib
import os
import threading
import weakref
from types import ModuleType, TracebackType
from typing import Any, TypeVar

from fastload.errors import MetricsError, UsageError
from fastload.metrics.reading import Readings, Value

Own = TypeVar("Own", bound="Exporter")


class Exporter:
    """Open until `close()`, until all its loaders are gone, or until the program ends.

    Also a context, which closes it. `close()` may be called again.

    Example:
        >>> import fastload
        >>> from fastload import metrics
        >>> from fastload import transforms as T
        >>> train = fastload.open("train", [T.CenterCrop((48, 64)), T.ToImage()])
        >>> loader = fastload.DataLoader(train, batch_size=2)
        >>> seen = []
        >>> with metrics.callback({"train": loader}, seen.extend) as exporter:
        ...     for images, labels in loader:
        ...         pass  # the training step
        >>> next(one.value for one in seen if one.metric.name == "fastload_images_total")
        8.0
    """

    def __init__(self, readings: Readings) -> None:
        self._readings = readings
        self._process = os.getpid()
        self._closing, self._closed = threading.Lock(), False
        atexit.register(self.close)
        there = [loader for one in readings.watched if (loader := one.loader()) is not None]
        self._left = [weakref.finalize(loader, self._gone) for loader in there]
        for finalizer in self._left:
            finalizer.atexit = False

    def read(self) -> list[Value]:
        """All values now."""
        return self._readings.read()

    def close(self) -> None:
        """Gives the last values to tools that are given values, and ends its threads."""
        if os.getpid() != self._process:  # a child of fork has none of its threads
            return
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._end()
        for finalizer in self._left:
            finalizer.detach()
        atexit.unregister(self.close)

    def _end(self) -> None:
        """What an exporter has to end. Called once."""

    def _gone(self) -> None:
        """A loader was collected: maybe in the middle of anything, so nothing is waited for."""
        if not self._closed and not any(finalizer.alive for finalizer in self._left):
            threading.Thread(target=self.close, name="fastload-metrics-end", daemon=True).start()

    def __enter__(self: Own) -> Own:  # noqa: PYI019  Self needs Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()


def having(where: str, name: str, value: object, method: str, want: str) -> None:
    """Raises UsageError for an object of another tool that has no such method, so is none."""
    if not callable(getattr(value, method, None)):
        raise UsageError(f"{where}: {name} is {value!r}, want {want}")


def needed(exporter: str, module: str) -> Any:
    """A module of an optional package. Raises MetricsError where it is not installed."""
    try:
        found: ModuleType = importlib.import_module(module)
    except ImportError as error:
        raise MetricsError(
            f"metrics.{exporter}: {module} cannot be imported ({error}); pip install "
            f"'fastload-torch[{exporter}]'"
        ) from error
    return found
