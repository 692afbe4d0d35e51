"""What exporters of metrics take: CPU time of all threads for one reading, and its share of the
time between two readings, by each exporter's own default.

A reading has everything that a loader on local files has to tell, and goes the whole way: into a
page that is asked for over HTTP, a file of events, a message to a collector. Client and collector
run in the same process, so their time counts too.
"""

import http.server
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import fastload
from benchmarks.loaders import overhead
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload import metrics
from fastload import transforms as T
from fastload.errors import MetricsError
from fastload.measure import interleaved

READINGS = 50  # of one repetition
NEVER = 1e6  # s: readings are asked for here
EVERY = {  # s between two readings; Prometheus's is the server's own default
    "callback": 10.0, "prometheus": 15.0, "tensorboard": 30.0, "opentelemetry": 60.0,
}  # fmt: skip


def run(repetitions: int, on_done: Callable[[], None] = lambda: None) -> list[Row]:
    """A row for each exporter whose package is installed."""
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        folder = overhead.make_folder(Path(scratch) / "images", 256)
        data = fastload.open(str(folder), [T.RandomResizedCrop(32), T.ToImage()])
        loader = fastload.DataLoader(data, batch_size=64, num_workers=1)
        for _ in loader:
            pass
        ways = dict(_ways(loader, scratch, stack))
        rates = interleaved(
            {name: lambda way=way: _rate(way) for name, way in ways.items()}, repetitions, on_done
        )
        common = {"data": facts.data_set(str(folder), "256 images of noise"), **facts.common()}
    return [
        Row(
            "exporting", name, {}, page_cache="not used", reference=None,
            unit="readings per second of CPU time", **measured(sample, None), **common,
            also={"reading_us": 1e6 / sample.median, "every_s": EVERY[name],
                  "share_percent": 100 / sample.median / EVERY[name]},
        )
        for name, sample in rates.items()
    ]  # fmt: skip


def _rate(way: Callable[[], object]) -> float:
    start = time.process_time()
    for _ in range(READINGS):
        way()
    return READINGS / (time.process_time() - start)


def _ways(
    loader: Any, scratch: str, stack: ExitStack
) -> Iterator[tuple[str, Callable[[], object]]]:
    """What makes one reading, by exporter."""
    plain: Any = stack.enter_context(metrics.callback(loader, lambda _: None, every=NEVER))
    yield "callback", lambda: plain._take(plain.read())
    for make in (_prometheus, _tensorboard, _opentelemetry):
        try:
            yield make.__name__[1:], make(loader, scratch, stack)
        except MetricsError as error:
            print(f"exporting: left out: {error}")


def _prometheus(loader: Any, _: str, stack: ExitStack) -> Callable[[], object]:
    exporter = stack.enter_context(metrics.prometheus(loader, port=0))
    url = f"http://127.0.0.1:{exporter.port}/metrics"

    def read() -> None:
        with urllib.request.urlopen(url, timeout=60) as answer:
            answer.read()

    return read


def _tensorboard(loader: Any, scratch: str, stack: ExitStack) -> Callable[[], object]:
    made: Any = stack.enter_context(metrics.tensorboard(loader, f"{scratch}/runs", every=NEVER))
    return lambda: made._take(made.read())


def _opentelemetry(loader: Any, _: str, stack: ExitStack) -> Callable[[], object]:
    url = stack.enter_context(_collector())
    made: Any = stack.enter_context(metrics.opentelemetry(loader, endpoint=url, every=NEVER))
    return made._provider.force_flush


@contextmanager
def _collector() -> Iterator[str]:
    """Takes messages, and says nothing."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/metrics"
    server.shutdown()
    thread.join()
    server.server_close()
