"""Other ways to fill a GPU with training batches, each in its own idiom; in a child process, since
some may crash.

All give RandomResizedCrop and a flip, "hot" with RandAugment (one op) too, as normalised float16,
channels last. fastload's "hot" has ColOut and MixUp as well, on crops that are larger by what
ColOut drops; the peers have none, or not on the GPU.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch

from benchmarks.loaders.child import MEAN, STD
from fastload.errors import BackendError

Batches = Iterator[tuple[torch.Tensor, torch.Tensor]]
AREA, RATIO, TRIES = (0.08, 1.0), (3 / 4, 4 / 3), 10
DROPPED, ALPHA = 0.05, 0.25  # of the recipe Hot's ColOut and MixUp
CLASSES = 1000  # that the networks tell apart
READERS = 8  # threads that read files for torchvision's decoder
HARDWARE = (
    0.0,
    0.65,
    1.0,
)  # shares of images that DALI gives to the hardware decoder; 0.65 is its default


def normalised(images: torch.Tensor) -> torch.Tensor:
    """uint8 [N, 3, H, W] on the GPU to float16, channels last."""
    mean, std = (
        torch.tensor(values, device=images.device).view(1, 3, 1, 1) * 255 for values in (MEAN, STD)
    )
    return ((images.float() - mean) / std).to(torch.float16, memory_format=torch.channels_last)


# --- DALI ---


def dali(spec: dict[str, Any], hardware: float) -> Batches:
    """file reader, image_random_crop on the GPU ("mixed"), auto_aug, crop_mirror_normalize;
    hardware: share of the engines.
    """
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug.rand_augment import rand_augment
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    size = spec["size"]

    @pipeline_def(enable_conditionals=True)
    def pipeline() -> Any:
        jpegs, labels = fn.readers.file(file_root=spec["data"], random_shuffle=True)
        box = {"random_area": AREA, "random_aspect_ratio": RATIO, "num_attempts": TRIES}
        images = fn.decoders.image_random_crop(
            jpegs, device="mixed", output_type=types.RGB, hw_decoder_load=hardware, **box
        )
        images = fn.resize(
            images, size=(size, size), interp_type=types.INTERP_LINEAR, antialias=True
        )
        mirror = fn.random.coin_flip()
        if spec["path"] == "hot":
            images = rand_augment(images, n=1, m=9, shape=(size, size), fill_value=0)
        scaled = {
            "mean": [255 * v for v in MEAN],
            "std": [255 * v for v in STD],
            "dtype": types.FLOAT16,
            "output_layout": "HWC",
        }
        return fn.crop_mirror_normalize(images, mirror=mirror, **scaled), labels.gpu()

    threads = {"num_threads": spec["workers"], "prefetch_queue_depth": 2}
    made = pipeline(batch_size=spec["batch"], device_id=0, seed=0, **threads)
    # Told of no reader, it goes on without an end.
    for (batch,) in DALIGenericIterator(made, ["images", "labels"]):
        yield batch["images"].permute(0, 3, 1, 2), batch["labels"].squeeze(-1).long()


# --- torchvision's decoder on the GPU ---


def torchvision_decode(spec: dict[str, Any]) -> Batches:
    """Threads read, `decode_jpeg` takes a batch at a time on a side stream; crops and policies
    image by image there.
    """
    from torchvision.datasets import ImageFolder
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2

    ops = [
        v2.RandomResizedCrop(spec["size"], AREA, RATIO, antialias=True),
        v2.RandomHorizontalFlip(),
    ]
    change = v2.Compose([*ops, *[v2.RandAugment(num_ops=1)] * (spec["path"] == "hot")])
    samples, side = ImageFolder(spec["data"]).samples, torch.cuda.Stream()
    with ThreadPoolExecutor(READERS) as reading:
        ahead = _ahead(
            iter(_orders(len(samples), spec["batch"])),
            lambda order: [reading.submit(read_file, samples[n][0]) for n in order],
        )
        for order, files in ahead:
            with torch.cuda.stream(side):
                decoded = decode_jpeg(
                    [file.result() for file in files], mode=ImageReadMode.RGB, device="cuda"
                )
                images = normalised(torch.stack([change(image) for image in decoded]))
                labels = (
                    torch.tensor([samples[n][1] for n in order])
                    .pin_memory()
                    .to("cuda", non_blocking=True)
                )
            yield _given(side, images, labels)


def _orders(count: int, batch: int) -> Iterator[list[int]]:
    while True:
        order = torch.randperm(count).tolist()
        yield from (order[first : first + batch] for first in range(0, count - batch + 1, batch))


def _ahead(
    orders: Iterator[list[int]], begin: Callable[[list[int]], Any], depth: int = 2
) -> Iterator[tuple[list[int], Any]]:
    """Each order with what `begin` has begun for it, `depth` orders ahead."""
    waiting = [(order, begin(order)) for order in itertools.islice(orders, depth)]
    for order in orders:
        waiting.append((order, begin(order)))
        yield waiting.pop(0)


def _given(side: torch.cuda.Stream, *tensors: torch.Tensor) -> Any:
    """Of the side stream, to the current one."""
    torch.cuda.current_stream().wait_stream(side)
    for tensor in tensors:
        tensor.record_stream(torch.cuda.current_stream())
    return tensors


# --- the CPU decodes, the GPU augments ---


def decoded_by_cpu(
    spec: dict[str, Any], augment: Callable[[torch.Tensor], torch.Tensor] | None
) -> Batches:
    """PyTorch's DataLoader with ImageFolder gives uint8 crops; augment: of uint8 batches on the
    GPU, on a side stream.
    """
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    ops: list[Any] = [
        transforms.RandomResizedCrop(spec["size"], AREA, RATIO),
        transforms.RandomHorizontalFlip(),
    ]
    ops += [transforms.RandAugment(num_ops=1)] * (spec["path"] == "hot" and augment is None)
    folder, side = (
        ImageFolder(spec["data"], transforms.Compose([*ops, transforms.PILToTensor()])),
        torch.cuda.Stream(),
    )
    order = endless(folder, spec["batch"])
    how = {
        "sampler": order,
        "drop_last": True,
        "num_workers": spec["workers"],
        "pin_memory": True,
        "persistent_workers": True,
    }
    loader: Any = torch.utils.data.DataLoader(folder, spec["batch"], **how)
    while True:
        for images, labels in loader:
            with torch.cuda.stream(side):
                there = images.to("cuda", non_blocking=True)
                made = normalised(augment(there) if augment and spec["path"] == "hot" else there)
                labels_there = labels.to("cuda", non_blocking=True)
            yield _given(side, made, labels_there)


def endless(data: Any, batch: int) -> torch.utils.data.RandomSampler:
    """A hundred epochs in one: with a few hundred images, the ends of epochs would be what is
    measured.
    """
    return torch.utils.data.RandomSampler(data, num_samples=100 * max(len(data), batch))


def kornia(spec: dict[str, Any]) -> Batches:
    from kornia.augmentation.auto import RandAugment

    policy = RandAugment(n=1, m=9).to("cuda")
    return decoded_by_cpu(
        spec,
        lambda images: (policy(images.float() / 255) * 255).round().clamp(0, 255).to(torch.uint8),
    )


def torchvision_v2(spec: dict[str, Any]) -> Batches:
    from torchvision.transforms import v2

    policy = v2.RandAugment(num_ops=1)  # image by image: one call draws once
    return decoded_by_cpu(spec, lambda images: torch.stack([policy(image) for image in images]))


PEERS: dict[str, Callable[[dict[str, Any]], Batches]] = {
    **{f"DALI, hardware decoder {share:.0%}": partial(dali, hardware=share) for share in HARDWARE},
    "torchvision decode_jpeg on the GPU": torchvision_decode,
    "PyTorch DataLoader, Kornia on the GPU": kornia,
    "PyTorch DataLoader, torchvision v2 on the GPU": torchvision_v2,
    "PyTorch DataLoader": partial(decoded_by_cpu, augment=None),
}


# --- ours ---


def fastload_batches(spec: dict[str, Any]) -> tuple[Any, Batches]:
    """The loader, and its batches without an end.

    spec: decode, augment; device "cpu" gives uint8 batches there.
    """
    import fastload
    from fastload import transforms as T

    hot, dropped = spec["path"] == "hot", T.ColOut(DROPPED, DROPPED)
    size = (
        next(
            side
            for side in itertools.count(spec["size"])
            if dropped.kept(side, side)[0] >= spec["size"]
        )
        if hot
        else spec["size"]
    )
    ops: list[Any] = [T.RandomResizedCrop(size, AREA, RATIO), T.RandomHorizontalFlip()]
    ops += [T.RandAugment(1)] * hot + [T.ToImage(channels_last=True)] + [dropped] * hot
    if spec["device"] == "cuda":
        ops += [T.ToDtype("float16", scale=True), T.Normalize(MEAN, STD)]
    data: Any = fastload.open(spec["data"], ops)
    places = (
        {} if spec["device"] == "cpu" else {"decode": spec["decode"], "augment": spec["augment"]}
    )
    loader: Any = fastload.DataLoader(
        data,
        spec["batch"],
        sampler=endless(data, spec["batch"]),
        num_workers=spec["workers"],
        device=spec["device"],
        drop_last=True,
        seek_index="use",
        mix=T.MixUp.composer(ALPHA, num_classes=CLASSES) if hot else None,
        **places,
    )
    return loader, itertools.chain.from_iterable(itertools.repeat(loader))


def synthetic(spec: dict[str, Any]) -> Batches:
    """Batches that lie on the GPU already: eight of noise, since one alone, or zeros, would flatter
    power and caches.
    """
    made = [
        torch.randn(
            spec["batch"], 3, spec["size"], spec["size"], device="cuda", dtype=torch.float16
        )
        for _ in range(8)
    ]
    labels = torch.randint(1000, (spec["batch"],), device="cuda")
    return itertools.cycle(
        [(images.to(memory_format=torch.channels_last), labels) for images in made]
    )


def batches(spec: dict[str, Any]) -> tuple[Any, Batches]:
    """fastload's loader or None, and the batches of the variant that the spec names."""
    if not os.path.isdir(spec["data"]) and spec["loader"] != "synthetic":
        raise BackendError(f"on_gpu: {spec['data']} is no folder; give --data a folder of classes")
    if spec["loader"] == "synthetic":
        return None, synthetic(spec)
    return (
        fastload_batches(spec)
        if spec["loader"] == "fastload"
        else (None, PEERS[spec["loader"]](spec))
    )
