"""Machines to train on: this one, and those of a TOML file, with the prices that the user gives."""

import math
from dataclasses import dataclass, fields
from typing import Any

from fastload.errors import UsageError
from fastload.forecast.bands import Range, exactly
from fastload.recipes import rates
from fastload.recipes.parse import read_toml
from fastload.system.machine import usable_cores

MARGIN = 0.1  # by which the exponent may be lower than it was between 1 and all cores here
UNKNOWN = Range(0.9, 0.8, 1.0)  # the exponent where this machine has one core
LOWEST = 0.5  # the least exponent that is believed
WANTED = "want name, cores, gpus, and gpu or step_rate"


@dataclass(frozen=True)
class Machine:
    """What a run is forecast for. None: not known, or no limit."""

    name: str
    cores: int  # that the loader may use; hardware threads where this machine's are
    gpus: int = 1
    gpu: str | None = None  # of fastload/recipes/rates.toml
    step_rate: float | None = None  # images/s of one GPU at the recipe's full size
    price: float | None = None  # per hour, in the user's currency
    disk: float | None = None  # MB/s that it reads
    network: float | None = None  # MB/s from where the data are, if not on the disk
    memory: float | None = None  # GB, of which the page cache takes what is left
    core_speed: float = 1.0  # one core's speed by that of one core here

    @property
    def megabytes_per_s(self) -> float | None:
        """The slower one of disk and network; None: neither is known."""
        known = [rate for rate in (self.disk, self.network) if rate is not None]
        return min(known) if known else None


def here(gpus: int = 1, gpu: str | None = None) -> Machine:
    return Machine("this machine", usable_cores(), gpus, gpu)


def load(path: str) -> tuple[Machine, ...]:
    """The machines of a file: its tables [[machine]]. Raises UsageError."""
    rows = read_toml(path).get("machine")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{path}: has no machine; write tables [[machine]] ({WANTED})")
    machines = tuple(_machine(row, f"{path}, machine {n}") for n, row in enumerate(rows, 1))
    names = [one.name for one in machines]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"{path}: two machines have the name {min(twice)!r}; rename one")
    return machines


def one(path: str) -> Machine:
    """FILE of one machine, or FILE#NAME. Raises UsageError."""
    file, _, name = path.partition("#")
    machines = load(file)
    names = ", ".join(machine.name for machine in machines)
    if not name and len(machines) > 1:
        raise UsageError(
            f"{file}: has {len(machines)} machines ({names}), want one; write --machine "
            f"{file}#NAME, or compare them with --compare machines"
        )
    found = [machine for machine in machines if not name or machine.name == name]
    if not found:
        raise UsageError(f"{file}: machine {name!r} is unknown (want {names}); check the name")
    return found[0]


def _machine(row: dict[str, Any], where: str) -> Machine:
    known = {each.name for each in fields(Machine)}
    if unknown := sorted(set(row) - known):
        raise UsageError(f"{where}: {unknown[0]} is unknown; use {', '.join(sorted(known))}")
    if not isinstance(row.get("name"), str) or not row["name"]:
        raise UsageError(f"{where}: name is {row.get('name')!r}, want a text; give it a name")
    where = f"{where} ({row['name']})"
    if "cores" not in row:
        raise UsageError(f"{where}: cores is missing, want a whole number from 1; add it")
    for key, value in row.items():
        _check(key, value, where)
    if "gpu" in row and row["gpu"] not in rates.gpus():
        raise UsageError(
            f"{where}: gpu {row['gpu']!r} is unknown (want {', '.join(rates.gpus())}); give its "
            "images/s as step_rate"
        )
    if ("gpu" in row) == ("step_rate" in row):
        raise UsageError(f"{where}: want either gpu or step_rate; give one of them")
    return Machine(**row)


def _check(key: str, value: Any, where: str) -> None:
    if key in ("name", "gpu"):
        if not isinstance(value, str):
            raise UsageError(f"{where}: {key} is {value!r}, want a text; put it in quotes")
        return
    whole = key in ("cores", "gpus")
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < 1e12:
        want = "a whole number from 1" if whole else "a number above 0"
        raise UsageError(f"{where}: {key} is {value!r}, want {want}; correct it")


def exponent(one_core: float | None, all_cores: float, cores: int) -> Range:
    """How the loader's rate grows with the cores: by cores ** exponent.

    one_core, all_cores: images/s here with one worker and with one per core.
    """
    if one_core is None or cores < 2:
        return UNKNOWN
    seen = math.log(all_cores / one_core) / math.log(cores)
    value = min(1.0, max(LOWEST, seen))
    return Range(value, max(LOWEST - MARGIN, value - MARGIN), 1.0)


def slower(machine: Machine, cores: int, grows: Range) -> Range:
    """Seconds per image there, as a share of those on `cores` cores here; more cores never take
    longer.
    """
    times = machine.cores / cores
    steep, flat = (grows.high, grows.low) if times >= 1 else (grows.low, grows.high)
    low, value, high = (times**-power / machine.core_speed for power in (steep, grows.value, flat))
    return Range(value, low, high) if machine.cores != cores else exactly(1 / machine.core_speed)
