"""Writing a sheet: whole or not at all."""

import io
import os

from fastload.errors import UsageError
from fastload.files.below import replace_file
from fastload.sheets import page, sheet
from fastload.sheets.layout import Sheet

SUFFIXES = (".png", ".html")


def problems(where: str) -> list[str]:
    """Why a sheet cannot be written there, as far as can be seen before it is made."""
    return [*name_problems(where), *place_problems(where)]


def name_problems(where: str) -> list[str]:
    """Those of the name alone."""
    suffix = os.path.splitext(where)[1]
    if suffix.lower() in SUFFIXES:
        return []
    want = f"want {' or '.join(SUFFIXES)}; give another name to --output"
    return [f"{where}: ends in {suffix!r}, {want}"]


def place_problems(where: str) -> list[str]:
    """Those of what lies on the disk."""
    folder = os.path.dirname(where) or "."
    if not os.path.isdir(folder):
        what = f"folder {folder} does not exist; make it, or give another name to --output"
        return [f"{where}: {what}"]
    if os.path.isdir(where):
        return [f"{where}: is a folder; give the name of a file to --output"]
    return []


def save(contents: Sheet, where: str) -> None:
    """Write the sheet under a temporary name beside `where`, then rename it. Raises UsageError."""
    if where.lower().endswith(".png"):
        data = io.BytesIO()
        sheet.draw(contents).save(data, "PNG")
        content = data.getvalue()
    else:
        content = page.write(contents).encode()
    try:
        replace_file(where, content)
    except OSError as error:
        raise UsageError(
            f"{where}: cannot be written ({error.strerror}); give another file to --output"
        ) from error
