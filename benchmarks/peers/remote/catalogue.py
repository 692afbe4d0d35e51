"""The loaders that are compared over the link, and how each is set."""

from benchmarks.peers.catalogue import Peer

WARM = ("local", "tenth", "tars", "streaming_tenth")  # whose first epoch is dropped
LINK = "link"  # what all are compared with, where it is the limit
PART = 400  # images of who asks for each by itself
LOADERS = (
    Peer(LINK, "the link: plain reads by obstore", "remote.fastloads",
    "16 at once, 1 MiB each, no decoding; images/s of their bytes"),
    Peer("local", "fastload, local disk", "remote.fastloads", "the same shards, page cache warm"),
    Peer("first", "fastload, first epoch", "remote.fastloads", "an empty cache that holds all"),
    Peer("tenth", "fastload, cache of 10 %", "remote.fastloads", "from the second epoch on"),
    Peer("tars", "fastload, plain tars, cache of 10 %", "remote.fastloads",
    "the same tars without their index, after the first look; from the second epoch on"),
    Peer("streaming", "MosaicML Streaming", "remote.streaming",
    "S3, MDS of 64 MiB, py1e, an empty cache that holds all", reads="mds",
         packages=("mosaicml-streaming==0.13.0",)),
    Peer("streaming_tenth", "MosaicML Streaming, cache of 10 %", "remote.streaming",
    "S3, MDS of 4 MiB, py1e", reads="mds4", packages=("mosaicml-streaming==0.13.0",)),
    Peer("litdata", "LitData", "remote.litdatas",
    "S3, chunks of 64 MiB, an empty cache that holds all", reads="lit",
         packages=("litdata==0.2.76",)),
    Peer("webdataset", "WebDataset", "remote.wds", "curl, the same tars, a buffer of 1,000",
         packages=("webdataset==1.0.2",)),
    Peer("energon", "Megatron-Energon", "remote.energons",
    "S3 by boto3, the same tars, a buffer of 1,000; one worker: with two its reads end early",
         reads="energon",
         packages=("megatron-energon[s3]==7.4.1",)),
    Peer("huggingface", "Hugging Face datasets", "remote.hugging",
    "streaming, the same tars, a buffer of 1,000", packages=("aiohttp",)),
    Peer("s3fs", "PyTorch, s3fs", "remote.s3",
    f"S3, an object per image; {PART} images only", reads="keys",
         packages=("s3fs==2026.9.0",)),
)  # fmt: skip
