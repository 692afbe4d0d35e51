"""The loaders that are compared: what each needs, what it reads, and how it is set, which its row
says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastload.errors import UsageError


@dataclass(frozen=True)
class Peer:
    """One loader; `benchmarks.peers.<module>.make(spec)` makes it."""

    name: str
    title: str
    module: str
    how: str  # its settings, for the row
    reads: str = (
        "folder"  # folder, beton, tar, shards, layers: what `benchmarks.peers.data` makes of them
    )
    augments: bool = False  # it has a RandAugment
    packages: tuple[
        str, ...
    ] = ()  # in a virtual environment of its own; none: the main one has all
    first: tuple[str, ...] = ()  # installed before them, for their build
    debian: tuple[str, ...] = ()  # Debian 12's names of the libraries that they need
    variables: Mapping[str, str] = field(default_factory=dict)  # of the build
    only: str = ""  # the one table that has a row of it, if it is in one


JPEG_BUILD = ("libjpeg62-turbo-dev", "zlib1g-dev")
FFCV_BUILD = ("pkg-config", "libopencv-dev", "libturbojpeg0-dev")
PEERS = (
    Peer("torch", "PyTorch, torchvision, Pillow", "torches",
    "ImageFolder, PIL images, persistent workers", augments=True),
    Peer("pillow_simd", "PyTorch, torchvision, Pillow-SIMD", "torches",
    "as PyTorch's, built for AVX2", augments=True,
         packages=("pillow-simd==12.1.1.post0",), first=("setuptools==77.0.3", "wheel", "pybind11"),
         debian=JPEG_BUILD,
         variables={"CC": "cc -mavx2"}),
    Peer("tensors", "PyTorch, torchvision v2 on tensors", "torches",
    "decode_image, v2 on uint8, antialiased", augments=True),
    Peer("opencv", "PyTorch, OpenCV", "opencv",
    "imread, INTER_LINEAR, which does not antialias; one thread", packages=("opencv-python",)),
    Peer("timm", "timm", "timms",
    "create_loader; uint8 as its PrefetchLoader gets it; drops the last batch; rand-m9-n2-mstd0.5",
         augments=True, packages=("timm",)),
    Peer("webdataset", "WebDataset", "wds",
    "8 tar files with the original bytes, WebLoader, PIL images", reads="tar", augments=True,
         packages=("webdataset==1.0.2",)),
    Peer("ffcv", "FFCV", "ffcvs",
    "jpg mode, original bytes (RGBImageField subclassed); PNGs raw; INTER_AREA", reads="beton",
         packages=("ffcv==1.0.2",), first=("wheel", "numba", "opencv-python"), debian=FFCV_BUILD),
    Peer("dali", "DALI, CPU", "dalis",
    "file reader, image_random_crop, auto_aug; the padded last batch's work counts", augments=True,
         packages=("nvidia-dali-cuda130==2.4.0",)),
    Peer("spdl", "SPDL", "spdls", "threads; FFmpeg's filters crop, scale (bilinear), flip",
    packages=("spdl==0.8.0",),
         debian=("libavdevice59", "libavfilter8")),
    Peer("fastload", "fastload, folder", "fastloads", "the drop-in, without a seek index",
    augments=True),
    Peer("later", "fastload, folder, 2nd epoch on", "fastloads",
    "the drop-in, with the seek index that its first epoch collects",
         augments=True),
    Peer("collecting", "fastload, folder, with collection", "fastloads",
    "the drop-in, which collects the seek index meanwhile", only="first"),
    Peer("shards", "fastload, shards", "fastloads", "what `fastload convert` made of the folder",
    reads="shards", augments=True),
    Peer("layers", "fastload, shards with coefficient layers", "fastloads",
    "what `fastload convert --layer coefficients` made of the folder",
    reads="layers", augments=True),
)  # fmt: skip
REFERENCE = "torch"
OURS = {
    "fastload": "folder is times as fast",
    "later": "folder, 2nd epoch on",
    "collecting": "with collection",
    "shards": "shards",
    "layers": "with layers",
}  # figures of the others' rows


def chosen(only: Sequence[str]) -> list[Peer]:
    """The peers of these names, all if none are given; raises UsageError."""
    known = [peer.name for peer in PEERS]
    if unknown := [name for name in only if name not in known]:
        raise UsageError(f"--only: {', '.join(unknown)} (want {', '.join(known)}); choose of these")
    return [peer for peer in PEERS if not only or peer.name in only]
