"""The table of backends, and what other packages may add to it."""

import importlib.metadata

import pytest

from fastload.backends import table as backend_facts
from fastload.backends.table import BackendFacts
from fastload.errors import BackendError


class Entry:
    """As importlib.metadata.EntryPoint."""

    value = "theirs:FACTS"

    def __init__(self, loaded):
        self.loaded = loaded

    def load(self):
        return self.loaded


@pytest.fixture
def installed(monkeypatch):
    def install(*loaded):
        entries = [Entry(each) for each in loaded]
        monkeypatch.setattr(
            importlib.metadata,
            "entry_points",
            lambda group: entries if group == "fastload.backends" else [],
        )

    return install


def test_workers_are_processes_only_where_pytorch_makes_the_batches():
    found = {name: facts.workers for name, facts in backend_facts.BACKENDS.items()}
    assert found == {**dict.fromkeys(found, "threads"), "torch": "worker processes"}


def test_a_name_that_nobody_knows():
    with pytest.raises(BackendError) as caught:
        backend_facts.facts("cupy")
    assert (
        str(caught.value)
        == "backend 'cupy' is unknown (want auto, native, torch, ffcv, dali, dali-own); choose one "
        "of them"
    )


def test_another_package_adds_a_backend_after_ours(installed):
    theirs = BackendFacts("theirs", "theirs.backend", "own", exact=True)
    installed(theirs)
    assert list(backend_facts._known()) == ["native", "torch", "ffcv", "dali", "dali-own", "theirs"]
    assert backend_facts._known()["theirs"] is theirs


@pytest.mark.parametrize(
    ("loaded", "text"),
    [
        ("a text", "is str, want a BackendFacts; mend that package"),
        (BackendFacts("ffcv", "theirs", "own"), "backend 'ffcv' is there already; rename it"),
    ],
)
def test_what_is_no_new_backend_is_refused(installed, loaded, text):
    installed(loaded)
    with pytest.raises(BackendError) as caught:
        backend_facts._known()
    assert str(caught.value) == f"entry point theirs:FACTS of fastload.backends: {text}"
