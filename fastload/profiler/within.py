"""Measures PyTorch's workers while the ladder runs: the cost of their stages, and how long they
wait for cores.
"""

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType

import numpy as np
import torch.utils.data

from fastload.attach import hooks, log
from fastload.attach.recorder import Recorder
from fastload.profiler import inplace, logs
from fastload.profiler.evidence import Evidence, StageCost
from fastload.profiler.verdict import late_share
from fastload.spec import Array

HOW = (
    "timed in the loader's workers, every tenth batch; read is what data set and decoding wait for"
)


class Within:
    """A context around the making and the use of a loader's iterators. It changes PyTorch, and
    undoes that at its end.

    It measures nothing if the loader is not PyTorch's, or if a profiler is attached already.
    Workers that are spawned are not measured.
    """

    def __init__(self, loader: Iterable[object]) -> None:
        self.loader = loader
        self.costs: tuple[StageCost, ...] = ()
        self._fetches: Array | None = None  # structured array [N] of logs.FIELDS

    def __enter__(self) -> "Within":  # noqa: PYI034  Self needs Python 3.11
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if isinstance(self.loader, torch.utils.data.DataLoader) and not hooks.attached():
            self._folder = folder = tempfile.TemporaryDirectory(prefix="fastload-profile-")
            hooks.install(lambda: Recorder(folder.name, _as_it_is, only=self.loader))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._folder is None:
            return
        hooks.uninstall()
        seen = logs.read(self._folder.name)
        if kind is None and seen:
            self.costs, _ = inplace.stages(seen)
            self._fetches = np.concatenate([process.of(log.FETCH) for process in seen])
        self._folder.cleanup()

    def evidence(self, known: Evidence, spans: list[tuple[float, float]]) -> Evidence:
        """What the workers add to what is known.

        spans: s, when to look, since other work on a machine comes and goes.
        """
        if self._fetches is None:
            return known
        start, end = self._fetches["t"], self._fetches["t"] + self._fetches["wall"]
        during = self._fetches[
            np.any([(end > low) & (start < high) for low, high in spans], axis=0)
        ]
        wall, waited = float(during["wall"].sum()), float(during["starved"].sum())
        return replace(
            known,
            starved=min(1.0, waited / wall) if wall else 0.0,
            late=late_share(during["wall"] - during["starved"]),
        )


def _as_it_is(
    recorder: Recorder, number: int, loader: object, fetch: Callable[[], object]
) -> object:
    return fetch()
