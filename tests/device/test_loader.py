"""Loaders for device="cuda" on a GPU that the host plays: the CPU's batches by every placement, and
what happens where it fails.
"""

import threading
import time

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.backends.native import cuda
from fastload.engine import sending, uploading
from fastload.plan.placement import ALL, HOST
from tests.conftest import needs_numba
from tests.waiting import until

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LAST = {
    "uint8": [T.ToImage()],
    "uint8 NHWC": [T.ToImage(channels_last=True)],
    "float32": [T.ToTensor(), T.Normalize(MEAN, STD)],
    "float16 NHWC": [
        T.ToImage(channels_last=True),
        T.ToDtype(torch.float16, scale=True),
        T.Normalize(MEAN, STD),
    ],
    "bfloat16": [T.ToImage(), T.ToDtype(torch.bfloat16, scale=True), T.Normalize(MEAN, STD)],
}
MEMORY = (
    "DataLoader: no memory left on cpu for a batch (got 3.0 MiB free of 81,920.0 MiB, want 0.1 "
    "MiB: images 0.1 MiB, crops 0.0 MiB); "
    "lower batch_size, keep fewer batches, or use decode='cpu' and augment='cpu'"
)


def loader(folder, device=None, last="float32", workers=2, ops=None, **more):
    ops = ops or [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), T.RandAugment(2)]
    data = fastload.open(folder, [*ops, *LAST[last]])
    return fastload.DataLoader(
        data, batch_size=7, shuffle=True, num_workers=workers, device=device, seed=5, **more
    )


def same(found, want):
    assert len(found) == len(want)
    for batch, other in zip(found, want, strict=True):
        assert len(batch) == len(other)
        for a, b in zip(batch, other, strict=True):
            assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
            assert torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("placement", ALL, ids=str)
@pytest.mark.parametrize("last", LAST)
def test_every_placement_gives_the_cpus_batches(folder, gpu, decoder, last, placement, workers):
    decoder.bad = (0, 3)
    want = list(loader(folder, last=last))
    found = loader(
        folder, "cuda", last, workers, decode=placement.decode, augment=placement.augment
    )
    same(list(found), want)
    uploader = found._engine.uploader
    assert bool(uploader.decoder) == (placement.decode == "gpu")
    assert (uploader.images, uploader.bytes) == (
        40,
        6 * 100 if placement.decode == "gpu" else 40 * 31 * 45 * 3,
    )


@pytest.mark.parametrize("how", ["mix", "soft labels", "views", "sizes", "masks of valid"])
def test_what_else_a_batch_may_be(folder, gpu, decoder, how):
    more, ops = {}, None
    if how in ("mix", "soft labels"):
        more["mix"] = T.MixUp() if how == "mix" else T.LabelSmoothing()
    if how == "sizes":
        more["size_schedule"], ops = [24, 40], [T.RandomResizedCrop(32), T.RandAugment(1)]
    if how == "masks of valid":
        more |= {"drop_last": False}
    if how == "views":
        large, small = (
            [T.RandomResizedCrop(size), T.RandAugment(1), *LAST["float32"]]
            for size in ((31, 45), (9, 16))
        )
        data = fastload.open(folder, T.Views([(large, 2), (small, 3)]))
        host, device = (
            fastload.DataLoader(data, 7, num_workers=2, device=on, seed=5) for on in ("cpu", "cuda")
        )
        for (views, labels), (others, labels_too) in zip(device, host, strict=True):
            same([[*views, labels]], [[*others, labels_too]])
        return
    host, device = loader(folder, ops=ops, **more), loader(folder, "cuda", ops=ops, **more)
    for _ in range(2):
        same(list(device), list(host))


@pytest.mark.parametrize("placement", ALL, ids=str)
def test_buckets_in_every_placement(folder, gpu, decoder, placement):
    ops = [T.Resize(32), T.RandomCrop(32), T.RandAugment(1), *LAST["float32"]]
    data = fastload.open(folder, ops)
    on_gpu = {"device": "cuda", "decode": placement.decode, "augment": placement.augment}
    host, device = (
        fastload.DataLoader(
            data, num_workers=1, seed=5, **more,
            batch_sampler=fastload.BucketSampler(data, 8, buckets=[(32, 32), (24, 44)], seed=1),
        )
        for more in ({}, on_gpu)
    )  # fmt: skip
    same(list(device), list(host))


def test_auto_tries_all_places_and_the_batches_stay_the_same(folder, gpu, decoder, monkeypatch):
    monkeypatch.setattr("fastload.plan.placement.COUNTED", 2)
    data = fastload.open(folder, [T.RandomResizedCrop((31, 45)), T.RandAugment(1), *LAST["uint8"]])
    order = list(range(40)) * 20
    host, device = (
        fastload.DataLoader(data, 4, sampler=order, num_workers=1, device=on, seed=5)
        for on in (None, "cuda")
    )
    same(list(device), list(host))
    chooser = device._engine.chooser
    assert set(chooser.rates(None)) == set(ALL)
    lines = device.explain().splitlines()
    assert [line for line in lines if line.startswith("  gpu     chosen decode=")]
    assert all(f"{placement} " in device.explain() for placement in ALL)


@T.custom(draws=1)
def brighter(image, u):
    image[:] = image // 2 + int(100 * u[0])


@pytest.mark.long
def test_places_that_cannot_be_are_out_and_explained(folder, gpu):
    found = loader(folder, "cuda", ops=[T.RandomResizedCrop((31, 45)), brighter])
    text = "users' functions run on the host, not with augment='gpu'; leave augment out"
    lines = found.explain().splitlines()
    assert "  gpu     decode='cpu', augment='cpu'" in lines
    assert f"          decode='cpu', augment='gpu' is out: {text}" in lines
    assert f"          decode='gpu', augment='gpu' is out: {text}" in lines


@needs_numba
def test_the_gpu_that_was_asked_for_explains_why_it_cannot(folder, gpu):
    with pytest.raises(fastload.BackendError) as caught:
        loader(folder, "cuda", ops=[T.RandomResizedCrop((31, 45)), brighter], augment="gpu")
    assert str(caught.value) == (
        "backend native cannot run this plan: users' functions run on the host, not with "
        "augment='gpu'; leave augment out"
    )
    with pytest.raises(fastload.PipelineError) as caught:
        loader(folder, decode="gpu", augment="cpu")
    assert str(caught.value).splitlines() == [
        "decode: 'gpu' needs device='cuda' (got None); add device='cuda', or leave decode out",
        (
            "augment: 'cpu' needs decode='cpu' (got 'gpu', whose images are on the GPU); leave "
            "augment out, or use 'gpu'"
        ),
    ]
    with pytest.raises(fastload.UsageError) as caught:
        loader(folder, decode="hybrid")
    assert str(caught.value) == "DataLoader: decode is 'hybrid', want 'auto', 'cpu' or 'gpu'"


def full(*_):
    raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate …")


def test_no_memory_where_a_place_was_asked_for_is_one_line(folder, gpu, monkeypatch):
    monkeypatch.setattr(cuda, "augment", full)
    batches = iter(loader(folder, "cuda", augment="gpu", decode="cpu"))
    for _ in range(6):
        with pytest.raises(fastload.DeviceMemoryError) as caught:
            next(batches)
        assert str(caught.value) == MEMORY
    with pytest.raises(StopIteration):
        next(batches)


@pytest.mark.parametrize("workers", [0, 2])
def test_no_memory_where_a_place_is_to_be_chosen_drops_it(folder, gpu, monkeypatch, workers):
    monkeypatch.setattr(cuda, "augment", full)
    monkeypatch.setattr("fastload.plan.placement.COUNTED", 1)
    found = loader(
        folder, "cuda", workers=workers, decode="cpu", prefetch_factor=1 if workers else None
    )
    want = loader(folder)
    for _ in range(12):
        same(list(found), list(want))
    assert f"decode='cpu', augment='gpu' is out: {MEMORY}" in found._engine.chooser.explain()
    assert found._engine.chooser.placements == [HOST]


@pytest.mark.parametrize("on_error", ["raise", "substitute", "skip"])
def test_bad_samples_are_the_cpus(bad_folder, gpu, decoder, encode, make_image, on_error):
    files = {f"{n}.jpg": encode(make_image(40 + n, 60, n)) for n in range(9)} | {
        "5.jpg": b"\xff\xd8\xff nothing"
    }
    where = bad_folder(files)
    results = []
    for device in (None, "cuda"):
        data = fastload.open(
            where, [T.RandomResizedCrop((31, 45)), T.RandAugment(1), *LAST["float32"]]
        )
        how = {"num_workers": 2, "device": device, "seed": 1, "on_error": on_error, "max_bad": 3}
        batches, out = iter(fastload.DataLoader(data, 4, **how)), []
        while True:
            try:
                out.append(next(batches))
            except StopIteration:
                break
            except fastload.SampleError as error:
                out.append([torch.tensor([error.index])])
        results.append(out)
    same(*results)


def test_an_iterator_that_is_dropped_ends_its_threads(folder, gpu):
    before = threading.active_count()
    found = loader(folder, "cuda")
    for _ in range(3):
        batches = iter(found)
        next(batches)
        del batches
    assert until(
        lambda: threading.active_count() == before
    )  # dropping an iterator waits for nothing
    assert found._engine.depth > sending.AHEAD


def test_threads_of_ours_enter_the_gpu_before_they_work(folder, gpu):
    found = loader(folder, "cuda")
    list(found)
    assert sorted(found._engine.uploader.streams.threads) == ["fastload-feeder", "fastload-sender"]


@pytest.mark.parametrize("thread", ["fastload-feeder", "fastload-sender"])
def test_a_thread_that_cannot_enter_the_gpu_says_so_for_each_batch(
    folder, gpu, monkeypatch, thread
):
    def enter(_):
        if threading.current_thread().name == thread:
            raise RuntimeError("CUDA error: no such thing")

    monkeypatch.setattr(uploading.Streams, "enter", enter)
    batches = iter(loader(folder, "cuda"))
    for _ in range(6):
        with pytest.raises(RuntimeError, match=r"^CUDA error: no such thing$"):
            next(batches)
    with pytest.raises(StopIteration):
        next(batches)


def test_no_more_batches_than_asked_for_lie_on_the_gpu(folder, gpu, monkeypatch):
    sent, send = [], uploading.Uploader.send
    monkeypatch.setattr(
        uploading.Uploader, "send", lambda self, *args: sent.append(1) or send(self, *args)
    )
    batches = iter(loader(folder, "cuda", prefetch_factor=4))
    for taken in range(1, 5):
        next(batches)
        assert until(lambda taken=taken: len(sent) >= min(6, taken + sending.AHEAD))
        time.sleep(0.05)  # one more would come
        assert len(sent) == min(6, taken + sending.AHEAD)


def test_a_caller_on_another_gpu_is_told(folder, gpu):
    batches = iter(loader(folder, "cuda"))
    gpu.current = 1
    with pytest.raises(fastload.DeviceError) as caught:
        next(batches)
    assert str(caught.value) == (
        "DataLoader: batches go to cuda:0, but the current device is cuda:1 (want the same); "
        "call torch.cuda.set_device before the first iter(), or make the loader with "
        "device='cuda:1'"
    )
    explicit = iter(loader(folder, "cuda:0"))
    assert len(next(explicit)) == 2
