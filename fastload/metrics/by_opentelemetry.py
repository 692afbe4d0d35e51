"""Values as OpenTelemetry's observable instruments, which its own reader asks for."""

import threading
from collections.abc import Iterable
from functools import partial
from typing import Any

from fastload.errors import UsageError
from fastload.metrics.exporter import Exporter, having, needed
from fastload.metrics.names import COUNTER, METRICS, Metric
from fastload.metrics.periodic import checked
from fastload.metrics.reading import Loaders, Readings, Value, readings

WHERE, NAME = "metrics.opentelemetry", "opentelemetry"
LONGEST_MS = 5_000  # that close() waits for a collector


class Observed(Exporter):
    """Instruments of a meter; where fastload made its provider, that ends with them."""

    def __init__(self, readings: Readings, api: Any, provider: Any, *, own: bool) -> None:
        super().__init__(readings)
        self._api, self._provider, self._own = api, provider, own
        self._lock, self._served = threading.Lock(), set[str]()
        self._values: list[Value] = []
        meter = provider.get_meter("fastload")
        for metric in METRICS:
            make = (
                meter.create_observable_counter
                if metric.kind == COUNTER
                else meter.create_observable_gauge
            )
            make(
                metric.name,
                callbacks=[partial(self._observe, metric)],
                unit=metric.unit,
                description=metric.meaning,
            )

    def _observe(self, metric: Metric, _: object) -> Iterable[Any]:
        """The instrument's values. All instruments are asked in turn: one that is asked again
        begins a new reading.
        """
        with self._lock:
            if self._closed and not self._own:
                return []
            if metric.name in self._served or not self._served:
                self._values = self.read()
                self._served.clear()
            self._served.add(metric.name)
            values = [one for one in self._values if one.metric is metric]
        return [self._api.Observation(one.value, one.labels) for one in values]

    def _end(self) -> None:
        if self._own:
            self._provider.shutdown(timeout_millis=LONGEST_MS)


def opentelemetry(
    loaders: Loaders,
    *,
    endpoint: str | None = None,
    every: float = 60.0,
    provider: Any = None,
) -> Exporter:
    """Sends values to a collector by OTLP over HTTP, now and then and at the end.

    Args:
        loaders: A `fastload.DataLoader`, or a dict of them by name; the name is the label
            `loader`. Without one they are counted.
        endpoint: As "http://localhost:4318/v1/metrics"; None: as OpenTelemetry's variables of the
            environment say, such as OTEL_EXPORTER_OTLP_ENDPOINT.
        every: s between two readings.
        provider: Your `opentelemetry.metrics.MeterProvider`, which exports as you have told it;
            then the two arguments above mean nothing, and the provider stays open.

    Returns:
        The exporter, which is a context too; see Exporter.

    Raises:
        MetricsError: OpenTelemetry's SDK or its OTLP exporter is not installed.
        UsageError: There is no loader of fastload's, `every` is not more than 0, `endpoint` is no
            URL, or `provider` is none.
    """
    reading = readings(WHERE, loaders)
    every = checked(WHERE, every)
    if endpoint is not None and not str(endpoint).startswith(("http://", "https://")):
        raise UsageError(
            f"{WHERE}: endpoint is {endpoint!r}, want a URL such as "
            "http://localhost:4318/v1/metrics"
        )
    api = needed(NAME, "opentelemetry.metrics")
    if provider is not None:
        having(WHERE, "provider", provider, "get_meter", "a MeterProvider")
        return Observed(reading, api, provider, own=False)
    sdk = needed(NAME, "opentelemetry.sdk.metrics")
    export = needed(NAME, "opentelemetry.sdk.metrics.export")
    otlp = needed(NAME, "opentelemetry.exporter.otlp.proto.http.metric_exporter")
    reader = export.PeriodicExportingMetricReader(
        otlp.OTLPMetricExporter(endpoint=endpoint), export_interval_millis=1000 * every
    )
    # The SDK would end it at the program's end too, after this exporter has.
    made = sdk.MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    return Observed(reading, api, made, own=True)
