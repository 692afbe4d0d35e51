"""The option --layer: what crops are decoded by."""

import typer

from fastload.errors import UsageError, mistyped

NAMES = {"seek": "seek index", "coefficients": "coefficient layer"}


def step_of(layer: str, seek_step: int) -> int:
    """What stands for the layer in place of a step. Raises a usage error (exit 2)."""
    from fastload.conversion import seek_writer  # here, so that --help loads no torch

    if layer not in NAMES:
        text = f"layer: got {layer!r}, want 'seek' or 'coefficients'; choose one"
        raise typer.BadParameter(str(mistyped(UsageError(text), layer, NAMES)))
    return seek_writer.COEFFICIENTS if layer == "coefficients" else seek_step


def name_of(step: int | None) -> str:
    """What an index is called that is built with this step."""
    from fastload.conversion import seek_writer

    return NAMES["coefficients" if step == seek_writer.COEFFICIENTS else "seek"]


def steps_of(layer: str, seek_step: int, *, no_seek: bool) -> int | None:
    """The same, or None for --no-seek."""
    step = step_of(layer, seek_step)
    if not no_seek:
        return step
    if layer == "coefficients":
        raise typer.BadParameter("--no-seek leaves out --layer coefficients; give one of them")
    return None
