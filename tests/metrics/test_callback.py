"""Readings, and when exporters end."""

import ast
import gc
import os
import sys
import threading
from pathlib import Path

import pytest
import torch

import fastload
from fastload import metrics
from fastload.errors import MetricsError, UsageError
from fastload.metrics.names import COUNTER
from tests.waiting import until

RAISES = """
import sys, fastload
from fastload import metrics, transforms as T
data = fastload.open(sys.argv[1], [T.CenterCrop(16), T.ToImage()])
loader = fastload.DataLoader(data, batch_size=8, num_workers=1)
metrics.callback({"train": loader}, lambda values: print(
    *(f"{one.key}={one.value:g}" for one in values if one.metric.name == "fastload_images_total"),
    flush=True), every=3600)
for batch in loader:
    raise SystemError("the training fails")
"""


def by_key(values):
    return {one.key: one.value for one in values}


def test_values_are_what_the_loader_counts(make):
    loader, seen = make(), []
    with metrics.callback({"train": loader}, seen.append, every=3600):
        for _ in loader:
            pass
    assert len(seen) == 1
    values, stats = by_key(seen[0]), loader.stats()
    told = {
        name: values[f"fastload_{name}/train/rank0"]
        for name in (
            "images_total", "batches_total", "elapsed_seconds_total", "wait_seconds_total",
            "bad_samples_total", "epoch", "step", "steps_per_epoch", "wait_ratio", "queue_depth",
        )
    }  # fmt: skip
    assert told == {
        "images_total": 40, "batches_total": 5, "elapsed_seconds_total": stats["elapsed_s"],
        "wait_seconds_total": stats["wait_s"], "bad_samples_total": 0, "epoch": 0, "step": 5,
        "steps_per_epoch": 5, "wait_ratio": stats["wait_s"] / stats["elapsed_s"],
        "queue_depth": stats["queue_depth"],
    }  # fmt: skip
    for stage, sums in stats["stages"].items():
        assert values[f"fastload_stage_images_total/train/rank0/{stage}"] == sums["samples"]
        key = f"fastload_stage_seconds_total/train/rank0/{stage}"
        assert values[key] == pytest.approx(sums["wall_s"])
    decoded = loader.decodes()
    assert {way: values[f"fastload_decoded_images_total/train/rank0/{way}"] for way in decoded} == (
        decoded
    )
    assert not [key for key in values if "_store_" in key]  # the data lie on a disk


def test_gauges_of_lately_begin_anew_and_counters_go_on(make):
    loader = make(num_workers=0)
    with metrics.callback(loader, lambda _: None, every=3600) as exporter:
        assert {one.value for one in exporter.read() if one.metric.kind == COUNTER} == {0.0}
        for _ in loader:
            pass
        first, second = exporter.read(), exporter.read()
    counts = [[one for one in each if one.metric.kind == COUNTER] for each in (first, second)]
    assert counts[0] == counts[1]
    names = [{one.metric.name for one in each} for each in (first, second)]
    assert names[0] - names[1] == {"fastload_wait_ratio", "fastload_queue_depth"}
    rates = [one.value for one in second if one.metric.name == "fastload_images_per_second"]
    assert rates == [0.0]


def test_a_loader_on_pytorchs_own_engine_is_read_too():
    numbers = torch.utils.data.TensorDataset(torch.arange(10))
    loader = fastload.DataLoader(numbers, batch_size=4)
    with metrics.callback({"numbers": loader}, lambda _: None) as exporter:
        for _ in loader:
            pass
        values = by_key(exporter.read())
    assert values["fastload_images_total/numbers/rank0"] == 10
    assert values["fastload_steps_per_epoch/numbers/rank0"] == 3
    assert not [key for key in values if "stage" in key]


def test_loaders_and_ranks_are_told_apart(make, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    one, other = make(), make(sampler=fastload.DistributedSampler(40, num_replicas=8, rank=5))
    with (
        metrics.callback(one, lambda _: None) as first,
        metrics.callback(other, lambda _: None) as second,
        metrics.callback({"again": one}, lambda _: None) as third,
    ):
        labels = [exporter.read()[0].labels for exporter in (first, second, third)]
        assert first.read()[0].labels == labels[0]
    assert [label["rank"] for label in labels] == ["3", "5", "3"]
    assert len({label["loader"] for label in labels}) == 3
    with metrics.callback(one, lambda _: None) as exporter:
        assert exporter.read()[0].labels == labels[0]  # a loader without a name keeps its number


def test_it_ends_with_its_loaders(make):
    loader, before = make(), set(threading.enumerate())
    metrics.callback({"train": loader}, lambda _: None, every=3600)
    assert set(threading.enumerate()) - before
    del loader
    gc.collect()
    assert until(
        lambda: not [t for t in threading.enumerate() if t.name.startswith("fastload-metrics")]
    )


def test_it_ends_with_an_exception_and_may_be_closed_again(make):
    loader, seen = make(), []
    with pytest.raises(KeyError), metrics.callback(loader, seen.append, every=3600) as exporter:
        raise KeyError
    assert len(seen) == 1
    exporter.close()
    assert len(seen) == 1


def test_a_program_that_fails_ends_and_tells_the_last_values(program, folder):
    done = program("-c", RAISES, folder)
    assert done.returncode == 1
    assert done.stdout == "fastload_images_total/train/rank0=8\n"
    assert done.stderr.splitlines()[-1] == "SystemError: the training fails"


def test_what_the_callback_raises_is_told_and_ends_it(make, capfd):
    loader = make()

    def take(_):
        raise ValueError("no such\tplace")

    with metrics.callback(loader, take, every=1e-3) as exporter:
        assert until(lambda: not exporter._thread.is_alive())
        assert sum(len(labels) for _, labels in loader) == 40
    told = "fastload: metrics.callback: ValueError: no such\tplace; it has ended\n"
    assert capfd.readouterr().err == told


def test_a_child_of_fork_leaves_it_alone(make):
    loader = make()
    with metrics.callback(loader, lambda _: None, every=3600) as exporter:
        child = os.fork()
        if not child:
            exporter.close()
            os._exit(int(exporter._closed))
        assert os.waitpid(child, 0)[1] == 0
        assert exporter._thread.is_alive()


@pytest.mark.parametrize(
    ("loaders", "every", "text"),
    [
        (
            [1], 1.0,
            "got list, want a fastload.DataLoader or a dict of them; watch others with watch()",
        ),
        ({}, 1.0, "got no loader, want one, or a dict of loaders by name"),
        (None, 0.0, "every is 0.0, want s between readings, more than 0"),
        (None, float("nan"), "every is nan, want s between readings, more than 0"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_told(make, loaders, every, text):
    with pytest.raises(UsageError) as caught:
        metrics.callback(make() if loaders is None else loaders, print, every=every)
    assert str(caught.value) == f"metrics.callback: {text}"


@pytest.mark.parametrize(
    ("name", "module", "more"),
    [
        ("prometheus", "prometheus_client", ()),
        ("opentelemetry", "opentelemetry.metrics", ()),
        ("tensorboard", "torch.utils.tensorboard", ("runs",)),
        ("wandb", "wandb", ()),
    ],
)
def test_a_missing_package_is_named(make, monkeypatch, name, module, more):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MetricsError) as caught:
        getattr(metrics, name)(make(), *more)
    assert str(caught.value) == (
        f"metrics.{name}: {module} cannot be imported (import of {module} halted; None in "
        f"sys.modules); pip install 'fastload-torch[{name}]'"
    )


def test_nothing_is_imported_before_it_is_used():
    """What the modules import at their heads is Python's own, NumPy, PyTorch or fastload's."""
    for path in Path(metrics.__file__).parent.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            tops = {name.partition(".")[0] for name in names}
            assert tops <= {*sys.stdlib_module_names, "fastload"}, path.name
