"""How `fastload profile -- COMMAND` reaches every Python process below it: by variables of the
environment, which each process reads at its start.
"""

import os

from fastload.attach.control import Limits

FOLDER = "FASTLOAD_ATTACH"
STEPS = "FASTLOAD_ATTACH_STEPS"
SECONDS = "FASTLOAD_ATTACH_SECONDS"
LADDER = "FASTLOAD_ATTACH_LADDER"


def environment(folder: str, limits: Limits) -> dict[str, str]:
    """Variables that make every Python process below attach itself."""
    site = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
    path = os.pathsep.join(filter(None, (site, os.environ.get("PYTHONPATH", ""))))
    out = {
        FOLDER: folder,
        "PYTHONPATH": path,
        LADDER: "1" if limits.ladder else "0",
        STEPS: "" if limits.steps is None else str(limits.steps),
        SECONDS: "" if limits.seconds is None else repr(limits.seconds),
    }
    return {**os.environ, **out}


def received() -> tuple[str, Limits] | None:
    """The folder of the logs, and how long to measure; None outside of such a command."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return None
    steps, seconds = os.environ.get(STEPS), os.environ.get(SECONDS)
    limits = Limits(
        int(steps) if steps else None,
        float(seconds) if seconds else None,
        os.environ.get(LADDER) == "1",
    )
    return folder, limits


def stop() -> None:
    """Processes that begin from now on do not attach themselves."""
    os.environ.pop(FOLDER, None)
