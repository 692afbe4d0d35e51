"""The table of backends, and what other packages may add to it."""

import pytest

from fastload.backends import choosing
from fastload.backends import table as backend_facts
from fastload.backends.table import BACKENDS
from fastload.errors import BackendError
from tests import distributions

GROUP = "fastload.backends"
THEIRS = """
from fastload.backends.table import BackendFacts
FACTS = BackendFacts("theirs", "theirs.backend", "own", exact=True, automatic=True)
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    entries = {"theirs": "their_facts:FACTS", "broken": "no_such_module:FACTS"}
    modules = {"their_facts": THEIRS}
    folder = distributions.write(tmp_path, "their-package", {GROUP: entries}, modules)
    distributions.install(monkeypatch, folder)


def test_workers_are_processes_only_where_pytorch_makes_the_batches():
    found = {one.name: one.workers for one in backend_facts.OWN}
    assert found == {**dict.fromkeys(found, "threads"), "torch": "worker processes"}


def test_a_name_that_nobody_knows():
    with pytest.raises(BackendError) as caught:
        backend_facts.facts("cupy")
    assert (
        str(caught.value)
        == "backend 'cupy' is unknown (want auto, native, torch, ffcv, dali, dali-own); choose one "
        "of them"
    )


@pytest.mark.usefixtures("installed")
def test_another_package_adds_a_backend_after_ours():
    assert list(BACKENDS) == ["native", "torch", "ffcv", "dali", "dali-own", "theirs", "broken"]
    assert backend_facts.facts("theirs").exact
    assert backend_facts.is_exact("theirs")
    assert "theirs" not in (*choosing.AUTO, *choosing.EXACT)  # "auto" loads nobody's code


@pytest.mark.usefixtures("installed")
def test_a_broken_backend_is_a_reason_and_no_end_of_others():
    (reason,) = choosing.unsupported("broken", None, "cpu")
    assert reason == (
        "entry point 'broken' of fastload.backends in their-package: cannot be loaded "
        "(ModuleNotFoundError: No module named 'no_such_module'); update or uninstall their-package"
    )
    assert not backend_facts.is_exact("broken")
    with pytest.raises(BackendError) as caught:
        backend_facts.facts("broken")
    assert str(caught.value) == reason
