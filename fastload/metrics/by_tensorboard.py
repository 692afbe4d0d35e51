"""Values as TensorBoard's scalars."""

import os
from typing import TYPE_CHECKING, Any

from fastload.errors import MetricsError
from fastload.metrics.exporter import Exporter, having, needed
from fastload.metrics.periodic import Periodic, checked
from fastload.metrics.reading import Loaders, Value, readings

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

WHERE = "metrics.tensorboard"


def tensorboard(
    loaders: Loaders, to: "str | os.PathLike[str] | SummaryWriter", *, every: float = 30.0
) -> Exporter:
    """Writes scalars for TensorBoard, now and then and at the end.

    A tag is `NAME/LOADER/rank0`, with the metric's own label behind it. The step is the number of
    batches that the loader has handed over.

    Args:
        loaders: A `fastload.DataLoader`, or a dict of them by name; the name is the label
            `loader`. Without one they are counted.
        to: A folder, which gets a writer of its own; or your
            `torch.utils.tensorboard.SummaryWriter`, which stays open.
        every: s between two readings.

    Returns:
        The exporter, which is a context too; see Exporter.

    Raises:
        MetricsError: TensorBoard is not installed, or the folder cannot be written.
        UsageError: There is no loader of fastload's, `to` is neither, or `every` is not more than
            0.
    """
    reading = readings(WHERE, loaders)
    every = checked(WHERE, every)
    made = needed("tensorboard", "torch.utils.tensorboard")
    writer: Any = to
    own = isinstance(to, (str, os.PathLike))
    if own and str(to):
        writer = _writer(made, str(to))
    having(WHERE, "to", writer, "add_scalar", "a folder or a SummaryWriter")

    def take(values: list[Value]) -> None:
        for one in values:
            writer.add_scalar(one.key, one.value, one.batches)
        writer.flush()

    return Periodic(WHERE, reading, take, every, writer.close if own else lambda: None)


def _writer(made: Any, folder: str) -> Any:
    """Raises MetricsError."""
    try:
        return made.SummaryWriter(folder)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise MetricsError(
            f"{WHERE}: {folder}: cannot be written ({why}); give a folder of yours"
        ) from error
