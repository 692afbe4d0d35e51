"""What ops draw, recorded from their NumPy and run without Python.

An op says with NumPy what it draws (`Op.params`), and that stays the reference. `record` runs it
once on symbols in place of numbers (`traced.Traced`), which leaves a program that the extension
runs for whole batches (`_native.Draws`), bit for bit as NumPy would. What uses NumPy in a way that
is not known here raises `NotRecorded`, and is drawn by NumPy as before.
"""

from fastload.draws.cells import NotRecorded
from fastload.draws.program import FixedRun, Recorded, Run, record
from fastload.draws.traced import Traced, any_refused, look_up, may_be, outside, plain

__all__ = [
    "FixedRun",
    "NotRecorded",
    "Recorded",
    "Run",
    "Traced",
    "any_refused",
    "look_up",
    "may_be",
    "outside",
    "plain",
    "record",
]
