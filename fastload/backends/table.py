"""What is known of each backend without importing it: the one table that loader, profiler, doctor,
command line and docs read.

A package of its own adds a backend by an entry point of the group "fastload.backends", whose object
is a BackendFacts.
"""

import importlib.metadata
from dataclasses import dataclass
from typing import Literal

from fastload.errors import BackendError
from fastload.system.machine import INSTALL_FFCV

GROUP = "fastload.backends"
INSTALL_DALI = 'pip install "fastload-torch[dali]"'
DALI = ("nvidia-dali-cuda130", "nvidia-dali-cuda120")


@dataclass(frozen=True)
class BackendFacts:
    """One backend.

    Its module has `unsupported(plan, device) -> list[str]`, every reason why it cannot run a plan,
    and `compile(plan, device) -> Runner`. Of engine "own" the runner has `engine(threads, depth, *,
    pinned) -> Engine`.
    """

    name: str
    module: str  # imported on use
    engine: Literal[
        "native", "workers", "ffcv", "own"
    ]  # what runs its batches (engines.py); own: what its runner makes
    exact: bool = False  # its pixels are the reference's
    own_draws: bool = (
        False  # it draws numbers of its own, so that only distributions can be compared
    )
    automatic: bool = False  # "auto" takes it where nothing was measured
    seeks: bool = False  # it decodes by seek indexes
    places: bool = False  # with device="cuda" our kernels make the batch, at a place of `placement`
    distributions: tuple[str, ...] = ()  # that bring its library; any one will do
    beside: tuple[str, ...] = ()  # distributions that it needs too
    install: str = ""  # what mends it where none is there
    # Images, at most, before an emulated step; fewer for a slow backend, so that runs hold many
    profiled_batch: int = 64

    @property
    def workers(self) -> str:
        """What `num_workers` counts."""
        return "worker processes" if self.engine == "workers" else "threads"


OWN = (
    BackendFacts("native", "fastload.backends.native.runner", "native", exact=True, automatic=True,
    seeks=True, places=True),
    BackendFacts("torch", "fastload.backends.torch", "workers", exact=True, automatic=True,
    profiled_batch=16),
    BackendFacts(
        "ffcv", "fastload.backends.ffcv.runner", "ffcv", exact=True, seeks=True, places=True,
        distributions=("ffcv",),
        beside=("numba",), install=INSTALL_FFCV,
    ),
    BackendFacts("dali", "fastload.backends.dali.runner", "own", distributions=DALI,
    install=INSTALL_DALI),
    BackendFacts("dali-own", "fastload.backends.dali.own", "own", own_draws=True,
    distributions=DALI, install=INSTALL_DALI),
)  # fmt: skip


def _known() -> dict[str, BackendFacts]:
    """By name, fastload's first.

    Raises BackendError for an entry point that is no backend, or has the name of another one.
    """
    found = {facts.name: facts for facts in OWN}
    for entry in importlib.metadata.entry_points(group=GROUP):
        facts = entry.load()
        if not isinstance(facts, BackendFacts):
            raise BackendError(
                f"entry point {entry.value} of {GROUP}: is {type(facts).__name__}, want a "
                "BackendFacts; mend that package"
            )
        if facts.name in found:
            raise BackendError(
                f"entry point {entry.value} of {GROUP}: backend {facts.name!r} is there already; "
                "rename it"
            )
        found[facts.name] = facts
    return found


BACKENDS = _known()


def facts(name: str) -> BackendFacts:
    """Raises BackendError for a name that nobody knows."""
    if name not in BACKENDS:
        raise BackendError(
            f"backend {name!r} is unknown (want auto, {', '.join(BACKENDS)}); choose one of them"
        )
    return BACKENDS[name]
