"""States of torch's generators on the CPU as text."""

import base64
import binascii
import zlib

import numpy as np
import torch

from fastload.state.stateful import State

SIZE = 5056  # bytes of a state
WORD = 8  # bytes, of which four are zeros in most words
NAMES = ("generator", "onward")  # in a loader's state


def packed(state: torch.Tensor) -> str:
    """uint8 [SIZE] as base64 of its deflated bytes: first those of lowest weight of all words, and
    so on.
    """
    columns = np.ascontiguousarray(state.numpy().reshape(-1, WORD).T)
    return base64.b64encode(zlib.compress(columns.tobytes(), 6)).decode()


def unpacked(text: str | None) -> torch.Tensor | None:
    """What `packed` was given; older states' bytes are as they are.

    Raises what `problems` tells of.
    """
    if text is None:
        return None
    data = base64.b64decode(text, validate=True)
    if len(data) != SIZE:
        columns = np.frombuffer(zlib.decompressobj().decompress(data, SIZE + 1), np.uint8)
        data = columns.reshape(WORD, -1).T.tobytes()
    state = torch.from_numpy(np.frombuffer(data, np.uint8).copy())
    torch.Generator().set_state(state)
    return state


def problems(state: State) -> list[str]:
    """Which of a loader's state are none."""
    wrong = []
    for name in NAMES:
        try:
            unpacked(state.get(name))
        except (TypeError, ValueError, RuntimeError, binascii.Error, zlib.error):
            wrong.append(f"{name} is no state of a torch.Generator on the CPU")
    return wrong
