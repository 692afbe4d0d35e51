"""A GPU played by the host: loaders for device="cuda" run whole where there is none. Memory is the host's, work is done at once."""

import ctypes
import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastload import _native, slots, uploading
from fastload.backends import cuda, gpu_decode


def array(address, shape, dtype):
    """What lies at an address."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * count).from_address(address), dtype).reshape(shape)


class Streams:
    """As `streams.Streams`; it notes what it is asked for."""

    number = 0

    def __init__(self, device):
        self.device = torch.device("cpu")
        self.own = SimpleNamespace(name="the side stream", cuda_stream=0, record_event=lambda: SimpleNamespace(synchronize=bool))
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


def store_cuda(images, table, out, count, height, width, item_size, last, stream):
    dtype = {1: np.uint8, 2: np.uint16, 4: np.uint32}[item_size]
    values = array(table, (3, 256), dtype)
    taken = np.stack([values[c][array(images, (count, height, width, 3), np.uint8)[..., c]] for c in range(3)], -1 if last else 1)
    array(out, taken.shape, dtype)[...] = taken


def mix_cuda(images, table, out, count, height, width, dtype, last, partners, stream):
    kind = {"uint8": np.uint8, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}[dtype]
    given = array(images, (count, height, width, 3), np.uint8)
    made = array(out, (count, height, width, 3) if last else (count, 3, height, width), kind)
    _native.store_mixed(given, array(table, (3, 256), kind), made, last, "scalar", array(partners, (count, 7), np.int32))


class Programs:
    """As `_native.DevicePrograms`: the instructions are what is copied."""

    def __init__(self, instructions):
        self.data = np.ascontiguousarray(instructions).view(np.uint8)
        self.shape = instructions.shape


def augment(programs, data, images, stream):
    rows = data.numpy().view(np.float64).reshape(programs.shape)
    return torch.from_numpy(np.stack([_native.augment(image, one) for image, one in zip(images.numpy(), rows, strict=True)]))


class Launched:
    def __init__(self, job, flagged):
        self.job, self.flagged = job, flagged


class Decoder:
    """As `gpu_decode.GpuDecode`: its crops are the host's, but for some that come out wrong, which it says."""

    bad = ()

    def __init__(self, device):
        self.prepared = 0

    def prepare(self, job, drawn, pictures):
        self.prepared += 1
        return [SimpleNamespace(data=np.zeros(100, np.uint8), job=job) for _ in pictures]

    def launch(self, prepared, host, images, stream):
        assert stream.name == "the side stream"
        images.copy_(host)
        places = [place for place in self.bad if place < len(images)]
        for place in places:
            images[place] = 77
        return Launched(prepared.job, places)

    def upload(self, host, images, places):
        images[torch.from_numpy(places)] = host[torch.from_numpy(places)]


def recall(_, launched):
    return np.unique(np.concatenate([np.array(one.flagged, np.int64) for one in launched]))


@pytest.fixture
def gpu(monkeypatch):
    """The GPU; what is set on it changes what loaders see."""
    state = SimpleNamespace(capability=(9, 0), current=0, name="Fake 9000")
    for name, value in {
        "is_available": lambda: True, "device_count": lambda: 2, "current_device": lambda: state.current,
        "get_device_capability": lambda _=None: state.capability, "get_device_name": lambda _=None: state.name,
        "_is_in_bad_fork": lambda: False,
    }.items():  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, value)
    for name, value in {"cuda_built": True, "cuda_architectures": (75, 80, 90), "store_cuda": store_cuda, "mix_cuda": mix_cuda}.items():
        monkeypatch.setattr(_native, name, value)
    monkeypatch.setattr(slots, "allocated", lambda nbytes, **_: torch.empty(nbytes, dtype=torch.uint8))
    monkeypatch.setattr(uploading, "Streams", Streams)
    monkeypatch.setattr(gpu_decode, "GpuDecode", Decoder)
    monkeypatch.setattr(gpu_decode, "recall", recall)
    monkeypatch.setattr(cuda, "augment", augment)
    monkeypatch.setattr(cuda, "programs", lambda rows, *_: Programs(rows) if rows is not None and rows[..., 0].any() else None)
    return state


@pytest.fixture
def decoder(gpu, monkeypatch):
    """The GPU's decoder; the places in `bad` come out wrong."""
    monkeypatch.setattr(Decoder, "bad", ())
    return Decoder
