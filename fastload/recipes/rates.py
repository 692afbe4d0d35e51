"""Training-step rates to assume where no GPU is at hand:

`rates.toml`, each with who measured it, or that nobody did.
"""

import os
from dataclasses import dataclass

from fastload.errors import UsageError, mistyped
from fastload.recipes.parse import read_toml

PATH = os.path.join(os.path.dirname(__file__), "rates.toml")


@dataclass(frozen=True)
class Rate:
    """Images per second of one GPU that trains plain ResNet-50 at 224 px."""

    gpu: str
    images_per_s: float
    low: float  # the range within which published and computed figures lie
    high: float
    measured: str  # by whom; "" if nobody did
    source: str

    def describe(self) -> str:
        """One line for the report. Always an estimate: this machine has not shown it."""
        whose = f"measured {self.measured}" if self.measured else "computed, measured by nobody"
        return (
            f"ESTIMATE for one {self.gpu}, ResNet-50 at 224 px: {whose}; figures reach from "
            f"{self.low:,.0f} to {self.high:,.0f}"
        )


def gpus() -> tuple[str, ...]:
    """Names that `rate` knows."""
    return tuple(read_toml(PATH))


def rate(gpu: str) -> Rate:
    """Raises UsageError for a name that is not in the table."""
    table = read_toml(PATH)
    if gpu not in table:
        raise mistyped(  # none is proposed: names of other GPUs are near to these
            UsageError(
                f"rates: {gpu!r} is unknown (want {', '.join(table)}); give your own with "
                "--step-rate"
            ),
            gpu,
            (),
        )
    return Rate(**table[gpu])
