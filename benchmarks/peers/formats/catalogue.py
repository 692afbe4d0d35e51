"""The formats, and of each its own loader and fastload's in place."""

from typing import NamedTuple

from benchmarks.peers.catalogue import Peer


class Format(NamedTuple):
    """One format; its own loader is the reference of fastload's rows."""

    name: str
    own: Peer
    ours: Peer


def _ours(name: str, how: str) -> Peer:
    return Peer(f"fastload_{name}", f"fastload, {name} in place", "formats.fastloads", how)


SEEK = "a permutation; seek indexes from the first epoch, which is dropped"
FORMATS = (
    Format(
        "tars",
        Peer("webdataset", "WebDataset", "wds", "shuffled shards, a buffer of 1,000",
             reads="tar", packages=("webdataset==1.0.2",)),
        _ours("tars", SEEK),
    ),
    Format(
        "captions",
        Peer("open_clip", "open_clip's own data module", "formats.open_clips",
             "get_wds_dataset, its tokenizer",
             packages=("open_clip_torch==3.3.0", "webdataset==0.2.86", "ftfy", "regex")),
        _ours("captions", f'target="txt", the same tokenizer in the loop; {SEEK}'),
    ),
    Format(
        "mds",
        Peer("streaming", "MosaicML Streaming", "formats.streaming", "local shards, py1e",
             packages=("mosaicml-streaming==0.13.0",)),
        _ours("mds", SEEK),
    ),
    Format(
        "litdata",
        Peer("litdata", "LitData", "formats.litdatas", "local chunks, shuffled",
             packages=("litdata==0.2.76",)),
        _ours("litdata", SEEK),
    ),
    Format(
        "tfrecord",
        Peer("tfrecord", "tfrecord, PyTorch", "formats.tfrecords",
             "its own index, a buffer of 1,000", packages=("tfrecord==1.14.6",)),
        _ours("tfrecord", SEEK),
    ),
    Format(
        "lmdb",
        Peer("lmdb", "lmdb, PyTorch's DataLoader", "formats.lmdbs",
             "a Dataset over image-KEY and label-KEY, persistent workers",
             packages=("lmdb==3.0.0",)),
        _ours("lmdb", SEEK),
    ),
    Format(
        "lance",
        Peer("lance", "Lance, PyTorch's DataLoader", "formats.lances",
             "SafeLanceDataset and get_safe_loader over a column of blobs; spawned, persistent "
             "workers", packages=("pylance==14.0.2",)),
        _ours("lance", SEEK),
    ),
    Format(
        "parquet",
        Peer("huggingface", "Hugging Face datasets", "formats.parquets",
             "load_dataset, with_transform, PyTorch's DataLoader with persistent workers",
             packages=("datasets", "aiohttp")),  # the environment of its other rows
        _ours("parquet", SEEK),
    ),
)  # fmt: skip
