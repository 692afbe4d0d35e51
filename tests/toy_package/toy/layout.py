"""The toy format: a folder with `images.toy`, JSON, and the images one after the other in files.

{"classes": [...], "files": [...], "samples": [[key, label, file, offset, size], ...]}
"""

import json
import os
from typing import Any

from fastload.extending import SourceError

INDEX = "images.toy"


def read_index(where: str) -> dict[str, Any]:
    """Raises SourceError."""
    path = os.path.join(where, INDEX)
    try:
        with open(path, encoding="utf-8") as file:
            said = json.load(file)
        names = said["files"]
        if any(os.path.basename(name) != name for name in names):  # it may come from anywhere
            raise ValueError("names a file of another folder")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise SourceError(f"{path}: cannot be read ({error}); write the data set again") from error
    return dict(said)
