"""A process's measurements: a file of fixed-size records, mapped, so that they outlive a crash;
when full, the oldest go.
"""

import itertools
import json
import mmap
import os
import struct

# t, wall, cpu: s; starved: s that the thread waited for a core; idle: s of the GPU (NaN: not
# known); images; steps of optimisers since the record before; kind; loader; name. Times are of
# time.perf_counter, one clock for all processes of a machine.
RECORD = struct.Struct("<dddddIHHI28s")
HEADER = struct.Struct("<8sQQ")  # magic, records written, the parent's pid
MAGIC = b"flattch1"
START = 64  # bytes before the first record
CAPACITY = 1 << 14  # records, 1.3 MB
# Kinds of records: a batch came; an epoch ended; a worker made a batch; a stage of it; a rung
WAIT, END, FETCH, STAGE, RUNG = range(1, 6)
UNKNOWN = float("nan")


class Log:
    """Appends records to FOLDER/PID.log; small facts go to FOLDER/PID.json.

    Raises OSError where it cannot be made.
    """

    def __init__(self, folder: str, capacity: int = CAPACITY) -> None:
        self.folder, self.capacity, self.pid = folder, capacity, os.getpid()
        self._parent = os.getppid()
        path = os.path.join(folder, f"{self.pid}.log")
        with open(path, "w+b") as file:
            # A full disk fails here, not at a write.
            os.posix_fallocate(file.fileno(), 0, START + capacity * RECORD.size)
            self._map = mmap.mmap(file.fileno(), 0)
        self._number = itertools.count()
        HEADER.pack_into(self._map, 0, MAGIC, 0, self._parent)

    def write(
        self, kind: int, loader: int, t: float, wall: float, cpu: float, *, starved: float = 0.0,
        idle: float = UNKNOWN, images: int = 0, steps: int = 0, name: str = "",
    ) -> None:  # fmt: skip
        number = next(self._number)  # threads may write at the same time
        offset = START + number % self.capacity * RECORD.size
        text = name.encode("ascii", "replace")[:28]
        RECORD.pack_into(
            self._map,
            offset,
            t,
            wall,
            cpu,
            starved,
            idle,
            images,
            min(steps, 65535),
            kind,
            loader,
            text,
        )
        HEADER.pack_into(self._map, 0, MAGIC, number + 1, self._parent)

    def tell(self, facts: dict[str, object]) -> None:
        """Replace the facts of this process."""
        path = os.path.join(self.folder, f"{self.pid}.json")
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(facts, file)
        os.replace(f"{path}.new", path)
