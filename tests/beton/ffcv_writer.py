"""`python ffcv_writer.py FOLDER MODE…`: files of every field type written by FFCV itself, in a
process that may be stopped.

FFCV's writer waits for ever when one of its workers fails. MODE "killed" ends the writer while it
writes.
"""

import os
import signal
import sys

import numpy as np

COUNT = 9
ARRAY, TENSOR = (np.dtype("<f4"), (2, 3)), (4,)


def image(number):
    """uint8 [H, W, 3], non-square, smooth enough for JPEG."""
    y, x = np.mgrid[: 30 + number, : 47 - number]
    return np.stack([x * 5 % 256, y * 7 % 256, (x + y) * 3 % 256], axis=-1).astype(np.uint8)


class Rows:
    def __len__(self):
        return COUNT

    def __getitem__(self, number):
        number = int(number)  # FFCV counts in NumPy's, which are no JSON
        import torch

        return (
            image(number), number - 3, number / 7, np.frombuffer(bytes(range(number + 1)),
            np.uint8), {"id": number, "names": ["ä", None]},
            np.full(ARRAY[1], number, ARRAY[0]), torch.from_numpy(np.arange(4,
            dtype=np.int16) * np.int16(number)),
        )  # fmt: skip


class Killed(Rows):
    def __getitem__(self, number):
        if number == COUNT - 1:  # in a worker, which ends too
            os.kill(os.getppid(), signal.SIGKILL)
            os._exit(1)
        return super().__getitem__(number)


def write(out, mode):
    import torch
    from ffcv.fields import (
        BytesField,
        FloatField,
        IntField,
        JSONField,
        NDArrayField,
        RGBImageField,
        TorchTensorField,
    )
    from ffcv.writer import DatasetWriter

    rows = Killed() if mode == "killed" else Rows()
    mode = "raw" if mode == "killed" else mode
    fields = {
        "picture": RGBImageField(write_mode=mode, smart_threshold=4330, compress_probability=0.5),
        "label": IntField(),
        "weight": FloatField(), "note": BytesField(), "meta": JSONField(),
        "box": NDArrayField(*ARRAY),
        "mask": TorchTensorField(torch.int16, TENSOR),
    }  # fmt: skip
    DatasetWriter(out, fields, num_workers=1).from_indexed_dataset(rows)


if __name__ == "__main__":
    for mode in sys.argv[2:]:
        write(f"{sys.argv[1]}/{mode}.beton", mode)
