"""`fastload.doctor()`: what `fastload doctor` finds, as an object."""

from dataclasses import dataclass

from fastload.cli.doctor import examine
from fastload.cli.doctor_lines import lines, verdict
from fastload.spec import Json
from fastload.system import notebook


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What this machine offers to a data loader, and what would hold it back.

    Prints as the lines of `fastload doctor`; a notebook shows a table.
    """

    facts: Json  # what `fastload doctor --json` writes; sizes in bytes

    @property
    def ok(self) -> bool:
        """Whether fastload itself works here."""
        return bool(self.facts["native"]["ok"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What would slow loading down or break it, and what to do."""
        return tuple(self.facts["warnings"])

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """(part, what it is), such as ("pillow", "Pillow 13.0.0, libjpeg-turbo 3.2.0")."""
        return tuple(lines(self.facts))

    def __str__(self) -> str:
        said = [f"{part:12} {text}" for part, text in self.rows]
        return "\n".join([*said, *verdict(self.facts)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return notebook.table("fastload doctor", self.rows, filter(None, verdict(self.facts)))


def doctor() -> Diagnosis:
    """Look at the machine, the libraries and fastload itself; reads, and changes nothing.

    Example:
        >>> import fastload
        >>> found = fastload.doctor()
        >>> found.ok
        True
    """
    return Diagnosis(examine())
