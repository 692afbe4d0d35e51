"""A GPU played by the host: loaders for device="cuda" run whole where there is none.

Memory is the host's, work is done at once.
"""

import ctypes
import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastload import _native
from fastload.backends.native import cuda, gpu_decode
from fastload.engine import slots, uploading

REAL = _native.DeviceStore


def array(address, shape, dtype):
    """What lies at an address."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not count:
        return np.empty(shape, dtype)
    return np.frombuffer((ctypes.c_char * count).from_address(address), dtype).reshape(shape)


class Streams:
    """As `streams.Streams`; it notes what it is asked for."""

    number = 0

    def __init__(self, device):
        self.device = torch.device("cpu")
        self.own = SimpleNamespace(
            name="the side stream",
            cuda_stream=0,
            record_event=lambda _: SimpleNamespace(synchronize=bool),
        )
        self.threads, self.handed, self.capturing = [], [], False

    def within(self):
        return nullcontext()

    relaxed = within

    def done(self):
        return SimpleNamespace(query=lambda: True)

    def enter(self):
        self.threads.append(threading.current_thread().name)

    def hand(self, done, tensors):
        self.handed.append([tuple(tensor.shape) for tensor in tensors])
        return time.perf_counter()

    @staticmethod
    def seconds(first, last):
        return last - first

    def free(self):
        return 3 << 20, 80 << 30


class Store:
    """As `_native.DeviceStore`, whose code runs on the host here."""

    def __init__(self, count, height, width, dtype, records):
        self.made, last = REAL(count, height, width, dtype, records), records.channels_last
        self.size, self.data, self.noise = (
            self.made.size,
            self.made.data,
            records.noise and records.noise.tables,
        )
        self.shapes = (
            (count, height, width, 3),
            (count, *self.size, 3) if last else (count, 3, *self.size),
        )
        self.dtype = {
            "uint8": np.uint8,
            "float16": np.float16,
            "bfloat16": np.uint16,
            "float32": np.float32,
        }[dtype]

    def __len__(self):
        return len(self.made)

    def launch(self, images, table, noise, lists, out, stream):
        assert (array(lists, self.data.shape, np.uint8) == self.data).all()
        tables = (
            array(table, (3, 256), self.dtype),
            None if self.noise is None else array(noise, self.noise.shape, self.dtype),
        )
        self.made.run_on_host(
            array(images, self.shapes[0], np.uint8), *tables, array(out, self.shapes[1], self.dtype)
        )


class Programs:
    """As `_native.DevicePrograms`: the instructions are what is copied."""

    def __init__(self, programs):
        self.data = np.ascontiguousarray(programs.rows).view(np.uint8)
        self.shape = programs.rows.shape


def augment(programs, data, images, stream):
    rows = data.numpy().view(np.float64).reshape(programs.shape)
    return torch.from_numpy(
        np.stack(
            [_native.augment(image, one) for image, one in zip(images.numpy(), rows, strict=True)]
        )
    )


class Launched:
    def __init__(self, job, flagged):
        self.job, self.flagged = job, flagged


class Decoder:
    """As `gpu_decode.GpuDecode`: its crops are the host's, but for some that come out wrong, which
    it says.
    """

    bad = ()

    def __init__(self, device):
        self.prepared = 0

    def prepare(self, job, drawn):
        self.prepared += 1
        return [SimpleNamespace(data=np.zeros(100, np.uint8), job=job) for _ in drawn]

    def launch(self, prepared, host, images, stream):
        assert stream.name == "the side stream"
        images.copy_(host)
        positions = [position for position in self.bad if position < len(images)]
        for position in positions:
            images[position] = 77
        return Launched(prepared.job, positions)

    def upload(self, host, images, positions):
        images[torch.from_numpy(positions)] = host[torch.from_numpy(positions)]


def recall(_, launched):
    return np.unique(np.concatenate([np.array(one.flagged, np.int64) for one in launched]))


@pytest.fixture
def gpu(monkeypatch):
    """The GPU; what is set on it changes what loaders see."""
    state = SimpleNamespace(capability=(9, 0), current=0, name="Fake 9000")
    for name, value in {
        "is_available": lambda: True, "device_count": lambda: 2,
        "current_device": lambda: state.current,
        "get_device_capability": lambda _=None: state.capability,
        "get_device_name": lambda _=None: state.name,
        "_is_in_bad_fork": lambda: False,
    }.items():  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, value)
    for name, value in {
        "cuda_built": True,
        "cuda_architectures": (75, 80, 90),
        "DeviceStore": Store,
    }.items():
        monkeypatch.setattr(_native, name, value)
    monkeypatch.setattr(
        slots, "allocated", lambda nbytes, **_: torch.empty(nbytes, dtype=torch.uint8)
    )
    monkeypatch.setattr(uploading, "Streams", Streams)
    monkeypatch.setattr(gpu_decode, "GpuDecode", Decoder)
    monkeypatch.setattr(gpu_decode, "recall", recall)
    monkeypatch.setattr(cuda, "augment", augment)
    monkeypatch.setattr(
        cuda,
        "device_programs",
        lambda given, *_: Programs(given) if given and given.rows[..., 0].any() else None,
    )
    return state


@pytest.fixture
def decoder(gpu, monkeypatch):
    """The GPU's decoder; the positions in `bad` come out wrong."""
    monkeypatch.setattr(Decoder, "bad", ())
    return Decoder
