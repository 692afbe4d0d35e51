"""OpenTelemetry: a collector of OTLP over HTTP, whose messages opentelemetry-proto decodes."""

import gzip
import http.server
import threading

import pytest

from fastload import metrics
from fastload.metrics.names import COUNTER, METRICS
from tests.metrics.names import ALWAYS

pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter")
service = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
sdk = pytest.importorskip("opentelemetry.sdk.metrics")
export = pytest.importorskip("opentelemetry.sdk.metrics.export")
TABLE = {one.name: one for one in METRICS}


@pytest.fixture
def collector():
    """The URL, and the messages that have come."""
    messages = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            message = service.ExportMetricsServiceRequest()
            message.ParseFromString(body)
            messages.append(message)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/metrics", messages
    server.shutdown()
    thread.join()
    server.server_close()


def received(message):
    """The metrics of fastload's by name."""
    return {
        one.name: one
        for resource in message.resource_metrics
        for scope in resource.scope_metrics
        if scope.scope.name == "fastload"
        for one in scope.metrics
    }


def points(one):
    """Values by labels."""
    data = one.sum if one.HasField("sum") else one.gauge
    return {
        tuple(sorted((a.key, a.value.string_value) for a in point.attributes)): (
            point.as_double if point.HasField("as_double") else point.as_int
        )
        for point in data.data_points
    }


def test_what_a_collector_receives_is_what_the_loader_counts(make, collector):
    url, messages = collector
    loader = make()
    with metrics.opentelemetry({"train": loader}, endpoint=url, every=3600):
        for _ in loader:
            pass
    found = received(messages[-1])
    labels = (("loader", "train"), ("rank", "0"))
    assert points(found["fastload_images_total"]) == {labels: 40}
    stats = loader.stats()
    assert points(found["fastload_wait_seconds_total"]) == {labels: stats["wait_s"]}
    stages = {dict(key)["stage"] for key in points(found["fastload_stage_seconds_total"])}
    assert stages == set(stats["stages"])
    assert set(found) == ALWAYS
    for name, one in found.items():
        assert (one.unit, one.description) == (TABLE[name].unit, TABLE[name].meaning)
        assert one.HasField("sum") == (TABLE[name].kind == COUNTER)
        if one.HasField("sum"):
            assert one.sum.is_monotonic


def test_one_export_is_one_reading_and_the_next_another(make):
    reader = export.InMemoryMetricReader()
    provider = sdk.MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    loader = make(num_workers=0)
    exporter = metrics.opentelemetry({"a": loader}, provider=provider)
    read, exporter_read = [], exporter.read
    exporter.read = lambda: (read.append(1), exporter_read())[1]
    for epochs in (1, 2):
        for _ in loader:
            pass
        (resource,) = reader.get_metrics_data().resource_metrics
        found = {one.name: one.data.data_points for one in resource.scope_metrics[0].metrics}
        assert [one.value for one in found["fastload_images_total"]] == [40 * epochs]
        assert len(read) == epochs
    exporter.close()
    loader.__iter__()
    assert reader.get_metrics_data() is None  # nothing more, and the provider is the program's
    provider.shutdown()
