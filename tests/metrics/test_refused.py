"""Arguments that make no sense: told when the exporter is made, not by its thread later."""

import threading

import pytest

from fastload import metrics
from fastload.errors import FastloadError, UsageError

PROBLEMS = [
    ("callback", (print,), {"every": "10"}, "every is '10', want s between readings, more than 0"),
    ("callback", (print,), {"every": True}, "every is True, want s between readings, more than 0"),
    ("callback", (None,), {}, "take is None, want a function of a list of values"),
    ("tensorboard", (None,), {}, "to is None, want a folder or a SummaryWriter"),
    ("tensorboard", ("",), {}, "to is '', want a folder or a SummaryWriter"),
    ("wandb", (5,), {}, "run is 5, want what wandb.init has returned"),
    (
        "prometheus", (), {"registry": 5},
        "registry is 5, want a prometheus_client.CollectorRegistry",
    ),
    ("opentelemetry", (), {"provider": 5}, "provider is 5, want a MeterProvider"),
    (
        "opentelemetry", (), {"endpoint": "localhost:4318"},
        "endpoint is 'localhost:4318', want a URL such as http://localhost:4318/v1/metrics",
    ),
]  # fmt: skip
NEEDED = {
    "tensorboard": "tensorboard",
    "prometheus": "prometheus_client",
    "opentelemetry": "opentelemetry.sdk.metrics",
}


@pytest.mark.parametrize(("name", "given", "more", "text"), PROBLEMS)
def test_what_makes_no_sense_is_told_at_once(make, name, given, more, text):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    before = set(threading.enumerate())
    with pytest.raises(UsageError) as caught:
        getattr(metrics, name)(make(), *given, **more)
    assert str(caught.value) == f"metrics.{name}: {text}"
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("name", [1, None, ""])
def test_names_of_loaders_are_text(make, name):
    with pytest.raises(UsageError) as caught:
        metrics.callback({name: make()}, print)
    assert str(caught.value) == f"metrics.callback: a loader's name is {name!r}, want text"


@pytest.mark.parametrize("more", [{"port": None}, {"port": "9470"}, {"port": 0, "address": 5}])
def test_no_port_and_no_address(make, more):
    pytest.importorskip("prometheus_client")
    with pytest.raises(FastloadError, match=r"^metrics\.prometheus: port .* cannot be opened "):
        metrics.prometheus(make(), **more)


def test_a_thread_sleeps_no_longer_than_it_can(make, capfd):
    loader, seen = make(), []
    with metrics.callback(loader, seen.append, every=10**40) as exporter:
        assert exporter._thread.is_alive()
    assert len(seen) == 1
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("plan", [None, 5])
def test_a_plan_is_a_file(make, plan):
    with pytest.raises(UsageError) as caught:
        metrics.progress(make(), plan)
    want = f"plan: got {type(plan).__name__}, want a file; make one with fastload plan --json FILE"
    assert str(caught.value) == want
