"""One variant of the FFCV benchmark in its own process, on its own cores:

`python -m benchmarks.ffcv.child SPEC`.
"""

import warnings
from typing import Any

from benchmarks.loaders.child import answer, epoch


def make_loader(spec: dict[str, Any]) -> Any:
    """RandomResizedCrop and flip to uint8, with RandAugment where "augment" says so."""
    warnings.simplefilter("ignore")  # FFCV's own
    if spec["loader"] in ("ffcv", "ops"):
        return ffcvs(spec)
    from torch.utils.data import Subset

    import fastload
    from fastload import transforms

    ops = [transforms.RandomResizedCrop(spec["size"]), transforms.RandomHorizontalFlip()]
    data = fastload.open(
        spec["data"],
        [
            *ops,
            *[transforms.RandAugment(2, 9)] * spec["augment"],
            transforms.ToImage(channels_last=True),
        ],
    )
    common = {
        "batch_size": spec["batch_size"],
        "shuffle": True,
        "seed": 0,
        "num_workers": spec["workers"],
    }
    data = Subset(data, list(range(len(data))) * spec["passes"])
    return fastload.DataLoader(
        data, backend="ffcv" if spec["loader"] == "backend" else "native", **common
    )


def ffcvs(spec: dict[str, Any]) -> Any:
    """FFCV's own loader and decoder; "ops": with RandAugment from fastload.backends.ffcv.ops."""
    from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.reader import Reader
    from ffcv.transforms import RandomHorizontalFlip, Squeeze, ToTensor, ToTorchImage

    size = spec["size"]
    images = [RandomResizedCropRGBImageDecoder((size, size)), RandomHorizontalFlip()]
    if spec["augment"]:
        from fastload.backends.ffcv import ops

        images.append(ops.RandAugment(2, 9))
    pipelines = {
        "image": [*images, ToTensor(), ToTorchImage()],
        "label": [IntDecoder(), ToTensor(), Squeeze()],
    }
    common = {
        "num_workers": spec["workers"],
        "order": OrderOption.RANDOM,
        "seed": 0,
        "drop_last": False,
        "os_cache": True,
    }
    common["indices"] = list(range(Reader(spec["data"]).num_samples)) * spec["passes"]
    return Loader(spec["data"], spec["batch_size"], pipelines=pipelines, **common)


if __name__ == "__main__":
    answer(make_loader, epoch)
