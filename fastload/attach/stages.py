"""Where a worker's time goes while it makes a batch: data set, PIL's decoding, each transform,
collate.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from fastload.attach.looking import held

COMPOSES = (
    "torchvision.transforms.transforms.Compose",
    "torchvision.transforms.v2._container.Compose",
)
# Only every tenth batch is split into stages: reading a clock costs about a microsecond.
DEEP_EVERY = 10
SCHEDSTAT = "/proc/thread-self/schedstat"  # CPU time, time in the run queue, both ns, and slices


P = ParamSpec("P")
T = TypeVar("T")


class Stages(threading.local):
    """Time of each thread by stage; what runs inside another stage counts as the inner one's."""

    def __init__(self) -> None:
        self.sums: dict[str, list[float]] = {}
        self.open = False
        self._stack: list[str] = []
        self._wall = self._cpu = 0.0

    def start(self) -> None:
        self.sums, self._stack, self.open = {}, ["dataset"], True
        self._wall, self._cpu = time.perf_counter(), time.thread_time()

    def stop(self) -> dict[str, list[float]]:
        """Wall and CPU seconds by stage since start()."""
        self._charge()
        self.open = False
        return self.sums

    def run(self, name: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """call(*args, **kwargs), as a stage."""
        if not self.open:
            return call(*args, **kwargs)
        self._charge()
        self._stack.append(name)
        try:
            return call(*args, **kwargs)
        finally:
            if self.open:
                self._charge()
                self._stack.pop()

    def _charge(self) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        sums = self.sums.setdefault(self._stack[-1], [0.0, 0.0])
        sums[0] += wall - self._wall
        sums[1] += cpu - self._cpu
        self._wall, self._cpu = wall, cpu


# Open files SCHEDSTAT by process and thread: opening costs more than reading.
_files: dict[tuple[int, int], int] = {}

STAGES = Stages()


class Timed:
    """A function or transform that runs as a stage; everything else about it stays."""

    def __init__(self, inner: Callable[..., object], name: str) -> None:
        self.__dict__.update(_inner=inner, _name=name)

    _inner: Callable[..., object]
    _name: str

    def __call__(self, *args: object, **kwargs: object) -> object:
        return STAGES.run(self._name, self._inner, *args, **kwargs)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or "_inner" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._inner, name, value)

    @property  # type: ignore[misc]  # of objects it can be set; a program's isinstance reads it
    def __class__(self) -> type:
        return type(self._inner)

    def __reduce__(self) -> tuple[type, tuple[object, str]]:
        return Timed, (self._inner, self._name)

    def __repr__(self) -> str:
        return repr(self._inner)


def untimed(step: object) -> object:
    """The function or transform itself."""
    return step._inner if type(step) is Timed else step


def timed_as(step: object, other: Callable[..., object]) -> Callable[..., object]:
    """What runs in the place of `step`, as its stage if it is one."""
    return Timed(other, step._name) if type(step) is Timed else other


Split = tuple[list[object], list[object]]  # members of a Compose, and what they were


def split_transforms(dataset: object, depth: int = 4) -> list[Split]:
    """Time each member of the data set's Compose, which is changed in place; for join_transforms:
    what was changed.

    Only torchvision's Compose, which asks its members for nothing: other classes may look at what
    they hold.
    """
    done: list[Split] = []
    for _ in range(depth):
        for attribute in ("transform", "transforms"):
            chain = held(dataset, attribute)
            members = (
                held(chain, "transforms")
                if f"{type(chain).__module__}.{type(chain).__qualname__}" in COMPOSES
                else None
            )
            if type(members) is list and Timed not in map(type, members):
                done.append((members, list(members)))
                members[:] = [Timed(member, type(member).__name__) for member in members]
        inner = held(dataset, "dataset")  # of a Subset
        if inner is None:
            break
        dataset = inner
    return done


def join_transforms(done: list[Split]) -> None:
    """Put back what split_transforms changed."""
    for members, before in done:
        members[:] = before


def starved() -> float:
    """Seconds that this thread has waited for a core, ever; 0 where the system does not say."""
    # A forked child has its parent's open files, which tell of the parent.
    thread = (os.getpid(), threading.get_ident())
    try:
        if thread not in _files:
            _files[thread] = os.open(SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        return int(os.pread(_files[thread], 100, 0).split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def unseen() -> str:
    """Why waiting for cores is not seen here; empty where it is."""
    try:
        with open(SCHEDSTAT, encoding="ascii") as file:
            return (
                ""
                if len(file.read().split()) > 1
                else f"waiting for cores ({SCHEDSTAT} says nothing)"
            )
    except OSError as error:
        return f"waiting for cores ({SCHEDSTAT}: {error.strerror})"
