"""What is known of each backend without importing it: the one table that loader, profiler, doctor,
command line and docs read.

Another distribution adds a backend by an entry point of the group "fastload.backends", whose object
is a BackendFacts. docs/extending.md has an example.
"""

from dataclasses import dataclass
from typing import Literal

from fastload.errors import BackendError, mistyped
from fastload.system.extensions import Record, Table
from fastload.system.machine import INSTALL_FFCV

INSTALL_DALI = 'pip install "fastload-torch[dali]"'
DALI = ("nvidia-dali-cuda130", "nvidia-dali-cuda120")


@dataclass(frozen=True)
class BackendFacts(Record):
    """What is known of one backend without importing it.

    Its module has `unsupported(plan, device) -> list[str]`, every reason why it cannot run a plan,
    and `compile(plan, device) -> Runner`. Of engine "own" the runner has `engine(threads, depth, *,
    pinned) -> Engine`.

    Args:
        name: What users write, as in `backend="native"`.
        module: The module, imported on use.
        engine: What runs its batches (engine/make.py): "native", "workers", "ffcv", or "own", which
            its runner makes.
        exact: Its pixels are the reference's.
        own_draws: Its random numbers are its own, so that only distributions can be compared.
        automatic: "auto" takes it where nothing was measured. Of fastload's own backends only.
        seeks: It decodes by seek indexes.
        on_gpu: With device="cuda" fastload's kernels make the batch, at one of the placements.
        beside: Distributions that it needs too.
        profiled_batch: Images, at most, before an emulated step. Slow backends have fewer, so that
            runs hold many batches.
        summary: What it is, in a few words, for help texts.
        distributions: Distributions that its library comes in; any one will do.
        install: The command that installs one.

    Example:
        >>> from fastload.extending import BackendFacts
        >>> facts = BackendFacts("toy", "toy.backend", "workers", summary="a toy")
        >>> facts.workers
        'worker processes'
    """

    engine: Literal["native", "workers", "ffcv", "own"]
    exact: bool = False
    own_draws: bool = False
    automatic: bool = False
    seeks: bool = False
    on_gpu: bool = False
    beside: tuple[str, ...] = ()
    profiled_batch: int = 64

    @property
    def workers(self) -> str:
        """What `num_workers` counts."""
        return "worker processes" if self.engine == "workers" else "threads"


OWN = (
    BackendFacts(
        "native", "fastload.backends.native.runner", "native", exact=True, automatic=True,
        seeks=True, on_gpu=True,
    ),
    BackendFacts(
        "torch", "fastload.backends.torch", "workers", exact=True, automatic=True,
        profiled_batch=16,
    ),
    BackendFacts(
        "ffcv", "fastload.backends.ffcv.runner", "ffcv", exact=True, seeks=True, on_gpu=True,
        distributions=("ffcv",), beside=("numba",), install=INSTALL_FFCV,
    ),
    BackendFacts(
        "dali", "fastload.backends.dali.runner", "own", distributions=DALI, install=INSTALL_DALI,
    ),
    BackendFacts(
        "dali-own", "fastload.backends.dali.own", "own", own_draws=True, distributions=DALI,
        install=INSTALL_DALI,
    ),
)  # fmt: skip


BACKENDS = Table("fastload.backends", BackendFacts, OWN, BackendError)


def facts(name: str) -> BackendFacts:
    """Raises BackendError for a name that nobody knows, and for a broken entry point."""
    if name not in BACKENDS:
        raise mistyped(
            BackendError(
                f"backend {name!r} is unknown (want auto, {', '.join(BACKENDS)}); choose one of "
                "them"
            ),
            name,
            ("auto", *BACKENDS),
        )
    return BACKENDS[name]


def is_exact(name: str) -> bool:
    """Whether its pixels are the reference's; False for a name that nobody knows, or broken."""
    try:
        return facts(name).exact
    except BackendError:
        return False


def shows_draws(name: str) -> bool:
    """Whether anybody can tell what it drew. Raises BackendError."""
    return not facts(name).own_draws
