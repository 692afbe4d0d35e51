"""Values in a run of Weights & Biases."""

from typing import Any

from fastload.errors import MetricsError
from fastload.metrics.exporter import Exporter, having, needed
from fastload.metrics.periodic import Periodic, checked
from fastload.metrics.reading import Loaders, Value, readings

WHERE = "metrics.wandb"


def wandb(
    loaders: Loaders, run: Any = None, *, every: float = 30.0, commit: bool = False
) -> Exporter:
    """Logs values to a run of Weights & Biases, now and then and at the end.

    A key is `NAME/LOADER/rank0`, with the metric's own label behind it. Close the exporter before
    the run is finished.

    Args:
        loaders: A `fastload.DataLoader`, or a dict of them by name; the name is the label
            `loader`. Without one they are counted.
        run: What `wandb.init` has returned; None: the current run.
        every: s between two readings.
        commit: False adds the values to the row that your own next `run.log` makes, so that your
            steps stay as they are. True makes rows of their own, for a program that logs nothing.

    Returns:
        The exporter, which is a context too; see Exporter.

    Raises:
        MetricsError: wandb is not installed, or there is no run.
        UsageError: There is no loader of fastload's, `run` is no run, or `every` is not more than
            0.
    """
    reading = readings(WHERE, loaders)
    every = checked(WHERE, every)
    if run is None:
        run = needed("wandb", "wandb").run
    if run is None:
        raise MetricsError(f"{WHERE}: there is no run; call wandb.init() first, or give its run")
    having(WHERE, "run", run, "log", "what wandb.init has returned")

    def take(values: list[Value]) -> None:
        run.log({one.key: one.value for one in values}, commit=commit)

    return Periodic(WHERE, reading, take, every)
