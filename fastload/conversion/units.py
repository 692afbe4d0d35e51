"""Byte counts as people write and read them."""

import re

from fastload.errors import UsageError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Bytes from "256M", "1.5G" or "4096"; K, M, G and T are powers of 1024. Raises UsageError."""
    match = re.fullmatch(
        r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE
    )
    if not match:
        raise UsageError(f"size: {text!r} is no number of bytes; write it like 256M or 1G")
    return int(float(match[1]) * UNITS[match[2].upper()])


def human(count: float) -> str:
    """A byte count with three digits: "512 B", "256 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"
