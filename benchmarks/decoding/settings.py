"""The settings of `python -m benchmarks decode`, checked before anything is measured."""

from dataclasses import dataclass

from fastload.conversion import seek_writer
from fastload.errors import UsageError
from fastload.transforms.base import size_problems


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Side of the output in px; MCUs per entry of the seek index, 0: rows only.
    """

    size: int = 224
    step: int = seek_writer.STEP
    repetitions: int = 5

    def check(self) -> None:
        """Raise UsageError with everything that cannot be measured."""
        problems = size_problems((self.size, self.size))
        if not 0 <= self.step <= seek_writer.MOST_STEP:
            problems.append(
                f"step: {self.step} (want 0 to {seek_writer.MOST_STEP} MCUs per entry); the "
                f"default is {seek_writer.STEP}"
            )
        if self.repetitions < 1:
            problems.append(
                f"repetitions: {self.repetitions} (want 1 or more); 5 or more give a useful "
                "interval"
            )
        if problems:
            raise UsageError("\n".join(problems))
