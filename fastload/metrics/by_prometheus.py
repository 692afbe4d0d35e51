"""Values as Prometheus scrapes them. They are read when somebody asks."""

import os
import weakref
from collections.abc import Iterator
from typing import Any

from fastload.errors import MetricsError
from fastload.metrics.exporter import Exporter, having, needed
from fastload.metrics.names import COUNTER, METRICS
from fastload.metrics.reading import Loaders, Readings, Value, readings

WHERE = "metrics.prometheus"


class Scraped(Exporter):
    """Answers scrapes.

    Args:
        port: That is listened on; None: the program's own registry is scraped.
    """

    def __init__(self, readings: Readings, package: Any, registry: Any) -> None:
        super().__init__(readings)
        self._package, self._registry = package, registry
        self._server: Any = None
        self._thread: Any = None
        self.port: int | None = None
        registry.register(self)

    def serve(self, port: int, address: str) -> None:
        """Raises MetricsError."""
        try:
            self._server, self._thread = self._package.start_http_server(
                port, address, self._registry
            )
        except (OSError, OverflowError, TypeError, ValueError) as error:
            self.close()
            raise MetricsError(
                f"{WHERE}: port {port} of {address} cannot be opened ({error}); give another "
                "port, or 0 for any that is free"
            ) from error
        self.port = self._server.server_port
        _open.add(self)

    def collect(self) -> Iterator[Any]:
        """What prometheus-client asks of a collector: families of values."""
        values = self.read()
        core = self._package.core
        for metric in METRICS:
            own = [metric.label] if metric.label else []
            kind = core.CounterMetricFamily if metric.kind == COUNTER else core.GaugeMetricFamily
            family = kind(metric.name, metric.meaning, labels=["loader", "rank", *own])
            for one in _of(metric.name, values):
                family.add_metric(list(one.labels.values()), one.value)
            if family.samples:
                yield family

    def describe(self) -> list[Any]:
        """Nothing: so registering reads nothing."""
        return []

    def _end(self) -> None:
        self._registry.unregister(self)
        if self._server is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            _open.discard(self)


def _of(name: str, values: list[Value]) -> list[Value]:
    return [one for one in values if one.metric.name == name]


_open = weakref.WeakSet[Scraped]()


def _forked() -> None:
    """A child, such as a loader's worker, does not keep its parent's port."""
    for one in list(_open):
        one._server.socket.close()
    _open.clear()


os.register_at_fork(after_in_child=_forked)


def prometheus(
    loaders: Loaders, *, port: int = 9470, address: str = "127.0.0.1", registry: Any = None
) -> Scraped:
    """Answers Prometheus at http://ADDRESS:PORT/metrics, by prometheus-client.

    Values are read when they are scraped. Gauges of what happened lately count from the scrape
    before.

    Args:
        loaders: A `fastload.DataLoader`, or a dict of them by name; the name is the label
            `loader`. Without one they are counted.
        port: To listen on; 0: any that is free, which `port` of the result tells.
        address: To listen on. The default is this machine only; "0.0.0.0" is every interface, where
            anybody who reaches the machine can read the values.
        registry: Your `prometheus_client.CollectorRegistry`, which you serve: nothing listens
            here then.

    Returns:
        The exporter, which is a context too; see Exporter.

    Raises:
        MetricsError: prometheus-client is not installed, or the port is taken.
        UsageError: There is no loader of fastload's, or `registry` is none.
    """
    reading = readings(WHERE, loaders)
    package = needed("prometheus", "prometheus_client")
    needed("prometheus", "prometheus_client.core")
    if registry is not None:
        having(WHERE, "registry", registry, "register", "a prometheus_client.CollectorRegistry")
        return Scraped(reading, package, registry)
    exporter = Scraped(reading, package, package.CollectorRegistry())
    exporter.serve(port, address)
    return exporter
