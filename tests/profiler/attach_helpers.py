"""What the tests of `fastload profile -- COMMAND` share."""

from fastload.attach.control import Limits
from fastload.profiler import attached


def profiled(command: list[str], steps: int = 40, **limits: object) -> attached.Outcome:
    return attached.run(command, Limits(steps, **limits))
