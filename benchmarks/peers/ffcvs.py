"""FFCV's own loader and decoder, on a file that `benchmarks.peers.ffcv_write` made."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    warnings.simplefilter("ignore")  # FFCV's own
    from ffcv.fields import RGBImageField
    from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import RandomHorizontalFlip, Squeeze, ToTensor, ToTorchImage

    images = [
        RandomResizedCropRGBImageDecoder((spec["size"], spec["size"])),
        RandomHorizontalFlip(),
        ToTensor(),
        ToTorchImage(),
    ]
    loader = Loader(
        spec["data"], spec["batch_size"], num_workers=spec["workers"], order=OrderOption.RANDOM,
        seed=0, drop_last=False,
        os_cache=not spec["cold"],  # what is mapped cannot be dropped from the page cache
        custom_fields={"image": RGBImageField},  # the writer's subclass only writes otherwise
        pipelines={"image": images, "label": [IntDecoder(), ToTensor(), Squeeze()]},
    )  # fmt: skip
    return lambda: (batch[0] for batch in loader)
