"""A table of URLs to shards: fastload against img2dataset, from nginx on the same machine.

Each variant is a program of its own, timed from its start to its end, imports included. All of
them, and the server, share the cores.
"""

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from benchmarks.peers import setup
from benchmarks.peers.catalogue import Peer
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload.errors import BackendError
from fastload.measure import Sample, interleaved

PEER = Peer(
    "img2dataset", "img2dataset", "", "webdataset, 64 threads", packages=("img2dataset==1.47.0",)
)
KEPT, SMALLER = "as served", "sides up to 128 px"
VARIANTS = {
    f"img2dataset, {KEPT}": ("img2dataset", 0),
    f"fastload, {KEPT}": ("fastload", 0),
    f"fastload, {KEPT}, no seek index": ("plain", 0),
    f"img2dataset, {SMALLER}": ("img2dataset", 128),
    f"fastload, {SMALLER}": ("fastload", 128),
}
SIDE, QUALITY = 256, 85  # of the images that are served
TIMEOUT = 1800.0  # s
CONFIGURATION = """
daemon off; worker_processes 1; pid {root}/pid; error_log {root}/error.log crit;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; types {{ image/jpeg jpg; }}
  client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;
  uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;
  server {{ listen 127.0.0.1:{port}; root {root}/images; }}
}}
"""


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    workers: int = 2  # threads; img2dataset: processes
    connections: int = 64  # img2dataset: threads of each process
    files: int = 10_000
    repetitions: int = 5
    environments: Path = Path("build/peers")  # where img2dataset is installed

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(VARIANTS) * self.repetitions


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Serve images of the folder `data`, and fetch them by every variant, in turns."""
    if failed := setup.set_up([PEER], settings.environments.absolute(), print):
        raise BackendError(f"img2dataset: {failed[PEER.name]}")
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        size = lay_out(data, os.path.join(scratch, "images"), settings.files)
        common["data"] |= {"files": settings.files, "bytes_each": size // settings.files}
        with nginx(scratch) as address:
            table = os.path.join(scratch, "urls.parquet")
            urls = [f"{address}/{number:06d}.jpg" for number in range(settings.files)]
            columns = {"url": urls, "caption": [f"picture {n}" for n in range(len(urls))]}
            pq.write_table(pa.table(columns), table)
            runs = {
                variant: _timed(variant, table, os.path.join(scratch, "out"), settings)
                for variant in VARIANTS
            }
            results = interleaved(runs, settings.repetitions, on_done)
    return rows(settings, results, common)


def lay_out(data: str, folder: str, count: int) -> int:
    """So many small JPEGs: the images of `data`, made smaller once and linked; their bytes."""
    os.mkdir(folder)
    images = sorted(path for path in Path(data).rglob("*") if path.is_file())[:count]
    size = 0
    for number, path in enumerate(images):
        with Image.open(path) as image:
            small = image.convert("RGB")
            small.thumbnail((SIDE, SIDE))
        out = io.BytesIO()
        small.save(out, "JPEG", quality=QUALITY)
        for copy in range(number, count, len(images)):
            target = os.path.join(folder, f"{copy:06d}.jpg")
            size += len(out.getvalue())
            if copy == number:
                Path(target).write_bytes(out.getvalue())
            else:
                os.link(os.path.join(folder, f"{number:06d}.jpg"), target)
    return size


@contextmanager
def nginx(root: str) -> Iterator[str]:
    """A server of ROOT/images; its address. Raises BackendError."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    if not os.path.exists(program):
        raise BackendError("nginx: is not installed; Debian: apt-get install nginx-light")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = os.path.join(root, "nginx.conf")
    Path(configuration).write_text(
        ("user root;\n" if os.geteuid() == 0 else "") + CONFIGURATION.format(root=root, port=port)
    )
    server = subprocess.Popen([program, "-p", root, "-c", configuration])
    try:
        until = time.monotonic() + 30
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if time.monotonic() > until or server.poll() is not None:
                raise BackendError("nginx: does not answer; look into its configuration")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _timed(variant: str, table: str, out: str, settings: Settings) -> Callable[[], float]:
    """Fetch once, images per second."""
    who, side = VARIANTS[variant]

    def once() -> float:
        os.sync()
        begin = time.perf_counter()
        said = program(command(who, side, table, out, settings))
        seconds = time.perf_counter() - begin
        check(who, out, said, settings.files)
        shutil.rmtree(out)
        return settings.files / seconds

    return once


def command(who: str, side: int, table: str, out: str, settings: Settings) -> list[str]:
    """The program of a variant."""
    workers, connections = str(settings.workers), str(settings.connections)
    if who == "img2dataset":
        python = setup.python_of(PEER, settings.environments.absolute())
        child = str(Path(__file__).with_name("child.py"))
        return [python, child, table, out, workers, connections, str(side)]
    given = [
        sys.executable, "-m", "fastload", "convert", table, out, "--workers", workers,
        "--connections", connections, "--host-connections", connections, "--allow-private",
        "--rows-per-shard", "2500", "--json", "-",
    ]  # fmt: skip
    given += ["--max-side", str(side), "--quality", "90"] * bool(side)
    return given + ["--no-seek"] * (who == "plain")


def program(command: list[str]) -> str:
    """What a program says. Raises BackendError."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    if done.returncode:
        raise BackendError(f"{command[-1]}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


def check(who: str, out: str, said: str, files: int) -> None:
    """Raise BackendError unless every image came."""
    if who == "img2dataset":
        stats = [json.loads(path.read_text()) for path in Path(out).glob("*_stats.json")]
        came = sum(one["successes"] for one in stats)
    else:
        came = json.loads(said)["samples"]
    if came != files:
        raise BackendError(f"{who}: fetched {came} of {files} images; look into its log")


def rows(settings: Settings, results: dict[str, Sample], common: dict[str, Any]) -> list[Row]:
    """One row per variant."""
    out = []
    for variant, sample in results.items():
        reference = f"img2dataset, {SMALLER if VARIANTS[variant][1] else KEPT}"
        against = None if variant == reference else results[reference]
        out.append(Row(
            benchmark="urls", variant=variant,
            settings={"workers": settings.workers, "connections": settings.connections},
            reference=reference if against else None, page_cache="warm",
            **measured(sample, against), **common,
        ))  # fmt: skip
    return out
