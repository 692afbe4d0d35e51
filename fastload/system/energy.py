"""Energy counters: CPU packages by Linux's powercap, NVIDIA's GPUs by their driver's library.

They count all that a package or GPU takes, whoever uses it. Fans, disks and power supplies are not
counted.
"""

import ctypes
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

POWERCAP = "/sys/class/powercap"
NVML = "libnvidia-ml.so.1"  # comes with the driver
CPU, GPU = "cpu", "gpu"
# A package's own zone, or one in it; zones of another control type, such as intel-rapl-mmio, count
# the same energy once more.
ZONE = re.compile(r"intel-rapl:(\d{1,6})(:\d{1,6})?")
MEMORY = "dram"  # the only zone in a package that the package's own counter leaves out
MOST = 64  # characters of a number or a name in sysfs


class Counter(Protocol):
    """Joules since it was made. Raises OSError where it cannot be read any more."""

    def joules(self) -> float: ...


@dataclass(frozen=True)
class Missing:
    """A part of the machine whose energy is not known, and why, with what to do."""

    part: str  # CPU or GPU
    why: str

    def __str__(self) -> str:
        return f"{self.part.upper()}s ({self.why})"


@dataclass(frozen=True)
class Counters:
    """What can be read here."""

    parts: Mapping[str, Sequence[Counter]]
    missing: tuple[Missing, ...]

    def joules(self) -> dict[str, float]:
        """Of each part, since its counters were found. Raises OSError."""
        return {
            part: sum(one.joules() for one in counters) for part, counters in self.parts.items()
        }


def found(gpus: Sequence[str] | None = (), powercap: str = POWERCAP, nvml: Any = None) -> Counters:
    """The counters of this machine.

    gpus: UUIDs of the GPUs that are asked for; None: a GPU whose UUID nobody knows; nvml: the
    driver's library, loaded where it is None.
    """
    parts: dict[str, Sequence[Counter]] = {}
    missing = []
    looks: list[Any] = [(CPU, partial(_packages, powercap))]
    if gpus is None or gpus:
        looks.append((GPU, partial(_gpus, gpus, nvml)))
    for part, look in looks:
        try:
            parts[part] = look()
        except (OSError, ValueError) as error:
            missing.append(Missing(part, str(error)))
    return Counters(parts, tuple(missing))


class _Zone:
    """A counter of powercap. It begins anew at 0 after `span` microjoules."""

    def __init__(self, folder: str) -> None:
        """Raises OSError or ValueError."""
        self._path = os.path.join(folder, "energy_uj")
        self._span = _number(os.path.join(folder, "max_energy_range_uj"))
        self._last, self._whole = _number(self._path), 0

    def joules(self) -> float:
        now = _number(self._path)
        gone = now - self._last
        self._whole += gone if gone >= 0 else gone + self._span
        self._last = now
        return self._whole / 1e6


def _packages(powercap: str) -> list[Counter]:
    """Raises OSError or ValueError, with what to do."""
    folders = sorted(_zones(powercap))
    if not folders:
        raise ValueError(f"{powercap} has no package of a CPU; virtual machines often have none")
    try:
        return [_Zone(folder) for folder in folders]
    except OSError as error:
        raise OSError(
            f"{error.filename} cannot be read: {error.strerror}; run as root, or let your user "
            "read it"
        ) from error


def _zones(powercap: str) -> Iterator[str]:
    """Folders of packages, and of memory that they do not count."""
    names = os.listdir(powercap) if os.path.isdir(powercap) else []
    for name in names:
        if (zone := ZONE.fullmatch(name)) is None:
            continue
        folder = os.path.join(powercap, name)
        kind = _text(os.path.join(folder, "name"))
        if kind == MEMORY if zone[2] else kind.startswith("package"):
            yield folder


def _number(path: str) -> int:
    """Raises ValueError for what is none."""
    text = _text(path)
    if not re.fullmatch(r"[0-9]{1,20}", text):
        raise ValueError(f"{path} has {text!r}, want a whole number")
    return int(text)


def _text(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read(MOST).strip()


class _Gpu:
    """NVML's counter of one GPU, which counts millijoules since the driver was loaded."""

    def __init__(self, nvml: Any, uuid: str) -> None:
        """Raises OSError."""
        self._nvml, self._handle, self._uuid = nvml, ctypes.c_void_p(), uuid
        name = f"GPU-{uuid.removeprefix('GPU-')}".encode()
        look = nvml.nvmlDeviceGetHandleByUUID(name, ctypes.byref(self._handle))
        if look:
            raise OSError(f"NVML does not know GPU {uuid} (its error {look})")
        self._first = self._now()

    def joules(self) -> float:
        return (self._now() - self._first) / 1e3

    def _now(self) -> int:
        value = ctypes.c_ulonglong()
        failed = self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle, ctypes.byref(value))
        if failed:
            raise OSError(
                f"NVML does not count the energy of GPU {self._uuid} (its error {failed}); GPUs "
                "from Volta on do, parts of one (MIG) do not"
            )
        return value.value


def _gpus(uuids: Sequence[str] | None, nvml: Any) -> list[Counter]:
    """Raises OSError or ValueError."""
    if uuids is None:
        raise ValueError("this torch does not tell a GPU's UUID; take a newer one")
    if nvml is None:
        nvml = ctypes.CDLL(NVML)
    if failed := nvml.nvmlInit_v2():
        raise OSError(f"NVML cannot be used (its error {failed})")
    return [_Gpu(nvml, uuid) for uuid in uuids]
