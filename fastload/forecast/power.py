"""What the machine takes while it is measured: mean watts of each turn, by part of the machine."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from fastload.measure import Sample
from fastload.system import energy
from fastload.system.energy import CPU, GPU, Counters

IDLE = "idle"  # the turn in which nothing runs


@dataclass(frozen=True)
class Watts:
    """Of one part, replicate by replicate. By side in px, as the rates are."""

    idle: Sample
    loader: Mapping[int, Sample]
    step: Mapping[int, Sample] = field(default_factory=dict)
    together: Mapping[int, Sample] = field(default_factory=dict)


@dataclass(frozen=True)
class Power:
    """Of the machine that was measured."""

    parts: Mapping[str, Watts]  # by energy.CPU and energy.GPU
    missing: tuple[str, ...] = ()  # parts whose energy is not known, and why


def counters(*, on_gpu: bool) -> Counters:
    """What can be read here. on_gpu: the step runs on this process's GPU."""
    uuids: tuple[str, ...] | None = ()
    if on_gpu:
        uuid = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", None)
        uuids = None if uuid is None else (str(uuid),)
    return energy.found(uuids)


class Meter:
    """Watts of turns. Where a counter fails on the way, nothing is known of any part.

    Counters move by steps: those of CPUs each millisecond, those of GPUs each 20 to 100 ms. So
    short turns are apart by more, which widens the interval.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters, self._failed = counters, ""
        self._seen: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def turns(self, of: Mapping[str, Callable[[], float]], idle_s: float) -> dict[
        str, Callable[[], float]
    ]:  # fmt: skip
        """The turns with their watts, and one more in which nothing runs, where anything counts."""
        if not self._counters.parts:
            return dict(of)
        with_idle = {**of, IDLE: lambda: _nothing(idle_s)}
        return {name: self._metered(name, run) for name, run in with_idle.items()}

    def _metered(self, name: str, run: Callable[[], float]) -> Callable[[], float]:
        def metered() -> float:
            begin, before = time.perf_counter(), self._read()
            found = run()
            after, seconds = self._read(), time.perf_counter() - begin
            for part in before.keys() & after.keys():
                self._seen[part][name].append((after[part] - before[part]) / seconds)
            return found

        return metered

    def _read(self) -> dict[str, float]:
        if self._failed:
            return {}
        try:
            return self._counters.joules()
        except (OSError, ValueError) as error:
            self._failed = str(error)
            return {}

    def power(self) -> Power:
        """After all turns. Their names are KIND and px, as `measuring` gives them."""
        missing = tuple(str(one) for one in self._counters.missing)
        if self._failed:
            parts = " and ".join(f"{part.upper()}s" for part in self._counters.parts)
            return Power({}, (*missing, f"{parts} ({self._failed})"))
        return Power({part: _watts(seen) for part, seen in self._seen.items()}, missing)


def _watts(seen: Mapping[str, list[float]]) -> Watts:
    def by_size(kind: str) -> dict[int, Sample]:
        turns = ((name.partition(" "), values) for name, values in seen.items())
        return {int(size): Sample(tuple(values)) for (one, _, size), values in turns if one == kind}

    return Watts(Sample(tuple(seen[IDLE])), *map(by_size, ("loader", "step", "together")))


def _nothing(seconds: float) -> float:
    time.sleep(seconds)
    return 0.0


__all__ = ["CPU", "GPU", "Meter", "Power", "Watts", "counters"]
