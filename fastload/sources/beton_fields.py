"""The columns of an FFCV file: what its field descriptors say, checked."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload.errors import SourceError
from fastload.sources import arrow

DESCRIPTOR = np.dtype([("type_id", "u1"), ("name", "S16"), ("arguments", "V1024")])
ARRAY_ARGUMENTS = np.dtype([("shape", "<u8", 32), ("type_length", "<u8")])
# By type_id; 255: a class of the writer's program
KINDS = ("float", "int", "image", "bytes", "array", "json", "tensor")
MOST_FIELDS = 256
REMEDY = "write it again with FFCV, or convert the original data"

Rows = NDArray[Any]


@dataclass(frozen=True)
class Field:
    """One column of a file."""

    name: str
    kind: str  # of KINDS
    dtype: np.dtype[Any] | None = None  # of arrays and tensors
    shape: tuple[int, ...] = ()

    @property
    def array_bytes(self) -> int:
        return (self.dtype.itemsize if self.dtype else 0) * int(np.prod(self.shape, dtype=object))


def read_fields(where: str, descriptors: Rows) -> tuple[Field, ...]:
    fields, problems = [], []
    for number, descriptor in enumerate(descriptors, start=1):
        name = descriptor["name"].decode("ascii", "backslashreplace")
        kind = int(descriptor["type_id"])
        if kind >= len(KINDS):
            problems.append(
                f"field {number} ({name!r}) is of a type that only the program that wrote it knows "
                f"({kind}); it is never run"
            )
            continue
        try:
            fields.append(
                _array(name, KINDS[kind], descriptor)
                if KINDS[kind] in ("array", "tensor")
                else Field(name, KINDS[kind])
            )
        except (RecursionError, *arrow.PARSE_ERRORS) as error:
            problems.append(
                f"field {number} ({name!r}) is an array whose type is not readable ({error})"
            )
    doubles = {
        field.name
        for position, field in enumerate(fields)
        if field.name in {other.name for other in fields[:position]}
    }
    problems += [f"two fields are named {name!r}" for name in sorted(doubles)]
    if problems:
        raise SourceError("\n".join(f"{where}: {problem}; {REMEDY}" for problem in problems))
    return tuple(fields)


def _array(name: str, kind: str, descriptor: Any) -> Field:
    arguments = bytes(descriptor["arguments"])
    said = np.frombuffer(arguments[: ARRAY_ARGUMENTS.itemsize], ARRAY_ARGUMENTS)[0]
    length = int(said["type_length"])
    if length > len(arguments) - ARRAY_ARGUMENTS.itemsize:
        raise ValueError(f"its name takes {length} bytes")
    described = json.loads(arguments[ARRAY_ARGUMENTS.itemsize :][:length].decode("ascii"))
    if (
        type(described) is not list
        or len(described) != 1
        or len(described[0]) != 2
        or not isinstance(described[0][1], str)
    ):
        raise ValueError("not one plain type")
    dtype = np.dtype(described[0][1])
    if dtype.kind not in "biufc":
        raise ValueError(f"{dtype} is not a number")
    shape = [int(side) for side in said["shape"]]
    while shape and not shape[-1]:
        shape.pop()
    field = Field(name, kind, dtype, tuple(shape))
    if field.array_bytes >= 1 << 32:  # FFCV's pages are smaller
        raise ValueError(f"{field.array_bytes} bytes each")
    return field
