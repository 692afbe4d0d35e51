"""Parity: the same plans and records through every backend, compared with the torch backend, pixel
by pixel.

`print(measure(dataset))` is the shortest use.
"""

from fastload.parity.report import Cell, Column, Report
from fastload.parity.run import measure

__all__ = ["Cell", "Column", "Report", "measure"]
