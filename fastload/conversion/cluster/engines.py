"""What --on says."""

import re

from fastload.conversion.cluster.fleet import Fleet
from fastload.errors import UsageError, mistyped

ENGINES = ("processes", "ray", "slurm")
PROCESSES = re.compile(r"processes(?::([1-9][0-9]{0,4}))?")
RAY = re.compile(r"ray(://[^/\s]+:[0-9]{1,5})?")
SLURM = re.compile(r"slurm(?::([1-9][0-9]{0,5}))?")
TASKS = 16  # of an array job, unless told otherwise


def fleet_of(on: str, workers: int | None = None) -> Fleet:
    """What runs the units. workers: how many, if `on` does not say. Raises UsageError."""
    if match := PROCESSES.fullmatch(on):
        from fastload.conversion.cluster.processes import Processes

        return Processes(int(match[1]) if match[1] else workers)
    if match := RAY.fullmatch(on):
        from fastload.conversion.cluster.ray_fleet import Ray

        return Ray(on if match[1] else None, workers)
    raise unknown(on)


def slurm_tasks(on: str, workers: int | None = None) -> int | None:
    """How many tasks an array job has; None: it is none."""
    match = SLURM.fullmatch(on)
    if match is None:
        return None
    return int(match[1]) if match[1] else workers or TASKS


def unknown(on: str) -> UsageError:
    return mistyped(
        UsageError(
            f"--on: got {on!r}, want processes[:N], ray[://HEAD:PORT] or slurm[:N]; choose one"
        ),
        on,
        ENGINES,
    )
