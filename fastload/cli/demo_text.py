"""What fastload demo says: the table of rates, the profile, the verdict."""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fastload.cli import output

if TYPE_CHECKING:
    from fastload.profiler import Report


TORCH, FOLDER, SHARDS = "PyTorch DataLoader", "fastload, same folder", "fastload, shards"
PAD = " " * 9  # under the word VERDICT
CLEARLY = 1.05  # ratios nearer to 1 are noise, after one epoch each


@dataclass(frozen=True)
class Loading:
    """Two epochs of one loader, images/s."""

    variant: str
    first: float  # with the start of the workers; the first loader also fills the page cache
    second: float


def speed_ratio(loadings: list[Loading], variant: str) -> float | None:
    """Of second epochs, to PyTorch's; None where one of the two did not run."""
    second = {row.variant: row.second for row in loadings}
    return second[variant] / second[TORCH] if {variant, TORCH} <= second.keys() else None


def loading_table(loadings: list[Loading]) -> Any:
    def times(row: Loading) -> str:
        ratio = speed_ratio(loadings, row.variant)
        return "" if ratio is None else f"{ratio:.2f}x"

    rows = [
        (row.variant, f"{row.first:,.0f}", f"{row.second:,.0f}", times(row)) for row in loadings
    ]
    return output.table(("images/s", "first epoch, with start-up", "second epoch", "ratio"), rows)


def profile_text(report: "Report", gpu: str) -> Text:
    """The profile's first part, the verdict and what was assumed, wrapped to the terminal."""
    first, *rest = str(report).split("\n\n")[0].split("\n")
    width = output.results.width if output.results.is_terminal else 100
    lines = [
        line
        for long in rest
        for line in textwrap.wrap(long.strip(), width, initial_indent=PAD, subsequent_indent=PAD)
    ]
    title = f"\nProfile of recipe hot, as if one {gpu} trained on this machine's cores\n"
    return Text.assemble(title, (first, "bold"), "\n", "\n".join(lines))


def verdict(loadings: list[Loading]) -> str:
    """One line about the second epochs. It says so where fastload is slower."""
    second = {row.variant: row.second for row in loadings}
    ours, ratio = second[FOLDER], speed_ratio(loadings, FOLDER)
    if ratio is None:
        return (
            f"fastload loads {ours:,.0f} images/s here; install torchvision to compare it with "
            "PyTorch."
        )
    rates = f"{ours:,.0f} against {second[TORCH]:,.0f} images/s, the same folder"
    if ratio > CLEARLY:
        return f"fastload loads {ratio:.1f} times as fast as PyTorch's DataLoader here ({rates})."
    return (
        f"fastload is {'slower' if ratio < 1 / CLEARLY else 'no faster'} than PyTorch's "
        f"DataLoader here ({rates})."
    )


def farewell(where: Path, data: Path, seconds: float) -> str:
    return (
        f"Took {seconds:.0f} s. {where} may be deleted at any time.\n\n"
        "Next   in your script    from fastload import DataLoader\n"
        "       your images       fastload convert SRC DST\n"
        f"       the whole profile fastload profile --assume h200 --data {data}"
    )
