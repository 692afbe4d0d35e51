"""DALI as a peer of the loader benchmark: what it is asked for, and what happens without it."""

import time
from collections import Counter
from types import SimpleNamespace

import pytest

from fastload.errors import BackendError
from fastload.measure import Sample

child = pytest.importorskip("benchmarks.loaders.child")  # not in an installed package
dali = pytest.importorskip("benchmarks.loaders.dali")
facts = pytest.importorskip("benchmarks.report.facts")
loader = pytest.importorskip("benchmarks.loaders.loader")
table = pytest.importorskip("benchmarks.report.table")
needs_dali = pytest.mark.skipif(facts.dali_version() is None, reason="needs NVIDIA DALI")


def test_without_dali_its_rows_are_left_out(monkeypatch):
    monkeypatch.setattr(facts, "dali_version", lambda: None)
    assert loader.present() == ("torch", "fastload", "later", "shards")
    assert {spec["loader"] for spec in loader.specs(loader.Settings(), "", "", (0, 1))} == set(
        loader.present()
    )
    monkeypatch.setattr(facts, "dali_version", lambda: "2.4.0")
    assert loader.present() == ("torch", "dali", "fastload", "later", "shards")


def test_hot_has_its_own_size(monkeypatch):
    monkeypatch.setattr(facts, "dali_version", lambda: None)
    found = {
        (spec["output"], spec["size"]) for spec in loader.specs(loader.Settings(), "", "", (0, 1))
    }
    assert found == {("uint8", 224), ("float32", 224), ("hot", 176)}


def test_rows_say_how_many_times_dali_fastload_is(monkeypatch):
    monkeypatch.setattr(facts, "dali_version", lambda: "2.4.0")
    settings = loader.Settings(workers=(1,), outputs=("hot",))
    rates = {"torch": 100.0, "dali": 200.0, "fastload": 800.0, "later": 1200.0, "shards": 1600.0}
    found = {
        loader.key(spec): Sample((rates[spec["loader"]],) * 3)
        for spec in loader.specs(settings, "", "", ())
    }
    software = {
        "torch": "2.11.0",
        "torchvision": "0.26.0",
        "dali": "2.4.0",
        "pillow": {"name": "Pillow", "version": "13", "libjpeg_turbo": "3"},
    }
    machine = {"cpu": "A CPU", "cores_usable": 2, "gpu": None}
    common = {
        "data": {},
        "machine": machine,
        "software": software,
        "commit": "1a2b",
        "dirty": False,
        "date": "2026-01-01",
        "load": 0.1,
    }
    rows = loader.rows(settings, found, common)
    assert [(r.variant, r.ratio, r.also.get("times_DALI")) for r in rows] == [
        ("PyTorch DataLoader", None, None), ("DALI, CPU", 2.0, None),
        ("fastload, folder", 8.0, 4.0), ("fastload, folder, 2nd epoch on", 12.0, 6.0),
        ("fastload, shards", 16.0, 8.0),
    ]  # fmt: skip
    assert (
        "| fastload, shards | 1,600 | 1,600 to 1,600 | 16.00 (16.00 to 16.00) | 8 (8 to 8) |\n"
        in table.markdown(rows)
    )
    assert "(libjpeg-turbo 3), DALI 2.4.0; commit 1a2b" in table.footnote(rows)
    assert "DALI" not in table.footnote(rows[:1])


def clock(monkeypatch, until: float) -> None:
    """A machine on which DALI works until that moment, s."""
    now = [0.0]
    monkeypatch.setattr(dali, "time", SimpleNamespace(
        perf_counter=lambda: now[0], process_time=lambda: min(now[0], until),
        sleep=lambda for_: now.__setitem__(0, now[0] + for_)
    ))  # fmt: skip


def test_an_epoch_ends_when_dali_has_stopped_working(monkeypatch):
    clock(monkeypatch, until=0.7)
    assert dali.quiet() == pytest.approx(0.7, abs=2 * dali.POLL)
    clock(monkeypatch, until=0.0)
    assert dali.quiet() == 0.0  # it was idle already


def test_dali_that_never_stops_is_an_error(monkeypatch):
    clock(monkeypatch, until=1e9)
    with pytest.raises(BackendError) as error:
        dali.quiet()
    assert str(error.value) == "DALI: still busy 10 s after an epoch (want idle); report this"


def test_an_epoch_counts_images_until_it_is_quiet():
    class Batches:
        def __iter__(self):
            return iter([([0] * 6, None), ([0] * 4, None)])

        def quiet(self) -> float:
            return time.perf_counter() + 1000.0

    assert child.epoch(Batches()) == pytest.approx(0.01, rel=1e-3)


@needs_dali
@pytest.mark.parametrize(
    ("output", "kind"),
    [("uint8", "torch.uint8"), ("float32", "torch.float32"), ("hot", "torch.float32")],
)
def test_dali_gives_each_image_once_an_epoch(folder, output, kind):
    spec = {
        "loader": "dali",
        "data": folder,
        "output": output,
        "size": 24,
        "batch_size": 16,
        "workers": 1,
    }
    batches = child.make_loader(spec)
    for _ in range(3):
        labels, shapes = Counter(), []
        for images, found in batches:
            assert str(images.dtype) == kind
            labels.update(found.flatten().tolist())
            shapes.append(tuple(images.shape))
        assert labels == {0: 14, 1: 13, 2: 13}
        assert shapes == [(16, 3, 24, 24), (16, 3, 24, 24), (8, 3, 24, 24)]
        assert float(images.float().std()) > (10 if output == "uint8" else 0.2)
