"""Prometheus: scraped over HTTP, and read by prometheus-client's parser."""

import os
import socket
import urllib.request

import pytest

from fastload import metrics
from fastload.errors import MetricsError
from fastload.metrics.names import METRICS
from tests.metrics.names import ALWAYS

prometheus_client = pytest.importorskip("prometheus_client")
parser = pytest.importorskip("prometheus_client.parser")


def scraped(port):
    """Families by name, as the parser reads them."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return {one.name: one for one in parser.text_string_to_metric_families(text)}


def test_what_is_scraped_is_what_the_loaders_count(make):
    train, val = make(), make(num_workers=0)
    with metrics.prometheus({"train": train, "val": val}, port=0) as exporter:
        for _ in train:
            pass
        found = scraped(exporter.port)
        images = {s.labels["loader"]: s.value for s in found["fastload_images"].samples}
        assert images == {"train": 40, "val": 0}
        for _ in val:
            pass
        again = scraped(exporter.port)
    images = {s.labels["loader"]: s.value for s in again["fastload_images"].samples}
    assert images == {"train": 40, "val": 40}
    stages = {s.labels["stage"] for s in again["fastload_stage_seconds"].samples}
    assert stages == set(train.stats()["stages"])
    table = {one.name.removesuffix("_total"): one for one in METRICS}
    for name, family in again.items():
        assert family.type == table[name].kind
        assert family.documentation == table[name].meaning
        want = table[name].name
        assert {one.name for one in family.samples} == {want}
    assert set(found) == {name.removesuffix("_total") for name in ALWAYS}


def listen(port):
    """Fails where anybody else listens; ended connections are none."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()


def test_a_taken_port_is_told_and_free_after_it_was_closed(make):
    loader = make()
    with metrics.prometheus(loader, port=0) as exporter:
        with pytest.raises(MetricsError) as caught:
            metrics.prometheus(loader, port=exporter.port)
        text = str(caught.value)
        assert text.startswith(f"metrics.prometheus: port {exporter.port} of 127.0.0.1 cannot be ")
        assert text.endswith("; give another port, or 0 for any that is free")
    listen(exporter.port)


def test_a_child_of_fork_does_not_keep_the_port(make):
    loader = make()
    exporter = metrics.prometheus(loader, port=0)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.read(read, 1)
        os._exit(0)
    exporter.close()
    listen(exporter.port)
    os.write(write, b"x")
    os.waitpid(child, 0)
    os.close(read), os.close(write)


def test_a_registry_of_the_programs_is_filled(make):
    registry, loader = prometheus_client.CollectorRegistry(), make()
    with metrics.prometheus({"a": loader}, registry=registry) as exporter:
        assert exporter.port is None
        for _ in loader:
            pass
        text = prometheus_client.generate_latest(registry).decode()
        assert 'fastload_images_total{loader="a",rank="0"} 40.0' in text.splitlines()
    assert prometheus_client.generate_latest(registry) == b""
