"""Which DALI is installed, and what that one can do, without importing it."""

import importlib.util

from fastload.backends.table import DALI, INSTALL_DALI
from fastload.system.distributions import version_of
from fastload.system.machine import BROKEN_CODEC, CODECS

OLDEST = (2, 2)


def missing() -> list[str]:
    """Why DALI cannot be imported as it is, with the line that mends it."""
    if (
        importlib.util.find_spec("nvidia") is None
        or importlib.util.find_spec("nvidia.dali") is None
    ):
        return [f"NVIDIA DALI is not installed; {INSTALL_DALI}"]
    version = version_of(*DALI)
    if version is not None and _numbers(version) < OLDEST:
        return [
            f"NVIDIA DALI is {version}, want {'.'.join(map(str, OLDEST))} or newer; {INSTALL_DALI}"
        ]
    return []


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def whole_decode(device: str) -> bool:
    """Whether images must be decoded whole, and cropped then:

    GPU decoders of this version fail on a part.
    """
    return device == "cuda" and (version_of(*CODECS) or "").startswith(BROKEN_CODEC)
