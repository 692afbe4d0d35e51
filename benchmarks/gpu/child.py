"""One variant of the GPU's tables in a process of its own: `python -m benchmarks.gpu.child SPEC`
prints one line of JSON.

Batches go to a training step, or nowhere. What is measured is whole: from files to the end of the
last step.
"""

import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Step = Callable[[Any, Any], object]
PROFILED = 12  # batches whose kernels are looked at one by one


def main() -> None:
    spec = json.loads(sys.argv[1])
    os.sched_setaffinity(
        0, spec["cores"]
    )  # before torch is imported, so that every thread and worker inherits it
    print(json.dumps(measure(spec)), flush=True)


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """Images/s in each window, cores used, and what is known of the GPU."""
    import torch

    from benchmarks.gpu import peers as gpu_peers

    torch.backends.cudnn.benchmark = True
    loader, batches = gpu_peers.batches(spec)
    step = make_step(spec["model"])
    settle = (
        torch.cuda.synchronize
        if torch.cuda.is_available() and spec["device"] == "cuda"
        else lambda: None
    )
    window(batches, step, settle, spec["warm"])
    before, began = cpu_seconds(), time.perf_counter()
    rates = [window(batches, step, settle, spec["seconds"]) for _ in range(spec["windows"])]
    results: dict[str, Any] = {
        "rates": rates,
        "cores_used": (cpu_seconds() - before) / (time.perf_counter() - began),
    }
    if loader is not None and spec["device"] == "cuda":
        results |= ours(loader)
    if step and spec["device"] == "cuda":
        results |= beside_training(batches, step)
    return results


def window(
    batches: Iterator[Any], step: Step | None, settle: Callable[[], object], seconds: float
) -> float:
    """Images per second, over at least this long."""
    settle()
    start, images = time.perf_counter(), 0
    for pictures, labels in batches:
        if step:
            step(pictures, labels)
        images += len(pictures)
        if time.perf_counter() - start >= seconds:
            break
    settle()
    return images / (time.perf_counter() - start)


def make_step(name: str | None) -> Step | None:
    """Forward, backward and SGD of a network of torchvision's, channels last, in mixed
    precision.
    """
    if name is None:
        return None
    import torch
    from torchvision import models

    network: Any = models.get_model(name, num_classes=1000).to(
        "cuda", memory_format=torch.channels_last
    )
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.875, weight_decay=5e-4)
    scaler = torch.amp.grad_scaler.GradScaler("cuda")

    def step(images: torch.Tensor, labels: torch.Tensor) -> None:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(network(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)

    return step


def cpu_seconds() -> float:
    """Of this process and all below it, dead or alive: workers end with their loader, not
    before.
    """
    ticks, waiting = 0, [os.getpid()]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            waiting += [
                int(child)
                for task in (process / "task").iterdir()
                for child in (task / "children").read_text().split()
            ]
        except OSError:  # it has just ended
            continue
        ticks += sum(
            map(int, fields[11:15])
        )  # utime, stime, and those of children that were waited for
    return ticks / os.sysconf("SC_CLK_TCK")


def ours(loader: Any) -> dict[str, Any]:
    """What fastload itself counts: bytes that go to the GPU for an image, how JPEGs were decoded,
    what was chosen.
    """
    uploader = loader._engine.uploader
    return {
        "bytes_per_image": uploader.bytes / max(1, uploader.images),
        "chosen": loader._engine.chooser.explain(),
        "decodes": loader.decodes(),
    }


def beside_training(batches: Iterator[Any], step: Step) -> dict[str, Any]:
    """Share of the GPU's busy time that kernels and copies on other streams than training's take,
    by torch's profiler (CUPTI).
    """
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for pictures, labels in itertools.islice(batches, PROFILED):
            step(pictures, labels)
        torch.cuda.synchronize()
    took: dict[int, int] = {}
    for event in profiler.profiler.kineto_results.events():  # type: ignore[union-attr]
        if event.device_type() == torch.autograd.DeviceType.CUDA:
            took[event.device_resource_id()] = (
                took.get(event.device_resource_id(), 0) + event.duration_ns()
            )
    if not took:
        return {}
    training = max(took.values())  # the busiest stream's
    return {"gpu_time_beside_training": 1 - training / sum(took.values())}


if __name__ == "__main__":
    main()
