"""SPDL: threads that demux and decode with FFmpeg, whose filters crop, scale and flip."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import spdl.io
from spdl.pipeline import PipelineBuilder

from benchmarks.peers import draws


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    paths = [str(path) for path in sorted(Path(spec["data"]).glob("*/*"))]
    size = spec["size"]

    def decode(path: str) -> Any:
        packets = spdl.io.demux_image(path)
        left, top, width, height = draws.crop(packets.width, packets.height)
        # exact: FFmpeg otherwise moves the box to whole samples of chroma.
        cut = f"crop={width}:{height}:{left}:{top}:exact=1"
        filters = f"{cut},scale={size}:{size}:flags=bilinear,format=rgb24"
        return spdl.io.decode_packets(packets, filter_desc=filters + ",hflip" * draws.flipped())

    def batch(frames: list[Any]) -> Any:
        return spdl.io.to_torch(spdl.io.convert_frames(frames))

    def epoch() -> Iterator[Any]:
        random.shuffle(paths)
        builder = (
            PipelineBuilder().add_source(iter(paths)).pipe(decode, concurrency=spec["workers"])
        )
        pipeline = (
            builder.aggregate(spec["batch_size"])
            .pipe(batch)
            .add_sink(2)
            .build(num_threads=spec["workers"])
        )
        with pipeline.auto_stop():
            yield from pipeline

    return epoch
