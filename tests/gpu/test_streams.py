"""Batches on a GPU under everything that a caller may do with them: keep, drop, overwrite, stall,
capture graphs, change streams.

FASTLOAD_SOAK is how many batches the long test takes; before a release 10,000
(`benchmarks/gpu/run.sh` does).
"""

import multiprocessing
import os
import random
import threading

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.engine import streams
from fastload.plan.placement import ALL

pytestmark = pytest.mark.cuda

SOAK = int(os.environ.get("FASTLOAD_SOAK", "200"))  # batches
BATCH = 16
OPS = [
    T.RandomResizedCrop((64, 96)),
    T.RandAugment(2),
    T.ToImage(),
    T.ToDtype(torch.float16, scale=True),
]
WARM = 20  # batches, after which memory stays


def make(folder, device="cuda", batches=None, workers=2, batch=BATCH, ops=OPS, **more):
    data = fastload.open(folder, ops)
    order = [n % len(data) for n in range((batches or 3) * batch)]
    return fastload.DataLoader(
        data, batch, sampler=order, num_workers=workers, device=device, seed=3, **more
    )


def digest(images):
    """int64 on the device, of every bit and its placement; nothing waits."""
    bits = images.contiguous().view(torch.int16).flatten().long()
    return (bits * (torch.arange(len(bits), device=bits.device) % 65_521 + 1)).sum()


def possible(folder):
    """The placements that make this pipeline: all, since no op of it is the user's."""
    from fastload.engine import make as engines

    loader = make(folder)
    return engines.placements(loader._own, loader._route.backend, loader._route.plan)[0]


@pytest.mark.parametrize("placement", ALL, ids=str)
def test_batches_survive_callers_that_stall_keep_drop_and_overwrite(folder, placement):
    assert placement in possible(folder)
    period = 5  # epochs' worth of different batches is made by the CPU once
    want = [digest(images) for images, _ in make(folder, None, period)]
    rng, kept, found, side = random.Random(0), [], [], torch.cuda.Stream()
    loader = make(folder, batches=period, decode=placement.decode, augment=placement.augment)
    for first in range(0, SOAK, period):
        loader.set_epoch(0)
        for number, (images, labels) in enumerate(loader):
            if rng.random() < 0.3:
                torch.cuda._sleep(rng.randrange(20_000_000))  # clock cycles, up to about 10 ms
            if rng.random() < 0.3:
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    found.append((first + number, digest(images)))
                    images.record_stream(side)  # torch's rule for another stream
            else:
                found.append((first + number, digest(images)))
            what = rng.random()
            if what < 0.3:
                kept.append((first + number, images))
            elif what < 0.6:
                torch.cuda.current_stream().wait_stream(side)
                images.fill_(float("nan"))
                labels.fill_(-1)
            if len(kept) > 6:
                place_kept = rng.randrange(len(kept))
                found.append((kept[place_kept][0], digest(kept.pop(place_kept)[1])))
    torch.cuda.synchronize()
    wrong = [number for number, value in found if int(value) != int(want[number % period])]
    assert wrong == []
    assert len(found) >= SOAK // period * period


@pytest.mark.parametrize("augment", ["cpu", "gpu"])
def test_memory_stays_after_the_first_batches(folder, augment):
    seen = []
    for number, (images, _) in enumerate(make(folder, batches=100, augment=augment, decode="cpu")):
        images.sum()
        if number >= WARM:
            seen.append(torch.cuda.memory_reserved())
    assert set(seen) == {seen[0]}


def test_a_host_that_never_waits_does_not_fill_the_gpu(folder):
    before = torch.cuda.memory_allocated()
    highest = 0
    for images, _ in make(folder, batches=60, decode="cpu", augment="gpu"):
        torch.cuda._sleep(10_000_000)  # a step of a few ms
        images.sum()
        highest = max(highest, torch.cuda.memory_allocated() - before)
    one = BATCH * 64 * 96 * 3 * 2
    assert highest < one * 4 * (streams.AHEAD + 4)


def test_a_callers_graph_capture_is_not_disturbed(folder):
    loader = make(folder, batches=60, prefetch_factor=4)
    batches = iter(loader)
    images, _ = next(batches)
    still = images.clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        (still * 2).sum()  # what captures need to have run once
    torch.cuda.current_stream().wait_stream(side)
    for _ in range(10):
        next(batches)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(
            graph
        ):  # cudaStreamCaptureModeGlobal: any unsafe call of any thread would end it
            total = (still * 2).sum()
            threading.Event().wait(0.02)  # our threads go on meanwhile
        still.copy_(next(batches)[0])
        graph.replay()
        assert torch.equal(total, (still * 2).sum())


def test_next_in_a_capture_is_refused_in_one_line(folder):
    batches = iter(make(folder))
    still = next(batches)[0].clone()

    def capture():
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            still.mul_(2)  # torch warns of graphs that are empty
            next(batches)

    with pytest.raises(
        fastload.DeviceError,
        match=r"^DataLoader: next\(\) in a CUDA graph's capture, which cannot wait for a batch; "
        r".*$",
    ):
        capture()
    assert len(next(batches)) == 2


def test_the_side_stream_is_not_above_anybody(folder):
    loader = make(folder)
    list(loader)
    assert loader._engine.uploader.streams.own.priority >= torch.cuda.default_stream().priority


def test_training_is_not_held_up_by_what_comes(folder):
    """Work on the caller's stream begins while the side stream is busy with later batches."""
    loader = make(folder, batches=6, augment="cpu", decode="cpu")
    batches = iter(loader)
    next(batches)
    torch.ones(
        10, device="cuda"
    ).sum()  # CUDA loads a kernel where it is first used, and may wait for the whole GPU then
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(loader._engine.uploader.streams.own):
        torch.cuda._sleep(400_000_000)  # about 0.2 s
    start.record()
    torch.ones(10, device="cuda").sum()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) < 50  # ms


def test_auto_measures_every_place_and_gives_the_same_batches(folder):
    with_auto = make(folder, batches=400)
    found = [digest(images) for images, _ in with_auto]
    want = [int(digest(images)) for images, _ in make(folder, None, 400)]
    assert [int(one) for one in found] == want
    chooser = with_auto._engine.chooser
    assert set(chooser.rates(None)) == set(possible(folder))
    assert all(rate > 0 for rate in chooser.rates(None).values())


def test_no_memory_is_one_line_and_training_goes_on(folder):
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + (8 << 20)) / total)
    try:
        with pytest.raises(
            fastload.DeviceMemoryError,
            match=r"^DataLoader: no memory left on cuda:0 for a batch \(got .*; lower "
            r"batch_size.*$",
        ):
            list(make(folder, batch=2000, batches=1, ops=[T.RandomResizedCrop(224), T.ToTensor()]))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert len(list(make(folder))) == 3


def _fork(folder, answers):
    try:
        iter(make(folder))
    except fastload.DeviceError as error:
        answers.put(str(error))


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # Python 3.12 warns of any fork with threads, which is what is tested
def test_a_fork_is_told(folder):
    torch.ones(1, device="cuda")
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=_fork, args=(folder, answers))
    process.start()
    assert "was forked after its parent had begun to use CUDA" in answers.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_another_gpu_than_the_current_one(folder):
    for images, labels in make(folder, "cuda:1"):
        assert images.device == labels.device == torch.device("cuda:1")
