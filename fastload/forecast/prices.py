"""Prices as they are written: "32.77/h", "0.30/kWh", "80/TB-month"."""

import re

from fastload.errors import misused

PRICE = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)/([A-Za-z-]+)")


def per_hour(text: str) -> float:
    """Of a machine. Raises UsageError."""
    value = _value(text, "h")
    if value is None:
        raise misused(
            f"plan: --price is {text!r}, want a number above 0 per hour; write --price 32.77/h"
        )
    return value


def per_kwh(text: str) -> float:
    """Of energy. Raises UsageError."""
    value = _value(text, "kWh")
    if value is None:
        raise misused(
            f"plan: --price-energy is {text!r}, want a number above 0 per kWh; write "
            "--price-energy 0.30/kWh"
        )
    return value


def per_tb_month(text: str) -> float:
    """Of a disk. Raises UsageError."""
    value, of_gb = _value(text, "TB-month"), _value(text, "GB-month")
    if value is None and of_gb is None:
        raise misused(
            f"plan: --price-disk is {text!r}, want a number above 0 per TB-month or GB-month; "
            "write --price-disk 80/TB-month"
        )
    return value or 1000 * (of_gb or 0)


def _value(text: str, unit: str) -> float | None:
    """None: it is no price in that unit."""
    found = PRICE.fullmatch(text.strip())
    return float(found[1]) or None if found and found[2] == unit else None
