"""What to do, frozen and unchecked: a source and ops. `plan()` checks it and says how."""

from dataclasses import dataclass

from fastload.sources import Source
from fastload.transforms import Op


@dataclass(frozen=True)
class Pipeline:
    source: Source
    ops: tuple[Op, ...] = ()
