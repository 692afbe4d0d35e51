"""Imports libraries that have a libjpeg of their own, in every order, and prints what they decode.

python libjpegs.py FILE…     prints JSON: {"PIL,cv2,…": {"PIL": hash of all pixels, …}, …}

Each order has a process of its own, forked from one that has imported no library with a libjpeg.
"""

import hashlib
import importlib
import itertools
import json
import os
import sys
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch._dynamo  # torchvision imports it, which takes most of its import's time


def by_pillow(data: bytes) -> np.ndarray:
    import io

    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def by_opencv(data: bytes) -> np.ndarray:
    import cv2

    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def by_torchvision(data: bytes) -> np.ndarray:
    from torchvision.io import ImageReadMode, decode_jpeg

    pixels = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return decode_jpeg(pixels, mode=ImageReadMode.RGB).numpy()


def by_fastload(data: bytes) -> np.ndarray:
    from fastload import _native

    return _native.decode(data)


DECODERS: dict[str, Callable[[bytes], np.ndarray]] = {
    "PIL.Image": by_pillow,
    "cv2": by_opencv,
    "torchvision.io": by_torchvision,
    "fastload": by_fastload,
}


def decoded(order: Sequence[str], files: Sequence[bytes]) -> dict[str, str]:
    """By each library, after all were imported in this order."""
    for name in order:
        importlib.import_module(name)
    return {
        name: hashlib.sha256(
            b"".join(np.ascontiguousarray(DECODERS[name](data)).tobytes() for data in files)
        ).hexdigest()
        for name in order
    }


def in_a_child(order: Sequence[str], files: Sequence[bytes]) -> dict[str, str]:
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        done = 1
        try:
            os.write(into, json.dumps(decoded(order, files)).encode())
            done = 0
        finally:
            os._exit(done)
    os.close(into)
    with open(out, "rb") as said:
        text = said.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise SystemExit(f"{','.join(order)}: wait status {status}")
    return json.loads(text)


def main(paths: Sequence[str]) -> None:
    early = sorted(set(DECODERS) & set(sys.modules))
    if early:
        raise SystemExit(f"imported already: {early}")
    files = []
    for path in paths:
        with open(path, "rb") as file:
            files.append(file.read())
    names = list(DECODERS)
    orders = [(name,) for name in names] + list(itertools.permutations(names))
    print(json.dumps({",".join(order): in_a_child(order, files) for order in orders}))


if __name__ == "__main__":
    main(sys.argv[1:])
