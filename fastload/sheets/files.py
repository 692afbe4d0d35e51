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
    reasons, folder = [], os.path.dirname(where) or "."
    suffix = os.path.splitext(where)[1]
    if suffix.lower() not in SUFFIXES:
        reasons.append(
            f"{where}: ends in {suffix!r}, want {' or '.join(SUFFIXES)}; give another name to "
            "--output"
        )
    if not os.path.isdir(folder):
        reasons.append(
            f"{where}: folder {folder} does not exist; make it, or give another name to --output"
        )
    elif os.path.isdir(where):
        reasons.append(f"{where}: is a folder; give the name of a file to --output")
    return reasons


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
