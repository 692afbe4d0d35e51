"""Units of a job that the tasks of an array job make, before whoever wants the results is there.

    fastload-units-DIGITS/      in the folder that the array job runs in
        work.json               what a unit is made by
        000007                  what the task said that made unit 7
        lease-000007, …         board.py

The verb runs twice. At first it prepares everything, writes work.json and leaves. Then tasks make
units. At last it runs again, takes what they said as it takes it of a worker, and makes what is
missing by processes of its own. What tasks said of other data is refused.
"""

import json
import os
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

import fastload
from fastload.conversion.cluster import drop
from fastload.conversion.cluster.driver import Results
from fastload.conversion.cluster.fleet import Order
from fastload.conversion.cluster.on import On
from fastload.conversion.cluster.work import Telling, Work
from fastload.conversion.cluster.works import KINDS
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError
from fastload.files.below import Folder, opened
from fastload.files.names import Inner
from fastload.spec import Json
from fastload.system import limits

PREFIX = "fastload-units-"
NAME = re.compile(re.escape(PREFIX) + r"[0-9a-f]{16}")
WORK = Inner("work.json")


class BegunError(Exception):
    """Leaves a verb: `units` wait for the tasks of an array job."""

    def __init__(self, units: int) -> None:
        self.units = units
        super().__init__(units)


@dataclass
class Begin(On):
    """Writes down what is to be made, in the empty folder `place`, and leaves by BegunError."""

    def run(self, work: Work, left: Sequence[int], results: Results, advance: Advance) -> None:
        if not left:
            return
        try:
            with opened(self.place) as folder:
                said = {"work": work, "units": len(left), "fastload": fastload.__version__}
                folder.replace(WORK, json.dumps(said).encode(), prefix=".")
        except OSError as error:
            raise _unwritable(self.place, error) from error
        raise BegunError(len(left))


@dataclass
class Taken(On):
    """Takes what tasks have put into `place`; what is missing, the fleet makes."""

    def run(self, work: Work, left: Sequence[int], results: Results, advance: Advance) -> None:
        missing = list(left)
        with drop.joined(self.place) as folder:
            asked, _ = parse(folder)
            if asked.kind == work.kind:  # else it is a later step of the same verb
                if asked.text != work.text:
                    raise ConversionError(
                        f"{self.place}: was made for other data or options than these; give what "
                        "it was made for, or begin anew with --on slurm"
                    )
                missing = [
                    number for number in left if not self._take(folder, number, results, advance)
                ]
                if missing:
                    self.say(
                        f"{len(missing)} of {len(left)} parts were made by no task; they are made "
                        "now"
                    )
        super().run(work, missing, results, advance)

    def _take(self, folder: Folder, number: int, results: Results, advance: Advance) -> bool:
        """Whether a task has made it, and what it said is whole. Raises OSError as `results`."""
        try:
            said = _read(folder, drop.name_of(number))
            worker, images, size = str(said["worker"]), int(said["images"]), int(said["bytes"])
            busy = float(said["busy"])
            if not results.take(number, said["said"], worker):
                return False
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            return False
        did = self.known().of(worker)
        did.units, did.images, did.bytes = did.units + 1, did.images + images, did.bytes + size
        did.busy += busy
        advance(images, size)
        return True


def make(where: str) -> str:
    """A new folder for an array job in the folder `where`: its path. Raises ConversionError."""
    name = Inner(f"{PREFIX}{secrets.token_hex(8)}")
    try:
        with opened(where) as above, above.folder(name, make=True, mode=drop.MODE) as folder:
            return os.path.abspath(folder.path)
    except OSError as error:
        raise _unwritable(where, error) from error


def remove(path: str) -> None:
    """Once nobody needs it. A folder that `make` has not made stays. Raises OSError."""
    parent, name = os.path.split(path)
    if NAME.fullmatch(name):
        with opened(parent) as above:
            above.remove_tree(Inner(name))


def parse(folder: Folder) -> tuple[Work, int]:
    """What its units are made by, and how many they are. Raises ConversionError."""
    try:
        said = _read(folder, WORK)
        kind, text, again = map(str, said["work"])
        if kind not in KINDS or int(said["units"]) < 1:
            raise ValueError(f"kind {kind!r}")
        if said["fastload"] != fastload.__version__:
            raise ValueError(f"fastload {said['fastload']}, want {fastload.__version__}")
        return Work(kind, text, again), int(said["units"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ConversionError(
            f"{folder.path}: holds no {WORK} that this fastload has written ({error}); begin with "
            "--on slurm"
        ) from error


def _read(folder: Folder, name: Inner) -> Json:
    """Raises ValueError, RecursionError for what is no file of ours."""
    try:
        if not folder.is_plain(name) or folder.size(name) > limits.RECORD:
            raise ValueError("no file, or too large")
        said = json.loads(folder.read(name))
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error
    if not isinstance(said, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - its callers catch what no file is by it
    return said


def put(folder: Folder, number: int, worker: str, work: Work, telling: Telling) -> Json:
    """Make a unit, and leave what is said of it. Raises FastloadError, OSError.

    telling: is told of each sign of progress as well.
    """
    done, begin = [0, 0], time.monotonic()

    def advance(images: int, size: int) -> None:
        done[0] += images
        done[1] += size
        telling.advance(images, size)

    said = KINDS[work.kind].make(work.text, Order(number), telling._replace(advance=advance))
    record = {
        "said": said, "worker": worker, "images": done[0], "bytes": done[1],
        "busy": time.monotonic() - begin,
    }  # fmt: skip
    folder.replace(drop.name_of(number), json.dumps(record).encode())
    return said


def _unwritable(where: str, error: OSError) -> ConversionError:
    return ConversionError(
        f"{where}: cannot be written ({error.strerror or error}); run this in a folder that all "
        "machines share and that can be written"
    )
