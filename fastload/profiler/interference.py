"""What the loader takes from the training process, beside which it works."""

from dataclasses import dataclass

from fastload.spec import Json

MOST = 0.02  # of the training's time, above which the loader's Python gets a name
LABEL = "INTERFERENCE"


@dataclass(frozen=True)
class Taken:
    """Of the time that the training has: shares of one thread, 1 is all of it."""

    next: float  # CPU time within `next`, in the training's own thread
    threads: float  # CPU time of the loader's other Python threads in the training's process
    cores: float | None  # that the loader's native threads or worker processes keep busy

    @property
    def python(self) -> float:
        """What holds the interpreter's lock, at most: calls into C++ and NumPy give it up."""
        return self.next + self.threads

    @property
    def label(self) -> str:
        return LABEL if self.python > MOST else "OK"


def line(taken: Taken | None) -> list[str]:
    """As a report says it; nothing where it was not measured."""
    if taken is None:
        return []
    cores = "" if taken.cores is None else f"; {taken.cores:.2g} cores by what makes the images"
    python, within, beside = (
        f"{100 * share:.2g} %" for share in (taken.python, taken.next, taken.threads)
    )
    text = (
        f"{taken.label}: the loader's Python takes {python} of the training's time ({within} in "
        f"next(), {beside} in threads beside it; up to {100 * MOST:g} % is OK){cores}"
    )
    return [text]


def as_json(taken: Taken | None) -> Json | None:
    if taken is None:
        return None
    return {
        "label": taken.label,
        "next_share": taken.next,
        "threads_share": taken.threads,
        "busy_cores": taken.cores,
    }
