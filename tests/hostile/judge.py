"""What a Pillow says of JPEGs: run with the Python that has it; it needs nothing else.

    python tests/hostile/judge.py FOLDER

prints one line per file, in order of their names: "ok DIGEST" of the RGB pixels, or "bad REASON".
"""

import hashlib
import sys
import warnings
from pathlib import Path

from PIL import Image, UnidentifiedImageError


def judged(path: Path) -> str:
    try:
        with Image.open(path) as image:
            pixels = image.convert("RGB")
    except UnidentifiedImageError:
        return "bad not identified"
    except Exception as error:
        return f"bad {type(error).__name__}: {error}".replace("\n", " ")
    digest = hashlib.blake2b(pixels.tobytes() + repr(pixels.size).encode(), digest_size=16)
    return f"ok {digest.hexdigest()}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for path in sorted(Path(sys.argv[1]).iterdir()):
        print(judged(path))
