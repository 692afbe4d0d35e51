"""Why `backend="ffcv"` refuses a pipeline, and what `explain` says of it."""

import importlib

import pytest

import fastload
from fastload.backends import choosing
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.backends.ffcv import runner as ffcv
from fastload.errors import BackendError
from fastload.plan.plan import plan
from fastload.system.machine import INSTALL_FFCV
from fastload.transforms import RandomResizedCrop, Resize, ToTensor
from tests.ways import ways_taken

from .ffcv_helpers import CROPS, needs_ffcv, pair


@needs_ffcv
def test_explain_and_counters(cells, beton):
    ours, _ = pair(beton(cells), CROPS, num_workers=2)
    assert ours.explain().splitlines()[0] == "backend ffcv, 2 threads, device cpu"
    assert len(list(ours)) == 4
    assert ours.decodes() == ways_taken(whole=7)
    assert ours.stats()["stages"]["store"]["samples"] == 13


@needs_ffcv
def test_what_cannot_be_imported_says_so(cells, beton, monkeypatch):
    real = importlib.import_module

    def refuse(name, *package):
        if name.split(".")[0] != "ffcv":  # Numba imports its own parts so
            return real(name, *package)
        raise ImportError(f"libturbojpeg.so.0: no such file, for {name}")

    steps = plan(fastload.open(beton(cells), CROPS).pipeline)
    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(BackendError) as found:
        ffcv.loop(steps, 1)
    why = (
        "ffcv is installed and cannot be imported (libturbojpeg.so.0: no such file, for "
        "ffcv.loader)"
    )
    assert str(found.value) == f"backend ffcv: {why}; {INSTALL_FFCV}"


def test_every_reason_at_once(folder, monkeypatch):
    monkeypatch.setattr(
        "importlib.metadata.version", lambda name: {"ffcv": "0.0.3", "numba": "0.60"}[name]
    )
    steps = plan(
        fastload.open(folder, [Resize((9, 9)), Resize((8, 8)), ToTensor()]).pipeline, "fast"
    )
    here = 'use backend="native"'
    assert ffcv.unsupported(steps, "cuda") == [
        f"ffcv is 0.0.3, want 1.0.2; {INSTALL_FFCV}",
        (f"data is no FFCV file (got {folder}); run fastload convert SRC x.beton, or {here}"),
        (
            "op 2 (Resize) resizes after op 1 (Resize); one resize at the start is what a record "
            "holds"
        ),
    ]
    again = (
        "op 2 (Resize) resizes after op 1 (Resize); one resize at the start is what a "
        'record holds; use backend="torch"'
    )
    assert ffcv.unsupported(steps)[-1] == again
    steps = plan(fastload.open(folder, [RandomResizedCrop((8, 9))]).pipeline, "fast")
    fast = (
        "decode_scale 'fast' needs each JPEG's header before its crop is chosen; leave it "
        f"out, or {here}"
    )
    assert ffcv.unsupported(steps)[-1] == fast


def test_what_is_not_installed_says_how(monkeypatch):
    import importlib.metadata

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert ffcv_installed.problem() == (
        "ffcv is not installed; apt-get install pkg-config libopencv-dev libturbojpeg0-dev && "
        "pip install wheel numba && pip install --no-build-isolation ffcv==1.0.2"
    )


def test_auto_never_takes_it(cells, beton):
    steps = plan(fastload.open(beton(cells), CROPS).pipeline)
    assert choosing.choose("auto", steps, "cpu")[:2] == ("native", [])
