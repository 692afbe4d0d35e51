"""Versions of what is installed, by the distributions' names. Imports none of them."""

import importlib.metadata


def version_of(*names: str) -> str | None:
    """Version of the first distribution that is installed; None if none of them is."""
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None
