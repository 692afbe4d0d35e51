"""Megatron-Energon over the link: the same tars, S3 by boto3 (multi-storage-client), a buffer of
1,000 samples.

`python -m benchmarks.peers.remote.energons FOLDER OUT` indexes the tars beside OUT, in "shards".
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.peers import torches

BUFFER = 1000  # samples, not decoded yet
PROFILE = "store"  # what multi-storage-client calls the store


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    folder = Path(spec["scratch"])
    folder.mkdir(parents=True, exist_ok=True)
    profile = folder / "profile.json"
    profile.write_text(json.dumps(_profiles(spec["bucket"])))
    os.environ["MSC_CONFIG"] = str(profile)  # read when the package is imported
    from megatron.energon import (
        DefaultTaskEncoder,
        SampleDecoder,
        WorkerConfig,
        get_loader,
        get_train_dataset,
    )

    class Task(DefaultTaskEncoder):  # type: ignore[misc]
        """Decoded and augmented as torchvision does."""

        decoder = SampleDecoder(image_decode="pilrgb")
        ops = torches.pil(spec)

        def encode_sample(self, sample: Any) -> Any:
            sample.image = self.ops(sample.image)
            return sample

    # With two, its reads of the store end early: "Unexpected end of tar file"
    config = WorkerConfig(rank=0, world_size=1, num_workers=1)

    def epoch() -> Iterator[Any]:
        data = get_train_dataset(
            f"msc://{PROFILE}", worker_config=config, batch_size=spec["batch_size"],
            shuffle_buffer_size=BUFFER, max_samples_per_sequence=None, task_encoder=Task(),
            repeat=False,
        )  # fmt: skip
        return (batch.image for batch in get_loader(data))

    return epoch


def _profiles(bucket: str) -> dict[str, Any]:
    options = {
        "base_path": bucket,
        "endpoint_url": os.environ["AWS_ENDPOINT_URL"],
        "region_name": os.environ["AWS_REGION"],
    }
    credentials = {
        "access_key": os.environ["AWS_ACCESS_KEY_ID"],
        "secret_key": os.environ["AWS_SECRET_ACCESS_KEY"],
    }
    return {
        "profiles": {
            PROFILE: {
                "storage_provider": {"type": "s3", "options": options},
                "credentials_provider": {"type": "S3Credentials", "options": credentials},
            }
        }
    }


def index(out: str) -> None:
    """Links to the tars, and what Energon's own tool says of them."""
    Path(out).mkdir()
    for tar in (Path(out).parent / "shards").glob("*.tar"):
        os.link(tar, Path(out) / tar.name)
    subprocess.run(
        [
            Path(sys.executable).parent / "energon", "prepare", out, "--non-interactive",
            "--no-progress", "--num-workers", "2", "--split-ratio", "1,0,0", "--sample-type",
            "ImageClassificationSample", "--field-map", '{"image": "jpg", "label": "cls"}',
        ],
        check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr,
    )  # fmt: skip


if __name__ == "__main__":
    index(sys.argv[2])
