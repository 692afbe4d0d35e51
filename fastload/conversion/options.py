"""How to convert."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fastload.conversion import seek_writer
from fastload.conversion.editing import UNCHANGED, Edits
from fastload.conversion.samples import CHECKS
from fastload.errors import UsageError, mistyped
from fastload.files.formats import WRITERS

SHARD_BYTES = 256 << 20  # default
SHARD_LIMITS = (1 << 10, 4 << 30)  # bytes; a shard is held in memory while it is verified
POLICIES = ("raise", "skip", "substitute")

SPLIT = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class Options:
    """How to convert.

    Args:
        workers: Threads; None: one per processor that this process may use.
        shard_bytes: Of a shard, about; 1 KiB to 4 GiB. A shard is held in memory while it is
            verified.
        shuffle: Seed of the samples' new order; None keeps the source's.
        on_error: What a bad sample does: "raise", "skip" or "substitute".
        check: How images are checked: "decode", "markers" or "none".
        overwrite: Replace a target that is there.
        seek_step: MCUs per entry of the seek index; 0: rows only; None builds none.
        transcode: Rewrite JPEGs that cannot have a seek index as baseline, without loss.
        to: The format, a name of files.formats.WRITERS.
        edits: What is changed of the images.
        extras: Files beside the images: "keep" or "drop".
        split: What Parquet files are named after; None: train.
        mode: Of a .beton: "keep", or "raw", the pixels of all.
        resume: Go on with what an interrupted conversion left.
        scratch: Of a target in a store: the folder for shards until they are uploaded, up to two
            of each worker; None: in the user's cache.
        storage_options: What the library that writes the store takes beside the URL.
        deadline: Seconds for which a request to the store is tried again; None: 300.

    Raises:
        UsageError: An argument is out of its range.

    Example:
        >>> from fastload.extending import Options
        >>> Options(to="webdataset", shuffle=0).check
        'decode'
    """

    workers: int | None = None
    shard_bytes: int = SHARD_BYTES
    shuffle: int | None = None
    on_error: str = "raise"
    check: str = "decode"
    overwrite: bool = False
    seek_step: int | None = seek_writer.STEP
    transcode: bool = False
    to: str = "shards"
    edits: Edits = UNCHANGED
    extras: str = "keep"
    split: str | None = None
    mode: str = "keep"
    resume: bool = False
    scratch: str | None = None
    storage_options: Mapping[str, object] | None = field(default=None, repr=False)
    deadline: float | None = None

    def __post_init__(self) -> None:
        low, high = SHARD_LIMITS
        if not low <= self.shard_bytes <= high:
            raise UsageError(
                f"shard size: {self.shard_bytes} bytes (want {low} to {high}); the default is "
                f"{SHARD_BYTES}"
            )
        if self.on_error not in POLICIES:
            raise UsageError(
                f"on_error: got {self.on_error!r}, want 'raise', 'skip' or 'substitute'; choose one"
            )
        if self.check not in CHECKS:
            raise UsageError(
                f"check: got {self.check!r}, want 'decode', 'markers' or 'none'; choose one"
            )
        if self.workers is not None and self.workers < 1:
            raise UsageError(
                f"workers: got {self.workers}, want at least 1; leave it out for one per processor"
            )
        if self.shuffle is not None and not 0 <= self.shuffle < 1 << 64:
            raise UsageError(
                f"shuffle: seed {self.shuffle} (want 0 to 2^64 - 1); give another seed"
            )
        if self.to not in WRITERS:
            raise mistyped(
                UsageError(f"to: got {self.to!r}, want one of {', '.join(WRITERS)}; choose one"),
                self.to,
                WRITERS,
            )
        if self.extras not in ("keep", "drop"):
            raise UsageError(f"extras: got {self.extras!r}, want 'keep' or 'drop'; choose one")
        if self.split is not None and not SPLIT.fullmatch(self.split):
            raise UsageError(
                f"split: {self.split!r} is no name of files; write it with letters, digits and _.- "
                "only"
            )
        seek_writer.check_step(self.seek_step)
        self._check_format()
        self._check_deadline()

    def _check_format(self) -> None:
        """What only one format has."""
        if self.mode not in ("keep", "raw"):
            raise UsageError(f"mode: got {self.mode!r}, want 'keep' or 'raw'; choose one")
        if self.mode == "raw" and self.to != "beton":
            raise UsageError(
                f"mode: raw pixels are for beton (got {self.to}); convert to NAME.beton, or leave "
                "it out"
            )
        if self.seek_step == seek_writer.COEFFICIENTS and self.to != "shards":
            raise UsageError(
                f"layer: coefficients are for shards (got {self.to}); convert to shards, or leave "
                "it out"
            )

    def _check_deadline(self) -> None:
        if self.deadline is not None and self.deadline <= 0:
            raise UsageError(
                f"deadline: got {self.deadline}, want seconds, more than 0; leave it out for 300"
            )
